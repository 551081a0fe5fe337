//===- NNPadding.cpp - what operations make of padded operands ------------===//

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::nn;
using zero::PaddableOpInterface;
using zero::PaddedDim;

/// What else is padded: a list of it, or nothing where padding cannot be.
using Padded = std::optional<SmallVector<PaddedDim>>;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t lastDim(Value value) { return typeOf(value).getRank() - 1; }

static IntegerAttr count(Operation *op, int64_t size) {
  return Builder(op->getContext()).getI64IntegerAttr(size);
}

//===----------------------------------------------------------------------===//
// nn
//===----------------------------------------------------------------------===//

Padded LinearOp::getPadded(unsigned operand, int64_t dim) {
  int64_t columns = getTransposed() ? 0 : 1;
  bool isColumn = operand == getWMutable().getOperandNumber() && dim == columns;
  bool isBias = operand > getWMutable().getOperandNumber();
  if (!isColumn && !isBias)
    return std::nullopt;
  SmallVector<PaddedDim> padded = {{getY(), lastDim(getY())},
                                   {getW(), columns}};
  if (getBias())
    padded.push_back({getBias(), 0});
  return padded;
}

bool LinearOp::gainsFromPadding() { return true; }

void LinearOp::setPadded(unsigned, int64_t, int64_t) {}

Padded MatmulOp::getPadded(unsigned operand, int64_t dim) {
  int64_t columns = lastDim(getB()) - (getTransposeB() ? 1 : 0);
  if (operand != getBMutable().getOperandNumber() || dim != columns)
    return std::nullopt;
  return SmallVector<PaddedDim>{{getC(), lastDim(getC())}};
}

bool MatmulOp::gainsFromPadding() { return true; }

void MatmulOp::setPadded(unsigned, int64_t, int64_t) {}

Padded EmbeddingOp::getPadded(unsigned operand, int64_t dim) {
  if (operand != getTableMutable().getOperandNumber() || dim != 0 ||
      getNumEmbeddings())
    return std::nullopt;
  return SmallVector<PaddedDim>();
}

bool EmbeddingOp::gainsFromPadding() { return false; }

void EmbeddingOp::setPadded(unsigned, int64_t, int64_t size) {
  setNumEmbeddingsAttr(count(*this, size));
}

Padded CrossEntropyOp::getPadded(unsigned operand, int64_t dim) {
  if (operand != getLogitsMutable().getOperandNumber() ||
      dim != lastDim(getLogits()) || getClasses())
    return std::nullopt;
  return SmallVector<PaddedDim>();
}

bool CrossEntropyOp::gainsFromPadding() { return false; }

void CrossEntropyOp::setPadded(unsigned, int64_t, int64_t size) {
  setClassesAttr(count(*this, size));
}

//===----------------------------------------------------------------------===//
// Upstream
//===----------------------------------------------------------------------===//

namespace {

/// A conversion of each element.
template <typename Op>
struct ConversionModel
    : PaddableOpInterface::ExternalModel<ConversionModel<Op>, Op> {
  Padded getPadded(Operation *op, unsigned, int64_t dim) const {
    return SmallVector<PaddedDim>{{op->getResult(0), dim}};
  }
  bool gainsFromPadding(Operation *) const { return false; }
  void setPadded(Operation *, unsigned, int64_t, int64_t) const {}
};

/// A reshape in which the dimension stays one by itself.
template <typename Op>
struct ReshapeModel : PaddableOpInterface::ExternalModel<ReshapeModel<Op>, Op> {
  static constexpr bool collapses = std::is_same_v<Op, tensor::CollapseShapeOp>;

  Padded getPadded(Operation *op, unsigned, int64_t dim) const {
    int64_t first = 0;
    for (auto [index, group] :
         llvm::enumerate(cast<Op>(op).getReassociationIndices())) {
      int64_t before = collapses ? first : static_cast<int64_t>(index);
      int64_t after = collapses ? static_cast<int64_t>(index) : first;
      if (group.size() == 1 && before == dim)
        return SmallVector<PaddedDim>{{op->getResult(0), after}};
      first += static_cast<int64_t>(group.size());
    }
    return std::nullopt;
  }
  bool gainsFromPadding(Operation *) const { return false; }
  void setPadded(Operation *op, unsigned, int64_t, int64_t) const {
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      expand.setStaticOutputShape(expand.getResultType().getShape());
  }
};

/// A slice that has all of the dimension.
struct ExtractSliceModel
    : PaddableOpInterface::ExternalModel<ExtractSliceModel,
                                         tensor::ExtractSliceOp> {
  Padded getPadded(Operation *op, unsigned, int64_t dim) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    if (slice.getStaticOffset(dim) != 0 || slice.getStaticStride(dim) != 1 ||
        slice.getStaticSize(dim) != slice.getSourceType().getDimSize(dim) ||
        dropped[dim])
      return std::nullopt;
    int64_t droppedBefore = 0;
    for (int64_t before = 0; before < dim; ++before)
      droppedBefore += dropped[before];
    return SmallVector<PaddedDim>{{slice.getResult(), dim - droppedBefore}};
  }
  bool gainsFromPadding(Operation *) const { return false; }
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
    arith::ExtFOp::attachInterface<ConversionModel<arith::ExtFOp>>(*context);
    arith::TruncFOp::attachInterface<ConversionModel<arith::TruncFOp>>(
        *context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::CollapseShapeOp::attachInterface<
        ReshapeModel<tensor::CollapseShapeOp>>(*context);
    tensor::ExpandShapeOp::attachInterface<ReshapeModel<tensor::ExpandShapeOp>>(
        *context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
  });
}
