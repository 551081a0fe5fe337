//===- LaunchRows.cpp - launches on some rows of their operands -----------===//

#include "zero/Transforms/LaunchRows.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace mlir::zero;

/// The one loop nest of a kernel that can do with fewer rows: it reads each
/// operand's first dimension with its own, or not at all. Null for others.
static linalg::GenericOp findRowLoop(func::FuncOp kernel) {
  if (!kernel || kernel.isExternal())
    return {};
  auto loops = kernel.getBody().getOps<linalg::GenericOp>();
  if (!llvm::hasSingleElement(loops))
    return {};
  linalg::GenericOp loop = *loops.begin();
  if (loop.getNumLoops() == 0 || loop.getNumResults() != 1 ||
      loop.getInputs() != ValueRange(kernel.getArguments()) ||
      !loop.getBody()->getOps<linalg::IndexOp>().empty())
    return {};
  for (AffineMap map : loop.getIndexingMapsArray())
    for (auto [place, dim] : llvm::enumerate(map.getResults()))
      if (dim.isFunctionOfDim(0) &&
          (place > 0 || dim != getAffineDimExpr(0, kernel.getContext())))
        return {};
  return loop;
}

static bool hasRows(AffineMap map) {
  return map.getNumResults() > 0 && map.getResult(0).isFunctionOfDim(0);
}

static func::FuncOp findKernel(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      launch, launch.getKernelAttr());
}

/// `kernel` for `rows` rows: made beside it, once.
static func::FuncOp getRowKernel(func::FuncOp kernel, int64_t rows) {
  std::string name = kernel.getSymName().str() + "_rows" + std::to_string(rows);
  if (auto known = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          kernel, StringAttr::get(kernel.getContext(), name)))
    return known;
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointAfter(kernel);
  auto clone = cast<func::FuncOp>(builder.clone(*kernel));
  clone.setSymName(name);
  linalg::GenericOp loop = findRowLoop(clone);
  auto setRows = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = rows;
    value.setType(type.clone(shape));
  };
  for (OpOperand &operand : loop->getOpOperands())
    if (hasRows(loop.getMatchingIndexingMap(&operand)))
      setRows(operand.get());
  for (Value result : loop.getResults())
    setRows(result);
  clone.setFunctionType(builder.getFunctionType(
      clone.getBody().getArgumentTypes(), loop.getResultTypes()));
  return clone;
}

namespace {

struct LaunchModel : RowBlockOpInterface::ExternalModel<LaunchModel, LaunchOp> {
  bool hasRowBlocks(Operation *op, unsigned) const {
    return findRowLoop(findKernel(cast<LaunchOp>(op))) != nullptr;
  }

  Value buildRowBlock(Operation *op, OpBuilder &builder, unsigned,
                      int64_t begin, int64_t end,
                      llvm::function_ref<Value(unsigned)> rowsOf) const {
    auto launch = cast<LaunchOp>(op);
    func::FuncOp kernel = findKernel(launch);
    linalg::GenericOp loop = findRowLoop(kernel);
    SmallVector<Value> inputs;
    for (OpOperand *operand : loop.getDpsInputOperands()) {
      unsigned index = operand->getOperandNumber();
      inputs.push_back(hasRows(loop.getMatchingIndexingMap(operand))
                           ? rowsOf(index)
                           : launch.getInputs()[index]);
    }
    func::FuncOp rows = getRowKernel(kernel, end - begin);
    return LaunchOp::create(
               builder, op->getLoc(), rows.getFunctionType().getResults(),
               FlatSymbolRefAttr::get(rows.getSymNameAttr()), inputs)
        .getResult(0);
  }
};

} // namespace

void mlir::zero::registerLaunchRowBlocks(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ZeroDialect *) {
    LaunchOp::attachInterface<LaunchModel>(*context);
  });
}
