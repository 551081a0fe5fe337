//===- Tensor.cpp - tensor operations -------------------------------------===//

#include "Rules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;

/// Elements stay in row-major order, only the shape differs.
template <typename OpT> static void reshape(EvaluationRules &rules) {
  rules.add<OpT>([](OpT, Evaluation &e) {
    e.out[0].reals = e.in[0]->reals;
    e.out[0].integers = e.in[0]->integers;
    return success();
  });
}

/// Calls `move(position in the whole, position in the slice)` for every
/// element of a slice. A slice of lower rank has the same elements in the same
/// order, so positions are counted.
template <typename OpT>
static LogicalResult
forEachInSlice(OpT op, const Array &whole,
               llvm::function_ref<void(int64_t, int64_t)> move) {
  if (!op.getOffsets().empty() || !op.getSizes().empty() ||
      !op.getStrides().empty())
    return op.emitOpError("has dynamic offsets, sizes or strides, and the "
                          "interpreter knows static slices only");
  int64_t position = 0;
  forEachIndex(op.getStaticSizes(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> place;
    for (auto [i, entry] : llvm::enumerate(index))
      place.push_back(op.getStaticOffsets()[i] +
                      entry * op.getStaticStrides()[i]);
    move(whole.offset(place), position++);
  });
  return success();
}

static LogicalResult extractSlice(tensor::ExtractSliceOp op, Evaluation &e) {
  return forEachInSlice(op, *e.in[0], [&](int64_t whole, int64_t slice) {
    e.out[0].copyElement(slice, *e.in[0], whole);
  });
}

static LogicalResult insertSlice(tensor::InsertSliceOp op, Evaluation &e) {
  e.out[0] = *e.in[1];
  return forEachInSlice(op, *e.in[1], [&](int64_t whole, int64_t slice) {
    e.out[0].copyElement(whole, *e.in[0], slice);
  });
}

static LogicalResult concat(tensor::ConcatOp op, Evaluation &e) {
  int64_t dim = op.getDim(), start = 0;
  for (const Array *input : e.in) {
    int64_t from = 0;
    forEachIndex(input->shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> place(index);
      place[dim] += start;
      e.out[0].copyElement(e.out[0].offset(place), *input, from++);
    });
    start += input->shape[dim];
  }
  return success();
}

static LogicalResult pad(tensor::PadOp op, Evaluation &e) {
  Value padding = op.getConstantPaddingValue();
  Attribute value;
  if (!padding || !matchPattern(padding, m_Constant(&value)) ||
      !op.getLow().empty() || !op.getHigh().empty())
    return op.emitOpError("has dynamic sizes or a padding value that is no "
                          "constant, which the interpreter does not know");
  if (auto real = dyn_cast<FloatAttr>(value))
    llvm::fill(e.out[0].reals, real.getValueAsDouble());
  else
    llvm::fill(e.out[0].integers, cast<IntegerAttr>(value).getInt());
  int64_t from = 0;
  forEachIndex(e.in[0]->shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> place(index);
    for (auto [entry, low] : llvm::zip_equal(place, op.getStaticLow()))
      entry += low;
    e.out[0].copyElement(e.out[0].offset(place), *e.in[0], from++);
  });
  return success();
}

/// The result's leading dimensions are those of the indices, the others those
/// of the source with the gathered ones 1 or left out.
static LogicalResult gather(tensor::GatherOp op, Evaluation &e) {
  const Array &source = *e.in[0], &indices = *e.in[1];
  ArrayRef<int64_t> gathered = op.getGatherDims();
  SmallVector<int64_t> slice(source.shape);
  for (int64_t dim : gathered)
    slice[dim] = 1;
  int64_t tuples = indices.size() / static_cast<int64_t>(gathered.size());
  int64_t to = 0;
  bool inRange = true;
  for (int64_t tuple = 0; tuple < tuples; ++tuple)
    forEachIndex(slice, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> place(index);
      for (auto [i, dim] : llvm::enumerate(gathered)) {
        place[dim] = indices.integers[tuple * gathered.size() + i];
        inRange &= place[dim] >= 0 && place[dim] < source.shape[dim];
      }
      if (inRange)
        e.out[0].copyElement(to++, source, source.offset(place));
    });
  if (!inRange)
    return op.emitOpError("has an index outside its source");
  return success();
}

/// The position that the scalar operands from `first` on name.
static FailureOr<int64_t> position(Operation *op, const Array &array,
                                   Evaluation &e, unsigned first) {
  SmallVector<int64_t> index;
  for (const Array *entry : e.in.drop_front(first))
    index.push_back(entry->integers[0]);
  for (auto [entry, size] : llvm::zip_equal(index, array.shape))
    if (entry < 0 || entry >= size)
      return op->emitOpError("has an index outside its tensor");
  return array.offset(index);
}

void rules::addTensor(EvaluationRules &rules) {
  using namespace tensor;
  reshape<ExpandShapeOp>(rules);
  reshape<CollapseShapeOp>(rules);
  reshape<CastOp>(rules);
  rules.add<ExtractSliceOp>(extractSlice);
  rules.add<InsertSliceOp>(insertSlice);
  rules.add<ConcatOp>(concat);
  rules.add<PadOp>(pad);
  rules.add<GatherOp>(gather);
  rules.add<SplatOp>([](SplatOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].copyElement(i, *e.in[0], 0);
    return success();
  });
  reshape<ReshapeOp>(rules);
  rules.add<FromElementsOp>([](FromElementsOp, Evaluation &e) {
    for (auto [i, element] : llvm::enumerate(e.in))
      e.out[0].copyElement(static_cast<int64_t>(i), *element, 0);
    return success();
  });
  rules.add<InsertOp>([](InsertOp op, Evaluation &e) -> LogicalResult {
    FailureOr<int64_t> to = position(op, *e.in[1], e, 2);
    if (failed(to))
      return failure();
    e.out[0] = *e.in[1];
    e.out[0].copyElement(*to, *e.in[0], 0);
    return success();
  });
  rules.add<ExtractOp>([](ExtractOp op, Evaluation &e) -> LogicalResult {
    FailureOr<int64_t> from = position(op, *e.in[0], e, 1);
    if (failed(from))
      return failure();
    e.out[0].copyElement(0, *e.in[0], *from);
    return success();
  });
}
