//===- ValueRules.h - from operands to results ------------------*- C++ -*-===//
#ifndef ZERO_VERIFY_VALUERULES_H
#define ZERO_VERIFY_VALUERULES_H

#include "ValueStates.h"

namespace mlir::zero::verify {

using States = SmallVector<State, 2>;

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The states of the results of `op`, which has `factors`, over `over`. An
/// error at `at`, if given, if the ranks would not compute parts of one
/// computation.
FailureOr<States> applyFactors(Operation *op, const zrt::Factors &factors,
                               ArrayRef<State> operands, AxesAttr over,
                               Operation *at);

/// As `applyFactors`, with the factors of `op` itself.
FailureOr<States> applyOperation(Operation *op, ArrayRef<State> operands,
                                 AxesAttr over, Operation *at);

/// Applies `apply` to `operands`, and again with all operands that may be
/// terms, or one of them, read as terms. If both readings give results, the
/// results may be read in both ways; if only one does, `operands` are changed
/// to that reading. An error at `at`, if given, if neither does.
FailureOr<States> applyReadings(
    MutableArrayRef<State> operands, Operation *at,
    llvm::function_ref<FailureOr<States>(ArrayRef<State>, Operation *at)>
        apply);

/// The states of the results of `kernel`, the function that a launch runs.
FailureOr<States> applyKernel(FunctionOpInterface kernel,
                              ArrayRef<State> operands, AxesAttr over,
                              Operation *at);

/// The states of the results of `op`, a move of a value that is on its way
/// between the whole and the parts of `ranks` ranks; nothing if `op` is no such
/// move.
std::optional<States> applyMove(Operation *op, const State &operand,
                                int64_t ranks);
/// `state`, of a value of `shape`; if it is `Gathered` and the parts of all
/// ranks are now in the order of the whole, the state that this makes.
State settled(State state, ArrayRef<int64_t> shape);
/// A `Cut` state with a layout for each dimension of `shape` of which one rank
/// can have one contiguous block of `block` elements.
State partOfBlock(ArrayRef<int64_t> shape, int64_t block);
/// Sets `stride`, `front` and `isOneIndex` of `state`, that of a result of
/// `op`, if `op` is a move that brings a dimension of `ranks` to the front.
void setFront(State &state, Operation *op, int64_t ranks);

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VALUERULES_H
