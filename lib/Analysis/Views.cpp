//===- Views.cpp - values that share another value's memory ---------------===//

#include "zero/Analysis/Views.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Interfaces/KernelSpec.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::zero;

/// A static slice of unit strides is contiguous when, after leading dimensions
/// of size one, at most one dimension is cut and the rest are whole.
static std::optional<View> getSliceView(tensor::ExtractSliceOp slice) {
  RankedTensorType type = slice.getSourceType();
  if (!type.hasStaticShape() ||
      llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
      llvm::any_of(slice.getStaticSizes(), ShapedType::isDynamic) ||
      llvm::any_of(slice.getStaticStrides(), [](int64_t s) { return s != 1; }))
    return std::nullopt;
  bool mayCut = true;
  int64_t offset = 0;
  for (auto [size, begin, extent] : llvm::zip_equal(
           slice.getStaticSizes(), slice.getStaticOffsets(), type.getShape())) {
    if (!mayCut && size != extent)
      return std::nullopt;
    mayCut &= size == 1;
    offset = offset * extent + begin;
  }
  // The runtime's element size, which is a byte for an i1.
  std::optional<zrt::DataType> element = toDataType(type.getElementType());
  if (!element)
    return std::nullopt;
  return View{slice.getSource(), offset * int64_t(zrt::sizeOf(*element))};
}

bool mlir::zero::movesNothing(Operation *op) {
  auto move = dyn_cast<MoveOpInterface>(op);
  if (!move || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape() ||
      from.getNumElements() != to.getNumElements())
    return false;
  auto layout = move.getResultLayout(0, getDenseLayout(from.getShape()));
  return layout && isDense(*layout, to.getShape());
}

std::optional<View> mlir::zero::getView(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          RecomputeOp, ReplicateOp, CountOnceOp, GradientOp>(op))
    return View{op->getOperand(0), 0};
  if (auto load = dyn_cast<LoadOp>(op); load && load.getSource())
    return View{load.getSource(), 0};
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return getSliceView(slice);
  if (movesNothing(op))
    return View{op->getOperand(0), 0};
  return std::nullopt;
}

Value mlir::zero::getRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    std::optional<View> view = getView(op);
    if (!view)
      break;
    value = view->source;
  }
  return value;
}
