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

/// The indices of `op`, which gathers along one dimension, as a vector of i32.
Value buildRowIds(ImplicitLocOpBuilder &b, tensor::GatherOp op);

/// Rewrites operations of `tensor` in `block` that have no kernel as operations
/// that have one: a static reshape as views, a gather along one dimension as an
/// embedding, and scalars that tensor.extract takes from a tensor, with what is
/// computed from them, as tensors of rank 0. What it cannot rewrite it leaves
/// as it is. Fails, with an error, for a constant index outside its tensor.
LogicalResult rewriteTensorOps(Block &block);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_TENSORFORMS_H
