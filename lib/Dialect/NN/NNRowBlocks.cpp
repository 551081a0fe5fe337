//===- NNRowBlocks.cpp - gradients of weights, some rows at a time --------===//

#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

using RowsOf = llvm::function_ref<Value(unsigned)>;

/// Rows [begin, end) of what is itself a block of rows, or a whole.
static DenseI64ArrayAttr rowRange(OpBuilder &builder,
                                  std::optional<ArrayRef<int64_t>> rows,
                                  int64_t begin, int64_t end) {
  int64_t first = rows ? (*rows)[0] : 0;
  return builder.getDenseI64ArrayAttr({first + begin, first + end});
}

static RankedTensorType withRows(Value result, int64_t rows) {
  SmallVector<int64_t> shape(typeOf(result).getShape());
  shape.front() = rows;
  return typeOf(result).clone(shape);
}

bool MatmulOp::hasRowBlocks(unsigned) { return true; }

/// Of a matrix, the kernel takes a range of rows; a batch is cut between
/// products.
Value MatmulOp::buildRowBlock(OpBuilder &builder, unsigned, int64_t begin,
                              int64_t end, RowsOf rowsOf) {
  RankedTensorType type = withRows(getC(), end - begin);
  bool isBatch = type.getRank() > 2;
  return MatmulOp::create(
      builder, getLoc(), type, isBatch ? rowsOf(0) : getA(),
      isBatch ? rowsOf(1) : getB(), getTransposeA(), getTransposeB(),
      isBatch ? DenseI64ArrayAttr() : rowRange(builder, getRows(), begin, end));
}

/// A view of `value` whose leading dimensions are rows.
static Value asMatrix(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = typeOf(value);
  int64_t width = type.getShape().back();
  ImplicitLocOpBuilder at(loc, builder);
  return buildReshape(
      at, value,
      type.clone(
          {ShapedType::getNumElements(type.getShape().drop_back()), width}));
}

/// Of rows [begin, end) if there are some, else of all.
static Value buildWeightGradient(OpBuilder &builder, LinearWeightGradOp op,
                                 RankedTensorType type,
                                 DenseI64ArrayAttr rows) {
  Value left = asMatrix(builder, op.getLoc(), op.getX());
  Value right = asMatrix(builder, op.getLoc(), op.getDy());
  if (op.getTransposed())
    std::swap(left, right);
  return MatmulOp::create(builder, op.getLoc(), type, left, right,
                          /*transpose_a=*/true, /*transpose_b=*/false, rows);
}

bool LinearWeightGradOp::hasRowBlocks(unsigned index) { return index == 0; }

/// The sums are not in blocks.
Value LinearWeightGradOp::buildRowBlock(OpBuilder &builder, unsigned,
                                        int64_t begin, int64_t end, RowsOf) {
  return buildWeightGradient(builder, *this, withRows(getDw(), end - begin),
                             rowRange(builder, std::nullopt, begin, end));
}

void LinearWeightGradOp::dropUnusedResults(OpBuilder &builder) {
  if (!getDw().use_empty() || getDb().use_empty())
    return;
  auto rows =
      llvm::to_vector(llvm::seq<int64_t>(0, typeOf(getDy()).getRank() - 1));
  getDb().replaceAllUsesWith(ReduceOp::create(
      builder, getLoc(), getDb().getType(), getDy(), Reduction::Sum, rows));
  erase();
}

bool EmbeddingGradOp::hasRowBlocks(unsigned) { return true; }

Value EmbeddingGradOp::buildRowBlock(OpBuilder &builder, unsigned,
                                     int64_t begin, int64_t end,
                                     RowsOf rowsOf) {
  return EmbeddingGradOp::create(builder, getLoc(),
                                 withRows(getDtable(), end - begin), getDy(),
                                 getIds(), getInit() ? rowsOf(2) : Value(),
                                 rowRange(builder, getRows(), begin, end));
}

bool SiluMulGradOp::hasRowBlocks(unsigned) {
  return typeOf(getDy()).getRank() > 0;
}

/// Each row is that of the operands; the other result of a block is unused.
Value SiluMulGradOp::buildRowBlock(OpBuilder &builder, unsigned index,
                                   int64_t begin, int64_t end, RowsOf rowsOf) {
  RankedTensorType type = withRows(getResult(index), end - begin);
  return SiluMulGradOp::create(builder, getLoc(), TypeRange{type, type},
                               rowsOf(0), rowsOf(1), rowsOf(2))
      .getResult(index);
}

bool ScatterAddOp::hasRowBlocks(unsigned) { return true; }

/// Along another dimension a block is that of the operands.
Value ScatterAddOp::buildRowBlock(OpBuilder &builder, unsigned, int64_t begin,
                                  int64_t end, RowsOf rowsOf) {
  bool whole = getDim() == 0;
  return ScatterAddOp::create(
      builder, getLoc(), withRows(getY(), end - begin),
      whole ? getX() : rowsOf(0), whole ? getIds() : rowsOf(1),
      getInit() ? rowsOf(2) : Value(), getDim(),
      whole ? rowRange(builder, getRows(), begin, end) : DenseI64ArrayAttr());
}

bool GroupedMatmulGradOp::hasRowBlocks(unsigned) { return true; }

Value GroupedMatmulGradOp::buildRowBlock(OpBuilder &builder, unsigned,
                                         int64_t begin, int64_t end, RowsOf) {
  return GroupedMatmulGradOp::create(
      builder, getLoc(), withRows(getD(), end - begin), getA(), getB(),
      getOffsets(), rowRange(builder, getRows(), begin, end));
}

/// With several groups a block of rows sees some channels only.
bool ConvWeightGradOp::hasRowBlocks(unsigned) {
  return getGroupsAttr().getInt() == 1;
}

Value ConvWeightGradOp::buildRowBlock(OpBuilder &builder, unsigned,
                                      int64_t begin, int64_t end, RowsOf) {
  return ConvWeightGradOp::create(
      builder, getLoc(), withRows(getDw(), end - begin), getDy(), getX(),
      getStridesAttr(), getPaddingAttr(), getDilationsAttr(), getGroupsAttr(),
      rowRange(builder, getRows(), begin, end));
}
