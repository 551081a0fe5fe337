//===- ValueTerms.cpp - operands that are terms of sums -------------------===//

#include "ValueRule.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Checks the addends of a sum whose terms the ranks have: each is a term
/// itself, zero, or cut like the result, which includes values whose parts are
/// all equal.
bool Rule::countsAddendsOnce(const CutFactors &cut) {
  auto isPart = [&](const State &state, const zrt::FactoredTensor &tensor) {
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (state.isUniform(dim) && hasFactor(factored, [&](size_t factor) {
            return cut.contains(factor);
          }))
        return true;
    return state.kind == State::Cut;
  };
  for (auto [index, tensor] : llvm::enumerate(factors.operands)) {
    const State &state = operands[index];
    if (!tensor.isAddend || state.kind == State::Term || state.isZero ||
        isPart(state, tensor))
      continue;
    fail("adds " + nameOf(index) + ", which is " + describe(state) +
         ", to the terms of a sum: it would count " + Twine(over.getSize()) +
         " times; wanted it behind the sum");
    return false;
  }
  return true;
}

/// The results of an operation on terms: it must be linear in a term, or add it
/// to other terms.
std::optional<States> Rule::termResults() {
  std::optional<unsigned> linear;
  for (auto [index, state] : llvm::enumerate(operands)) {
    const zrt::FactoredTensor &tensor = factors.operands[index];
    if (state.kind != State::Term || tensor.isAddend)
      continue;
    if (!tensor.isLinear || linear)
      return fail("reads " + nameOf(index) +
                  ", the term of a sum, and is not linear in it; wanted the "
                  "sum, which 'zero.all_reduce_value' makes");
    linear = index;
  }
  if (!countsAddendsOnce(/*cut=*/{}))
    return std::nullopt;
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (!linear && !factors.operands[index].isAddend && isFloat(operand))
      return fail("adds the terms of a sum to what it computes of " +
                  nameOf(index) + ", which would count " +
                  Twine(over.getSize()) +
                  " times; wanted the sum, which "
                  "'zero.all_reduce_value' makes");
  States results(op->getNumResults(), State::term());
  return results;
}

//===----------------------------------------------------------------------===//
// What may be terms
//===----------------------------------------------------------------------===//

static bool givesTerm(const FailureOr<States> &states) {
  return succeeded(states) && llvm::any_of(*states, [](const State &state) {
           return state.kind == State::Term;
         });
}

FailureOr<States> verify::applyReadings(
    MutableArrayRef<State> operands, Operation *at,
    llvm::function_ref<FailureOr<States>(ArrayRef<State>, Operation *at)>
        apply) {
  SmallVector<size_t> open;
  for (auto [index, state] : llvm::enumerate(operands))
    if (state.asTerm())
      open.push_back(index);
  if (open.empty())
    return apply(operands, at);
  auto read = [&](ArrayRef<size_t> indices) {
    States terms(operands);
    for (size_t index : indices)
      if (std::optional<State> term = operands[index].asTerm())
        terms[index] = *term;
    return std::pair(apply(terms, /*at=*/nullptr), terms);
  };
  FailureOr<States> results = apply(operands, /*at=*/nullptr);
  auto [terms, asTerms] = read(open);
  for (size_t i = 0; open.size() > 1 && i < open.size() && !givesTerm(terms);
       ++i)
    std::tie(terms, asTerms) = read(open[i]);
  if (failed(results) && failed(terms))
    return apply(operands, at);
  if (failed(results)) {
    llvm::copy(asTerms, operands.begin());
    return terms;
  }
  if (!givesTerm(terms)) {
    for (State &state : operands) {
      state.mayBeTerm = false;
      state.mayBeTerms = 0;
    }
    return results;
  }
  for (auto [state, term] : llvm::zip_equal(*results, *terms))
    state.mayBeTerm |= term.kind == State::Term &&
                       (state.kind == State::Same || state.kind == State::Cut);
  return results;
}
