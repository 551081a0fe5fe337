//===- Counts.h - how many elements count -----------------------*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_COUNTS_H
#define ZERO_DIALECT_NN_COUNTS_H

#include "zero/Dialect/NN/NN.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/Builders.h"

namespace mlir::nn {

/// The share of `counted` that counts, as a tensor<f32>: 1 where all does.
Value buildShare(OpBuilder &builder, Location loc,
                 zero::CountedElements counted);

/// Builds the number of elements of `counted` that count, at least 1, as a
/// scalar of `type`, f32 or f64.
Value buildCount(OpBuilder &builder, Location loc,
                 zero::CountedElements counted, RankedTensorType type);

/// The sum that the scalar `number` is, or, where the sum is less, a constant
/// of at most 1; null where it is something else.
ReduceOp findSum(Value number);

/// Whether `op` adds up elements, or takes the mean of as many as its shapes
/// say: a reduction, or a product of one element.
bool addsUp(Operation *op);

/// The elements that `number`, such a sum, is the number of; null where it is
/// another sum.
zero::CountedElements findCounted(Value number);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_COUNTS_H
