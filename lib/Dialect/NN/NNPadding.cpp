//===- NNPadding.cpp - what operations make of padded operands ------------===//

#include "Types.h"

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using nn::detail::typeOf;
using namespace mlir::nn;
using zero::PaddableOpInterface;
using zero::PaddedDim;

/// The dimensions that are padded as well; nothing if padding is impossible.
using Padded = std::optional<SmallVector<PaddedDim>>;

static int64_t lastDim(Value value) { return typeOf(value).getRank() - 1; }

static IntegerAttr count(Operation *op, int64_t size) {
  return Builder(op->getContext()).getI64IntegerAttr(size);
}

//===----------------------------------------------------------------------===//
// nn
//===----------------------------------------------------------------------===//

bool LinearOp::gainsFromPadding() { return true; }

bool MatmulOp::gainsFromPadding() { return true; }

Padded EmbeddingOp::getPadded(unsigned operand, int64_t dim) {
  if (operand != getTableMutable().getOperandNumber() || dim != 0 ||
      getNumEmbeddings())
    return std::nullopt;
  return SmallVector<PaddedDim>();
}

void EmbeddingOp::setPadded(unsigned, int64_t, int64_t size) {
  setNumEmbeddingsAttr(count(*this, size));
}

Padded CrossEntropyOp::getPadded(unsigned operand, int64_t dim) {
  if (operand != getLogitsMutable().getOperandNumber() ||
      dim != lastDim(getLogits()) || getClasses())
    return std::nullopt;
  return SmallVector<PaddedDim>();
}

void CrossEntropyOp::setPadded(unsigned, int64_t, int64_t size) {
  setClassesAttr(count(*this, size));
}

//===----------------------------------------------------------------------===//
// Upstream
//===----------------------------------------------------------------------===//

namespace {

/// An operation that nothing needs to be told.
template <typename Op>
struct PaddingModel : PaddableOpInterface::ExternalModel<PaddingModel<Op>, Op> {
};

/// The sizes of the result are also an attribute.
struct ExpandShapeModel
    : PaddableOpInterface::ExternalModel<ExpandShapeModel,
                                         tensor::ExpandShapeOp> {
  void setPadded(Operation *op, unsigned, int64_t, int64_t) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    expand.setStaticOutputShape(expand.getResultType().getShape());
  }
};

/// A slice that has all of the dimension has all of it still.
struct ExtractSliceModel
    : PaddableOpInterface::ExternalModel<ExtractSliceModel,
                                         tensor::ExtractSliceOp> {
  void setPadded(Operation *op, unsigned, int64_t dim, int64_t) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    SmallVector<int64_t> sizes(slice.getStaticSizes());
    sizes[dim] = slice.getSourceType().getDimSize(dim);
    slice.setStaticSizes(sizes);
  }
};

} // namespace

void mlir::nn::registerUpstreamPaddingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ExtFOp::attachInterface<PaddingModel<arith::ExtFOp>>(*context);
    arith::TruncFOp::attachInterface<PaddingModel<arith::TruncFOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::CollapseShapeOp::attachInterface<
        PaddingModel<tensor::CollapseShapeOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<ExpandShapeModel>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
  });
}
