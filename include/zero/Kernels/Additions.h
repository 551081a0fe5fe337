//===- Additions.h - which additions a kernel beside can do -----*- C++ -*-===//
#ifndef ZERO_KERNELS_ADDITIONS_H
#define ZERO_KERNELS_ADDITIONS_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/SymbolTable.h"

namespace mlir::zero {

/// An addition that the kernel of `by` can do with its own work, at the place
/// of `by` and bitwise equal to the two kernels apart.
struct FusableAddition {
  LaunchOp addition;
  AddendOpInterface by;
  /// The value between the two operations, in the addition's shape: the sum, if
  /// `by` reads it, or the result of `by`, if the addition reads that.
  Value shared;

  /// Whether `by` reads the sum.
  bool isBefore() { return shared == addition.getResult(0); }
  /// The addends to pass to `by`, in the shapes in which they were made: both
  /// operands of the addition, or the one that is not `shared`.
  SmallVector<Value> getAddends();
};

/// A sum of tensors that operations can do one after another: each adds its
/// result to `first`, or to what the one before it gives.
struct AdditionChain {
  LaunchOp sum;
  /// The addend that no link makes, in the shape in which it was made.
  Value first;
  /// The operations that add, in the order of the block.
  SmallVector<AddendOpInterface> links;
};

/// Finds fusable additions. Remembers kernels that it has looked at: none may
/// change.
class Additions {
public:
  /// The addition that `by` can do, as the block stands now: a launch of a
  /// kernel that adds two tensors and does nothing else, whose addends exist at
  /// the place of `by`, and whose sum nothing reads before it. Reshapes may lie
  /// in between. Nothing if there is none.
  std::optional<FusableAddition> find(AddendOpInterface by);

  /// The operations that can do the sum of `launch`, at their own places, not
  /// bitwise equal to it: they make all addends but one, or all, and nothing
  /// else reads those. Nothing if they cannot.
  std::optional<AdditionChain> findChain(LaunchOp launch);

private:
  LaunchOp getSum(Operation *op);
  LaunchOp getAddition(Operation *op);
  std::optional<FusableAddition> findBeside(AddendOpInterface by);

  SymbolTableCollection tables;
  DenseMap<Attribute, bool> adds;
};

} // namespace mlir::zero

#endif // ZERO_KERNELS_ADDITIONS_H
