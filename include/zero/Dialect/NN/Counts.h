//===- Counts.h - how many elements count -----------------------*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_COUNTS_H
#define ZERO_DIALECT_NN_COUNTS_H

#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/Builders.h"

namespace mlir::nn {

/// The share of `counted` that counts, as a tensor<f32>: 1 where all does.
Value buildShare(OpBuilder &builder, Location loc,
                 zero::CountedElements counted);

/// The elements that the scalar `number` is the number of, or, where they are
/// fewer, a constant; null where it is something else.
zero::CountedElements findCounted(Value number);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_COUNTS_H
