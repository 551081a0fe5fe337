//===- NNCombined.cpp - operations of which each rank has a range ---------===//
//
// What becomes of lookups and losses where ranks have ranges of the vocabulary,
// of means and maxima where they have ranges of anything, of rows that go to
// experts where they have some of these, of dropout where they have ranges of
// anything, of attention with dropout where they have some of the heads, and
// the gradients of the operations that each rank then computes.
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;
using zero::RankRange;

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

SmallVector<Value> EmbeddingOp::buildOfRange(OpBuilder &builder,
                                             ValueRange operands,
                                             RankRange &range) {
  auto entries =
      static_cast<int64_t>(getNumEmbeddings().value_or(range.getWholeSize()));
  return {PartialEmbeddingOp::create(builder, getLoc(), getType(), operands[0],
                                     operands[1], range.getFirst(), entries)};
}

bool EmbeddingOp::givesTerms() { return true; }

LogicalResult PartialEmbeddingOp::buildGradient(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> wanted,
    MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[1])
    gradients[1] = PartialEmbeddingGradOp::create(
        builder, getLoc(), getTable().getType(), resultGradients[0], getIds(),
        getFirst(), /*init=*/Value(), /*rows=*/DenseI64ArrayAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

/// The number of the range that each target is in, and -100 where it is
/// ignored: a target that no rank takes for a range's number.
static Value buildRanges(ImplicitLocOpBuilder &b, Value targets,
                         int64_t ignored, int64_t size) {
  RankedTensorType type = typeOf(targets);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, b.getIntegerAttr(type.getElementType(), value)));
  };
  Value range = arith::DivSIOp::create(b, targets, constant(size));
  Value isIgnored = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, targets,
                                          constant(ignored));
  return arith::SelectOp::create(b, isIgnored, constant(-100), range);
}

SmallVector<Value> CrossEntropyOp::buildOfRange(OpBuilder &builder,
                                                ValueRange operands,
                                                RankRange &range) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  Value targets = operands[1];
  auto classes =
      static_cast<int64_t>(getClasses().value_or(range.getWholeSize()));
  auto ignored = static_cast<int64_t>(getIgnoreIndex());
  auto within = PartialCrossEntropyOp::create(
      b, TypeRange{getLoss().getType(), getLse().getType()}, operands[0],
      targets, range.getFirst(), getSum(), ignored, classes);
  auto among = CrossEntropyOp::create(
      b, TypeRange{getLoss().getType(), getLse().getType()},
      range.gather(within.getLse()),
      buildRanges(b, targets, ignored, range.getSize()), getSum(),
      /*ignore_index=*/-100,
      /*classes=*/IntegerAttr());
  Value loss =
      arith::AddFOp::create(b, among.getLoss(), range.sum(within.getLoss()));
  return {loss, among.getLse()};
}

/// `gradient`, or zeros where there is none.
static Value orZeros(OpBuilder &builder, Value gradient, Value of) {
  if (gradient)
    return gradient;
  return arith::ConstantOp::create(builder, of.getLoc(),
                                   builder.getZeroAttr(of.getType()));
}

LogicalResult PartialCrossEntropyOp::buildGradient(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> wanted,
    MutableArrayRef<Value> gradients) {
  if ((!resultGradients[0] && !resultGradients[1]) || !wanted[0])
    return success();
  gradients[0] = PartialCrossEntropyGradOp::create(
      builder, getLoc(), getLogits().getType(),
      orZeros(builder, resultGradients[0], getLoss()),
      orZeros(builder, resultGradients[1], getLse()), getLogits(), getTargets(),
      getFirst(), getLse(), getSum(), getIgnoreIndex(), getClasses());
  return success();
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// `x` with a dimension of the ranges before the indices within one, of which a
/// rank has one.
static Value expandRange(ImplicitLocOpBuilder &b, Value x, int64_t dim) {
  SmallVector<int64_t> shape(typeOf(x).getShape());
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0; i < typeOf(x).getRank(); ++i) {
    groups.push_back({i < dim ? i : i + 1});
    if (i == dim)
      groups.back() = {dim, dim + 1};
  }
  shape.insert(shape.begin() + dim, 1);
  return tensor::ExpandShapeOp::create(b, typeOf(x).clone(shape), x, groups);
}

/// `x` without the dimensions `dims`.
static Value buildReduce(ImplicitLocOpBuilder &b, Value x, Reduction kind,
                         ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(typeOf(x).getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return ReduceOp::create(b, typeOf(x).clone(shape), x, kind, dims);
}

/// The mean of the means of all ranges is a sum. Of the maxima of ranges the
/// maximum is the first one, where dimensions before the range come with it.
SmallVector<Value> ReduceOp::buildOfRange(OpBuilder &builder,
                                          ValueRange operands,
                                          RankRange &range) {
  ImplicitLocOpBuilder b(getLoc(), builder);
  const int64_t dim = range.getDim(/*operand=*/0);
  SmallVector<int64_t> within, among;
  for (int64_t reduced : getDims())
    if (reduced < dim)
      (givesTerms() ? within : among).push_back(reduced);
    else
      within.push_back(reduced + 1);
  const int64_t ranges =
      dim - llvm::count_if(within, [&](int64_t d) { return d < dim; });
  among.push_back(ranges);
  Value own =
      buildReduce(b, expandRange(b, operands[0], dim), getKind(), within);
  if (!givesTerms())
    return {buildReduce(b, range.gatherAlong(own, ranges), getKind(), among)};
  Value sum = buildReduce(b, own, Reduction::Sum, among);
  auto count = static_cast<double>(range.getWholeSize() / range.getSize());
  FloatAttr ranks = b.getFloatAttr(typeOf(sum).getElementType(), count);
  return {arith::DivFOp::create(
      b, sum,
      arith::ConstantOp::create(b,
                                DenseElementsAttr::get(typeOf(sum), ranks)))};
}

bool ReduceOp::givesTerms() { return getKind() == Reduction::Mean; }

//===----------------------------------------------------------------------===//
// dispatch
//===----------------------------------------------------------------------===//

/// Builds the dispatch to a range of the experts. If all choices have a row,
/// all choices of the given rows have one.
SmallVector<Value> DispatchOp::buildOfRange(OpBuilder &builder,
                                            ValueRange operands,
                                            RankRange &range) {
  RankedTensorType sorted = typeOf(getSorted()), places = typeOf(getPlaces());
  RankedTensorType rows = typeOf(operands[0]), ids = typeOf(operands[1]);
  const int64_t all = places.getNumElements();
  const int64_t kept =
      all == 0 ? 0 : sorted.getDimSize(0) * ids.getNumElements() / all;
  auto op = DispatchOp::create(
      builder, getLoc(), rows.clone({kept, rows.getDimSize(1)}), ids,
      typeOf(getOffsets()).clone({range.getSize()}), operands[0], operands[1],
      range.getFirst(), getExperts());
  return llvm::to_vector_of<Value>(op.getResults());
}

//===----------------------------------------------------------------------===//
// dropout
//===----------------------------------------------------------------------===//

SmallVector<Value> DropoutOp::buildOfRange(OpBuilder &builder,
                                           ValueRange operands,
                                           RankRange &range) {
  return {PartialDropoutOp::create(
      builder, getLoc(), operands[0].getType(), operands[0], range.getFirst(),
      range.getDim(/*operand=*/0), range.getWholeSize(), getP(), getId())};
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

SmallVector<Value> AttentionOp::buildOfRange(OpBuilder &builder,
                                             ValueRange operands,
                                             RankRange &range) {
  Value q = operands[0], lse = getLse();
  const int64_t heads = typeOf(q).getDimSize(2);
  RankedTensorType rows = typeOf(lse);
  auto op = PartialAttentionOp::create(
      builder, getLoc(), q.getType(),
      rows.clone({rows.getDimSize(0), heads, rows.getDimSize(2)}), q,
      operands[1], operands[2], range.getFirst(),
      getMask() ? operands[3] : Value(), getCausal(), getScale(), *getDropout(),
      *getId());
  return llvm::to_vector_of<Value>(op.getResults());
}

/// Builds the attention of a range of the heads that another axis has left.
SmallVector<Value> PartialAttentionOp::buildOfRange(OpBuilder &builder,
                                                    ValueRange operands,
                                                    RankRange &range) {
  Value q = operands[0];
  const int64_t heads = typeOf(q).getDimSize(2);
  RankedTensorType rows = typeOf(getLse());
  Value first =
      arith::AddIOp::create(builder, getLoc(), operands[3], range.getFirst());
  auto op = PartialAttentionOp::create(
      builder, getLoc(), q.getType(),
      rows.clone({rows.getDimSize(0), heads, rows.getDimSize(2)}), q,
      operands[1], operands[2], first, getMask() ? operands[4] : Value(),
      getCausal(), getScale(), getDropout(), getId());
  return llvm::to_vector_of<Value>(op.getResults());
}
