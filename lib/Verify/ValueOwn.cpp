//===- ValueOwn.cpp - samples of a rank's own, and rows of its experts ----===//
//
// Over an axis whose ranks have samples of their own, what follows from these
// is another value on each. Rows that all ranks have sorted for their experts
// are in another order on each rank: computed row by row they stay so, with
// matrices of these experts; and what is computed of all rows is the term of a
// sum over the ranks, since each choice has its row on one of them.
//
//===----------------------------------------------------------------------===//

#include "ValueRule.h"

#include "zero/Analysis/Mesh.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::FactorKind;

/// Each rank computes with its samples, and with what is the same.
std::optional<States> Rule::ownResults() {
  for (auto [index, state] : llvm::enumerate(operands))
    if (state.kind != State::Own && state.kind != State::Same)
      return fail("reads " + nameOf(index) + ", which is " + describe(state) +
                  ", beside what is of each rank's own samples; wanted the "
                  "samples of all ranks, which 'zero.gather_value' brings "
                  "together");
  return States(op->getNumResults(), State::of(State::Own));
}

/// What has arrived for a rank's part is added up.
std::optional<States> Rule::addedResults() {
  const zrt::FactoredTensor &terms = factors.operands.front();
  bool isSum =
      operands.size() == 1 && terms.isLinear && op->getNumResults() == 1 &&
      !terms.dimensions.empty() &&
      !hasFactor(terms.dimensions.front(),
                 [&](size_t factor) {
                   return factors.factors[factor].kind != FactorKind::Sum;
                 }) &&
      !hasFactor(terms.dimensions.front(), [&](size_t factor) {
        return hasFactorOf(factors.results.front(), factor);
      });
  if (!isSum)
    return fail("reads " + describe(operands.front()) +
                "; wanted a sum of these terms");
  return States{State::of(State::Own)};
}

/// Whether ranks have parts of the experts of an operation on rows that are in
/// an order of their own.
bool Rule::readsExperts() const {
  bool isOrdered = llvm::any_of(factors.factors, [](const auto &factor) {
    return factor.kind == FactorKind::OwnOrder;
  });
  return isOrdered && cutsExperts(over) && has(State::Cut);
}

/// What an operand has beside such rows. `experts` is how those are cut.
bool Rule::fitsSorted(unsigned operand, size_t rows, CutFactors &experts) {
  const State &state = operands[operand];
  const zrt::FactoredTensor &tensor = factors.operands[operand];
  bool hasRows = hasFactorOf(tensor, rows);
  auto hasExperts = [&](size_t factor) {
    return factors.factors[factor].kind == FactorKind::Combined &&
           hasFactorOf(tensor, factor);
  };
  bool readsExperts =
      llvm::any_of(llvm::seq<size_t>(0, factors.factors.size()), hasExperts);
  switch (state.kind) {
  case State::Sorted:
    return hasRows && !tensor.dimensions.empty() &&
           hasFactor(tensor.dimensions.front(),
                     [&](size_t factor) { return factor == rows; });
  case State::Placed:
    return !hasRows && !readsExperts &&
           factors.factors[rows].kind == FactorKind::OwnOrder;
  case State::Same:
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (hasFactor(factored, [&](size_t factor) { return factor == rows; }) &&
          !state.isUniform(dim))
        return false;
    return !readsExperts;
  case State::Cut:
    for (const Layout &layout : state.layouts) {
      auto ways =
          findCutFactors(factors, tensor.dimensions[layout.dim], layout.blocks);
      if (ways.size() != 1 || ways[0].size() != 1 ||
          factors.factors[ways[0].begin()->first].kind != FactorKind::Combined)
        continue;
      if (experts.empty())
        experts = ways[0];
      return experts.begin()->first == ways[0].begin()->first &&
             experts.begin()->second == ways[0].begin()->second;
    }
    return false;
  default:
    return false;
  }
}

std::optional<States> Rule::sortedResults() {
  // Rows that are sorted, or those in an order of their own.
  std::optional<size_t> rows;
  for (auto [index, factor] : llvm::enumerate(factors.factors))
    if (factor.kind == FactorKind::OwnOrder)
      rows = index;
  for (auto [state, tensor] : llvm::zip_equal(operands, factors.operands))
    if (state.kind == State::Sorted && !rows && !tensor.dimensions.empty() &&
        tensor.dimensions.front().parts.size() == 1 &&
        tensor.dimensions.front().parts[0].segments.empty())
      rows = tensor.dimensions.front().parts[0].factor;
  bool isByRows =
      rows && (factors.factors[*rows].kind == FactorKind::Parallel ||
               factors.factors[*rows].kind == FactorKind::OwnOrder);
  if (!isByRows)
    return fail("does not compute row by row what is in the order of each "
                "rank's experts");
  CutFactors experts;
  for (unsigned index = 0; index < operands.size(); ++index)
    if (!fitsSorted(index, *rows, experts))
      return fail("reads " + nameOf(index) + ", which is " +
                  describe(operands[index]) +
                  ", with rows in the order of each rank's experts; wanted "
                  "such rows, what goes with them on that rank, or what is the "
                  "same for all rows");
  States results;
  for (const zrt::FactoredTensor &tensor : factors.results) {
    State &state = results.emplace_back(State::term());
    if (hasFactorOf(tensor, *rows)) {
      state = State::of(State::Sorted);
      continue;
    }
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (auto [composed, blocks] = composeBlocks(factors, factored, experts);
          composed == Composed::Cut)
        state = State::cut({static_cast<unsigned>(dim), blocks});
    if (state.kind == State::Term &&
        factors.factors[*rows].kind != FactorKind::OwnOrder)
      return fail("gives one value of rows in the order of each rank's "
                  "experts, of which some may stand for nothing");
  }
  return results;
}
