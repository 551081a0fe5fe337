//===- TensorForms.h - tensor operations that have kernels ------*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_TENSORFORMS_H
#define ZERO_DIALECT_NN_TENSORFORMS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::nn {

/// `value`, a tensor of static shape, with the shape of `type`, which has as
/// many elements: a collapse_shape to one dimension and an expand_shape, where
/// they are needed. Both share the memory of `value`.
Value buildReshape(ImplicitLocOpBuilder &b, Value value, RankedTensorType type);

/// A view of `value` as a matrix, whose leading dimensions are rows; a vector
/// is one row.
Value buildMatrix(OpBuilder &builder, Location loc, Value value);

/// `scalar`, a tensor of rank 0, in every element of `type`.
Value buildSplat(OpBuilder &builder, Location loc, Value scalar,
                 RankedTensorType type);

/// `value` in `type`, of which dimension `dims[i]` is its i-th; repeated along
/// the others.
Value buildBroadcast(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> dims, RankedTensorType type);

/// `value` with its dimensions in the order `permutation`, as a transposition
/// even where that moves dimensions of one index only, and so no element: it
/// says where they go, which a reshape does not, and costs nothing.
Value buildMove(ImplicitLocOpBuilder &b, Value value,
                ArrayRef<int64_t> permutation);

/// `value` with dimension i where `permutation[i]` was; views where that moves
/// no element.
Value buildTranspose(ImplicitLocOpBuilder &b, Value value,
                     ArrayRef<int64_t> permutation);

/// The product of the matrices [m, k] and [k, n].
Value buildProduct(ImplicitLocOpBuilder &b, Value left, Value right);

/// The sum of `value` along `dim`.
Value buildSum(ImplicitLocOpBuilder &b, Value value, int64_t dim);

/// `value` cut along `dim` into parts of these sizes.
SmallVector<Value> buildSplit(ImplicitLocOpBuilder &b, Value value, int64_t dim,
                              ArrayRef<int64_t> sizes);

/// A gather of static shape as one of rows of a table: the gathered dimensions,
/// brought to the front, number its rows.
struct GatheredRows {
  explicit GatheredRows(tensor::GatherOp op);

  /// The rows that `op` takes, as a vector of i32.
  Value buildIds(ImplicitLocOpBuilder &b, tensor::GatherOp op) const;
  /// The table of `source`, and what has such a table.
  Value buildTable(ImplicitLocOpBuilder &b, Value source) const;
  Value buildSource(ImplicitLocOpBuilder &b, Value table) const;

  /// The gathered dimensions, in the order of their indices, and the others.
  SmallVector<int64_t> permutation;
  SmallVector<int64_t> shape; // of the source in that order
  int64_t gathered, rows, columns;
};

/// Rewrites operations of `tensor` in `block` that have no kernel as operations
/// that have one: a static reshape as views, a gather of floats as an
/// embedding, and scalars that tensor.extract takes from a tensor, with what is
/// computed from them, as tensors of rank 0. What it cannot rewrite it leaves
/// as it is. Fails, with an error, for a constant index outside its tensor.
LogicalResult rewriteTensorOps(Block &block);

/// Makes one nn.split of slices in `block` that cut a tensor along one
/// dimension and together are all of it, unless they are views.
void splitSlices(Block &block);

/// Rewrites chains of views and transpositions in `block` as ones that split
/// dimensions, transpose once and merge, where these are fewer, or where the
/// chain merges dimensions and then splits what it merged.
void simplifyMoves(Block &block);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_TENSORFORMS_H
