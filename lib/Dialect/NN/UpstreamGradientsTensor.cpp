//===- UpstreamGradientsTensor.cpp - gradients of tensor operations -------===//
//
// Shape operations move elements, so their gradients move them back. Slices
// must be static: that is what the memory plan can place.
//
//===----------------------------------------------------------------------===//

#include "UpstreamGradients.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::zero::gradients;

using Sizes = SmallVector<OpFoldResult>;

static Sizes attributes(ImplicitLocOpBuilder &b, ArrayRef<int64_t> values) {
  return getAsIndexOpFoldResult(b.getContext(), values);
}

/// The slice of `source` at static `offsets` with unit strides and the shape
/// of `type`.
static Value slice(ImplicitLocOpBuilder &b, Value source, RankedTensorType type,
                   ArrayRef<int64_t> offsets) {
  SmallVector<int64_t> strides(type.getRank(), 1);
  return tensor::ExtractSliceOp::create(b, type, source, attributes(b, offsets),
                                        attributes(b, type.getShape()),
                                        attributes(b, strides));
}

template <typename OpT> static LogicalResult requireStatic(OpT op) {
  if (op.getOffsets().empty() && op.getSizes().empty() &&
      op.getStrides().empty())
    return success();
  return op.emitOpError("has dynamic offsets, sizes or strides, and only the "
                        "gradient of a static slice is known: give them as "
                        "attributes");
}

static LogicalResult expandShape(tensor::ExpandShapeOp op,
                                 ImplicitLocOpBuilder &b, Value g,
                                 OperandGradients operands) {
  operands.set(0, [&] {
    return tensor::CollapseShapeOp::create(b, op.getSrcType(), g,
                                           op.getReassociationIndices());
  });
  return success();
}

static LogicalResult collapseShape(tensor::CollapseShapeOp op,
                                   ImplicitLocOpBuilder &b, Value g,
                                   OperandGradients operands) {
  operands.set(0, [&] {
    return tensor::ExpandShapeOp::create(b, op.getSrcType(), g,
                                         op.getReassociationIndices());
  });
  return success();
}

static LogicalResult castTensor(tensor::CastOp op, ImplicitLocOpBuilder &b,
                                Value g, OperandGradients operands) {
  operands.set(0, [&] {
    return tensor::CastOp::create(b, op.getSource().getType(), g);
  });
  return success();
}

/// The gradient in its place among zeros: a pad where the slice is dense, so
/// that no tensor of zeros is built only to be overwritten.
static LogicalResult extractSlice(tensor::ExtractSliceOp op,
                                  ImplicitLocOpBuilder &b, Value g,
                                  OperandGradients operands) {
  if (failed(requireStatic(op)))
    return failure();
  RankedTensorType source = op.getSourceType();
  bool sameRank = op.getType().getRank() == source.getRank();
  bool dense = llvm::all_of(op.getStaticStrides(),
                            [](int64_t stride) { return stride == 1; });
  if (!sameRank || !dense) {
    operands.set(0, [&] {
      Value zeros = constant(b, source, 0.0);
      return tensor::InsertSliceOp::create(b, g, zeros, op.getMixedOffsets(),
                                           op.getMixedSizes(),
                                           op.getMixedStrides());
    });
    return success();
  }
  SmallVector<int64_t> low(op.getStaticOffsets()), high;
  for (auto [total, offset, size] :
       llvm::zip_equal(source.getShape(), low, op.getStaticSizes()))
    high.push_back(total - offset - size);
  operands.set(0, [&] {
    Value zero = constant(b, source.getElementType(), 0.0);
    return tensor::PadOp::create(b, source, g, attributes(b, low),
                                 attributes(b, high), zero);
  });
  return success();
}

static LogicalResult insertSlice(tensor::InsertSliceOp op,
                                 ImplicitLocOpBuilder &b, Value g,
                                 OperandGradients operands) {
  if (failed(requireStatic(op)))
    return failure();
  operands.set(0, [&] {
    return tensor::ExtractSliceOp::create(
        b, op.getSourceType(), g, op.getMixedOffsets(), op.getMixedSizes(),
        op.getMixedStrides());
  });
  operands.set(1, [&] {
    Value zeros = constant(b, op.getSourceType(), 0.0);
    return tensor::InsertSliceOp::create(b, zeros, g, op.getMixedOffsets(),
                                         op.getMixedSizes(),
                                         op.getMixedStrides());
  });
  return success();
}

static LogicalResult concat(tensor::ConcatOp op, ImplicitLocOpBuilder &b,
                            Value g, OperandGradients operands) {
  SmallVector<int64_t> offsets(op.getResultType().getRank(), 0);
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    operands.set(index, [&] { return slice(b, g, type, offsets); });
    offsets[op.getDim()] += type.getDimSize(op.getDim());
  }
  return success();
}

static LogicalResult pad(tensor::PadOp op, ImplicitLocOpBuilder &b, Value g,
                         OperandGradients operands) {
  if (!op.getLow().empty() || !op.getHigh().empty())
    return op.emitOpError("has dynamic padding, and only the gradient of "
                          "static padding is known: give it as attributes");
  operands.set(
      0, [&] { return slice(b, g, op.getSourceType(), op.getStaticLow()); });
  return success();
}

/// The indices of element `flat` of `type` in row-major order.
static SmallVector<Value> indices(ImplicitLocOpBuilder &b,
                                  RankedTensorType type, int64_t flat) {
  SmallVector<Value> result;
  for (int64_t size : llvm::reverse(type.getShape())) {
    result.push_back(arith::ConstantIndexOp::create(b, flat % size));
    flat /= size;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

static LogicalResult extract(tensor::ExtractOp op, ImplicitLocOpBuilder &b,
                             Value g, OperandGradients operands) {
  operands.set(0, [&] {
    Value zeros = constant(b, op.getTensor().getType(), 0.0);
    return tensor::InsertOp::create(b, g, zeros, op.getIndices());
  });
  return success();
}

static LogicalResult insert(tensor::InsertOp op, ImplicitLocOpBuilder &b,
                            Value g, OperandGradients operands) {
  operands.set(
      0, [&] { return tensor::ExtractOp::create(b, g, op.getIndices()); });
  operands.set(1, [&] {
    Value zero = constant(b, op.getScalar().getType(), 0.0);
    return tensor::InsertOp::create(b, zero, g, op.getIndices());
  });
  return success();
}

static LogicalResult fromElements(tensor::FromElementsOp op,
                                  ImplicitLocOpBuilder &b, Value g,
                                  OperandGradients operands) {
  for (unsigned i = 0; i < op.getElements().size(); ++i)
    operands.set(i, [&] {
      return tensor::ExtractOp::create(b, g, indices(b, op.getType(), i));
    });
  return success();
}

/// A scalar that fills a tensor gets the sum of the tensor's gradient.
static LogicalResult splat(tensor::SplatOp op, ImplicitLocOpBuilder &b, Value g,
                           OperandGradients operands) {
  operands.set(0, [&] {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(op.getType().getRank()));
    auto type = RankedTensorType::get({}, op.getInput().getType());
    Value sum = nn::ReduceOp::create(
        b, type, g, nn::ReductionAttr::get(b.getContext(), nn::Reduction::Sum),
        b.getDenseI64ArrayAttr(dims));
    return tensor::ExtractOp::create(b, sum, ValueRange());
  });
  return success();
}

static LogicalResult reshape(tensor::ReshapeOp op, ImplicitLocOpBuilder &b,
                             Value g, OperandGradients operands) {
  auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
  auto result = dyn_cast<RankedTensorType>(op.getType());
  if (!source || !result || !source.hasStaticShape() ||
      !result.hasStaticShape())
    return op.emitOpError("has a dynamic shape, and only the gradient of a "
                          "static reshape is known: give both types as ranked "
                          "tensors of static shape");
  operands.set(0, [&] { return nn::buildReshape(b, g, source); });
  return success();
}

/// Gathering is an embedding of rows.
static LogicalResult gather(tensor::GatherOp op, ImplicitLocOpBuilder &b,
                            Value g, OperandGradients operands) {
  operands.set(0, [&] {
    nn::GatheredRows rows(op);
    RankedTensorType source = op.getSourceType();
    Value ids = rows.buildIds(b, op);
    int64_t count = cast<RankedTensorType>(ids.getType()).getNumElements();
    Value dy = nn::buildReshape(b, g, source.clone({count, rows.columns}));
    Value table =
        nn::EmbeddingGradOp::create(b, source.clone({rows.rows, rows.columns}),
                                    dy, ids, Value(), DenseI64ArrayAttr());
    return rows.buildSource(b, table);
  });
  return success();
}

void mlir::zero::gradients::attachTensor(MLIRContext &context) {
  using namespace tensor;
  attachRule<ExpandShapeOp, expandShape>(context);
  attachRule<CollapseShapeOp, collapseShape>(context);
  attachRule<CastOp, castTensor>(context);
  attachRule<ExtractSliceOp, extractSlice>(context);
  attachRule<InsertSliceOp, insertSlice>(context);
  attachRule<ConcatOp, concat>(context);
  attachRule<PadOp, pad>(context);
  attachRule<SplatOp, splat>(context);
  attachRule<GatherOp, gather>(context);
  attachRule<ReshapeOp, reshape>(context);
  attachRule<ExtractOp, extract>(context);
  attachRule<InsertOp, insert>(context);
  attachRule<FromElementsOp, fromElements>(context);
}
