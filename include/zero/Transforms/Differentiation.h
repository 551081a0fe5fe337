//===- Differentiation.h - reverse mode, reusable ---------------*- C++ -*-===//
//
// Builds the backward of a block: the part of zero-differentiate that knows
// nothing of steps or parameters.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TRANSFORMS_DIFFERENTIATION_H
#define ZERO_TRANSFORMS_DIFFERENTIATION_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::zero {

/// An output of the block and the gradient it starts with, of its type.
struct GradientSeed {
  Value output;
  Value gradient;
};

/// Values that hold one variable, for example several loads of one parameter:
/// the variable's gradient is the sum of theirs.
struct GradientVariable {
  SmallVector<Value> values;
};

/// Builds, at `builder`'s insertion point, the gradients of the variables with
/// respect to the seeded outputs of `block`. The insertion point must be
/// dominated by the whole forward and by the seeds.
///
/// Only operations on a path from a variable to an output are visited, in
/// reverse order. Contributions to a value are added with arith.addf in the
/// order in which the backward computes them, so that one partial sum is alive
/// however often a value is used. Those to a variable of 16-bit floats are
/// added in f32 and rounded once. An nn.embedding_grad that comes to a partial
/// sum takes it as its `init`.
///
/// `complete(variable, gradient)` is called once for every variable, as soon
/// as its last contribution is built; the gradient is null where there is no
/// path or only zeros along it. A builder in the callback may insert after the
/// gradient's definition.
///
/// A `zero.stage_boundary` is repeated between the gradients of what stands
/// behind and before it.
///
/// Fails with an error at the operation where one on a path does not implement
/// DifferentiableOpInterface, or its interface fails.
LogicalResult differentiate(
    OpBuilder &builder, Block &block, ArrayRef<GradientSeed> seeds,
    ArrayRef<GradientVariable> variables,
    llvm::function_ref<void(unsigned variable, Value gradient)> complete);

} // namespace mlir::zero

#endif // ZERO_TRANSFORMS_DIFFERENTIATION_H
