//===- StridedOp.cpp - a kernel on parts of tensors -----------------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "program/KernelSchema.h"

using namespace mlir;
using namespace mlir::zero;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The part of an argument of the body that `value` is; nothing if it is none.
static std::optional<StridedPart> findSource(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return StridedPart{argument.getArgNumber(),
                       getDenseLayout(shapeOf(argument))};
  auto result = cast<OpResult>(value);
  auto move = dyn_cast<MoveOpInterface>(result.getOwner());
  if (!move || move->getNumOperands() != 1)
    return std::nullopt;
  std::optional<StridedPart> source = findSource(move->getOperand(0));
  if (!source)
    return std::nullopt;
  std::optional<TensorLayout> layout =
      move.getResultLayout(result.getResultNumber(), source->layout);
  if (!layout)
    return std::nullopt;
  return StridedPart{source->index, *layout};
}

/// The part of a yielded value that `value` is; nothing if it is none, or is
/// used more than once.
static std::optional<StridedPart> findTarget(Value value) {
  if (!value.hasOneUse())
    return std::nullopt;
  OpOperand &use = *value.getUses().begin();
  if (isa<StridedYieldOp>(use.getOwner()))
    return StridedPart{use.getOperandNumber(), getDenseLayout(shapeOf(value))};
  auto move = dyn_cast<MoveOpInterface>(use.getOwner());
  if (!move || move->getNumResults() != 1)
    return std::nullopt;
  std::optional<StridedPart> target = findTarget(move->getResult(0));
  if (!target)
    return std::nullopt;
  std::optional<TensorLayout> layout =
      move.getOperandLayout(use.getOperandNumber(), target->layout);
  if (!layout)
    return std::nullopt;
  return StridedPart{target->index, *layout};
}

Operation *StridedOp::getKernel() {
  for (Operation &op : getBody().front().without_terminator())
    if (!isa<MoveOpInterface>(op))
      return &op;
  return nullptr;
}

StridedParts StridedOp::getParts() {
  StridedParts parts;
  Operation *kernel = getKernel();
  for (Value operand : kernel->getOperands())
    parts.operands.push_back(*findSource(operand));
  for (Value result : kernel->getResults())
    parts.results.push_back(*findTarget(result));
  return parts;
}

static bool areTensors(TypeRange types) {
  return llvm::all_of(types, [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
}

LogicalResult StridedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes()) // C1
    return emitOpError("has a body whose arguments have other types than its "
                       "inputs");
  auto yield = dyn_cast<StridedYieldOp>(block.back());
  if (!yield || yield.getValues().getTypes() != getOutputs().getTypes()) // C1
    return emitOpError("has a body that does not end with zero.strided_yield "
                       "of the types of its outputs");
  return success();
}

/// Fails where the kernel's operand or result number `index`, as `role` says,
/// is no `wanted` or begins where no kernel can take it.
static LogicalResult checkPart(Operation *kernel, StringRef role, size_t index,
                               Value value,
                               const std::optional<StridedPart> &part,
                               StringRef wanted) {
  if (!part)
    return kernel->emitOpError("has the ")
           << role << " " << index << ", which is not " << wanted;
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  int64_t bits = part->layout.offset * type.getIntOrFloatBitWidth();
  if (bits % (8 * zrt::kStrideBytes) == 0)
    return success();
  return kernel->emitOpError("has the ")
         << role << " " << index << ", which begins between multiples of "
         << zrt::kStrideBytes << " bytes";
}

/// Whether the kernel makes all elements of `value`.
static bool isMadeBy(Operation *kernel, Value value) {
  Operation *maker = value.getDefiningOp();
  if (!maker || maker == kernel)
    return maker != nullptr;
  return llvm::all_of(maker->getOperands(),
                      [&](Value operand) { return isMadeBy(kernel, operand); });
}

LogicalResult StridedOp::verifyRegions() {
  auto isKernel = [](Operation &op) { return !isa<MoveOpInterface>(op); };
  auto count = llvm::count_if(getBody().front().without_terminator(), isKernel);
  if (count != 1) // C2
    return emitOpError("has ")
           << count << " kernels in its body, wanted one and moves";
  Operation *kernel = getKernel();
  if (!areTensors(kernel->getOperandTypes()) ||
      !areTensors(kernel->getResultTypes()))
    return kernel->emitOpError(
        "takes or gives something else than tensors, in zero.strided");
  for (auto [index, value] : llvm::enumerate(kernel->getOperands())) // C3, C5
    if (failed(checkPart(kernel, "operand", index, value, findSource(value),
                         "a part of an input")))
      return failure();
  for (auto [index, value] : llvm::enumerate(kernel->getResults())) // C4, C5
    if (failed(checkPart(kernel, "result", index, value, findTarget(value),
                         "a part of one output, once")))
      return failure();
  Operation *yield = getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(yield->getOperands())) // C4
    if (!isMadeBy(kernel, value))
      return yield->emitOpError("has the operand ")
             << index << ", of which the kernel does not make all elements";
  return success();
}
