//===- Moves.cpp - where operations that only move have their elements ----===//

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::nn;
using zero::MoveOpInterface;
using zero::TensorLayout;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Index `begin` of dimension `dim`, and what follows.
static TensorLayout skip(TensorLayout layout, int64_t dim, int64_t begin) {
  layout.offset += begin * layout.strides[dim];
  return layout;
}

//===----------------------------------------------------------------------===//
// nn
//===----------------------------------------------------------------------===//

std::optional<TensorLayout>
TransposeOp::getResultLayout(unsigned, const TensorLayout &operand) {
  TensorLayout layout = operand;
  for (auto [dim, from] : llvm::enumerate(getPermutation()))
    layout.strides[dim] = operand.strides[from];
  return layout;
}

std::optional<TensorLayout>
TransposeOp::getOperandLayout(unsigned, const TensorLayout &result) {
  TensorLayout layout = result;
  for (auto [dim, from] : llvm::enumerate(getPermutation()))
    layout.strides[from] = result.strides[dim];
  return layout;
}

std::optional<TensorLayout>
SplitOp::getResultLayout(unsigned result, const TensorLayout &operand) {
  int64_t begin = 0;
  for (int64_t size : getSizes().take_front(result))
    begin += size;
  return skip(operand, getDim(), begin);
}

std::optional<TensorLayout> SplitOp::getOperandLayout(unsigned,
                                                      const TensorLayout &) {
  // A result is a part of the operand.
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

namespace {

template <typename Op>
struct ReshapeModel : MoveOpInterface::ExternalModel<ReshapeModel<Op>, Op> {
  std::optional<TensorLayout>
  getResultLayout(Operation *op, unsigned, const TensorLayout &operand) const {
    return zero::reshapeLayout(operand, shapeOf(op->getOperand(0)),
                               shapeOf(op->getResult(0)));
  }
  std::optional<TensorLayout>
  getOperandLayout(Operation *op, unsigned, const TensorLayout &result) const {
    return zero::reshapeLayout(result, shapeOf(op->getResult(0)),
                               shapeOf(op->getOperand(0)));
  }
};

struct ConcatModel
    : MoveOpInterface::ExternalModel<ConcatModel, tensor::ConcatOp> {
  std::optional<TensorLayout> getResultLayout(Operation *, unsigned,
                                              const TensorLayout &) const {
    // An operand is a part of the result.
    return std::nullopt;
  }
  std::optional<TensorLayout>
  getOperandLayout(Operation *op, unsigned operand,
                   const TensorLayout &result) const {
    int64_t dim = cast<tensor::ConcatOp>(op).getDim(), begin = 0;
    for (Value before : op->getOperands().take_front(operand))
      begin += shapeOf(before)[dim];
    return skip(result, dim, begin);
  }
};

struct ExtractSliceModel
    : MoveOpInterface::ExternalModel<ExtractSliceModel,
                                     tensor::ExtractSliceOp> {
  std::optional<TensorLayout>
  getResultLayout(Operation *op, unsigned, const TensorLayout &operand) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    auto isDynamic = [](int64_t value) { return ShapedType::isDynamic(value); };
    if (llvm::any_of(slice.getStaticOffsets(), isDynamic) ||
        llvm::any_of(slice.getStaticSizes(), isDynamic) ||
        llvm::any_of(slice.getStaticStrides(), isDynamic))
      return std::nullopt;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    TensorLayout layout{operand.offset, {}};
    for (auto [dim, stride] : llvm::enumerate(operand.strides)) {
      layout.offset += slice.getStaticOffset(dim) * stride;
      if (!dropped[dim])
        layout.strides.push_back(slice.getStaticStride(dim) * stride);
    }
    return layout;
  }
  std::optional<TensorLayout> getOperandLayout(Operation *, unsigned,
                                               const TensorLayout &) const {
    // The result is a part of the operand.
    return std::nullopt;
  }
};

} // namespace

void mlir::nn::registerUpstreamMoveModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::CollapseShapeOp::attachInterface<
        ReshapeModel<tensor::CollapseShapeOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<ReshapeModel<tensor::ExpandShapeOp>>(
        *context);
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
  });
}
