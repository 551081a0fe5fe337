//===- ValueRules.h - from operands to results ------------------*- C++ -*-===//
#ifndef ZERO_VERIFY_VALUERULES_H
#define ZERO_VERIFY_VALUERULES_H

#include "ValueStates.h"

namespace mlir::zero::verify {

using States = SmallVector<State, 2>;

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// What the ranks of `over` have of the results of `op`, which has `factors`;
/// an error at `at`, if there is one, where they would be no parts of one
/// computation.
FailureOr<States> applyFactors(Operation *op, const zrt::Factors &factors,
                               ArrayRef<State> operands, AxesAttr over,
                               Operation *at);

/// The same with the factors that `op` has.
FailureOr<States> applyOperation(Operation *op, ArrayRef<State> operands,
                                 AxesAttr over, Operation *at);

/// What `apply` gives of `operands`, and of those that may be terms as such;
/// where either gives results these may be both, and where one does not,
/// `operands` are what it takes. An error at `at`, if there is one, where
/// neither does.
FailureOr<States> applyReadings(
    MutableArrayRef<State> operands, Operation *at,
    llvm::function_ref<FailureOr<States>(ArrayRef<State>, Operation *at)>
        apply);

/// The same of the function that a launch runs.
FailureOr<States> applyKernel(FunctionOpInterface kernel,
                              ArrayRef<State> operands, AxesAttr over,
                              Operation *at);

/// What a move makes of a value on its way between the whole and the parts of
/// `ranks` ranks; nothing where `op` is no such move.
std::optional<States> applyMove(Operation *op, const State &operand,
                                int64_t ranks);
/// `state` of a value of that shape, or, where the parts of all ranks are in
/// the order of the whole, what ranks then have.
State settled(State state, ArrayRef<int64_t> shape);
/// Of a value of that shape, the dimensions of which a rank may have one block,
/// of so many elements.
State partOfBlock(ArrayRef<int64_t> shape, int64_t block);
/// Sets `stride` and `front` of what `op` gives, if it is a move that brings a
/// dimension of `ranks` to the front.
void setFront(State &state, Operation *op, int64_t ranks);

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VALUERULES_H
