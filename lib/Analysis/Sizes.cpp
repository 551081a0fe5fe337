//===- Sizes.cpp - what 64 bits can address -------------------------------===//

#include "zero/Analysis/Sizes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

/// Elements that 8 bytes each still leave a 64-bit address.
static constexpr int64_t kMostElements = int64_t{1} << 59;

static bool hasAddresses(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return true;
  int64_t elements = 1;
  // A dimension of 0 leaves nothing, whatever the others are.
  if (llvm::is_contained(tensor.getShape(), 0))
    return true;
  for (int64_t size : tensor.getShape())
    if (llvm::MulOverflow(elements, size, elements) || elements > kMostElements)
      return false;
  return true;
}

static LogicalResult refuse(InFlightDiagnostic &&error, Type type) {
  return error << type
               << ", which has no 64-bit addresses; wanted at most 2^59 "
               << "elements";
}

static LogicalResult verifyStep(StepOp step) {
  for (BlockArgument input : step.getArguments())
    if (!hasAddresses(input.getType()))
      return refuse(std::move(emitError(input.getLoc(), "input ")
                              << input.getArgNumber() << " has type "),
                    input.getType());
  WalkResult walk = step.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (!hasAddresses(type)) {
        (void)refuse(std::move(emitError(op->getLoc(), "'")
                               << op->getName() << "' makes a value of type "),
                     type);
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult mlir::zero::verifySizes(ModuleOp module) {
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (Type type = parameter.getTensorType(); !hasAddresses(type))
      return refuse(
          std::move(emitError(parameter.getLoc(), "parameter ")
                    << FlatSymbolRefAttr::get(parameter.getSymNameAttr())
                    << " has type "),
          type);
  for (StepOp step : module.getOps<StepOp>())
    if (failed(verifyStep(step)))
      return failure();
  return success();
}
