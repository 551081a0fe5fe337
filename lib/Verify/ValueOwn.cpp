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

/// The results of an operation on each rank's own samples, and on values that
/// are equal on all ranks.
std::optional<States> Rule::ownResults() {
  for (auto [index, state] : llvm::enumerate(operands))
    if (state.kind != State::Own && state.kind != State::Same)
      return fail("reads " + nameOf(index) + ", which is " + describe(state) +
                  ", beside what is of each rank's own samples; wanted the "
                  "samples of all ranks, which 'zero.gather_value' brings "
                  "together");
  return States(op->getNumResults(), State::of(State::Own));
}

/// The results of an operation that adds up the terms that arrived for a rank's
/// part.
std::optional<States> Rule::addedResults() {
  const zrt::FactoredTensor &terms = factors.operands.front();
  bool isSum =
      operands.size() == 1 && terms.isLinear && op->getNumResults() == 1 &&
      !terms.dimensions.empty() &&
      !hasFactor(terms.dimensions.front(),
                 [&](size_t factor) {
                   return factors.factors[factor].kind != FactorKind::Sum;
                 }) &&
      !hasFactor(terms.dimensions.front(),
                 [&](size_t factor) {
                   return hasFactorOf(factors.results.front(), factor);
                 }) &&
      llvm::none_of(llvm::drop_begin(terms.dimensions), [&](const auto &dim) {
        return hasFactor(dim, [&](size_t factor) {
          return !hasFactorOf(factors.results.front(), factor);
        });
      });
  if (!isSum)
    return fail("reads " + describe(operands.front()) +
                "; wanted a sum of these terms");
  int64_t stride = operands.front().stride;
  if (stride == 0)
    return States{State::of(State::Own)};
  // The rank's part of the sum, as if it were a slice of it.
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  State part = partOfBlock(type.getShape(), stride);
  part.isOwn = true;
  part.gathered.push_back(stride);
  return States{part};
}

/// Whether ranks have parts of the experts of an operation on rows that are in
/// an order of their own.
bool Rule::readsExperts() const {
  bool isOrdered = llvm::any_of(factors.factors, [](const auto &factor) {
    return factor.kind == FactorKind::OwnOrder;
  });
  return isOrdered && cutsExperts(over) && has(State::Cut);
}

/// Whether places of rows have the factor, as of choices.
bool Rule::isPlaced(size_t factor) const {
  for (auto [state, tensor] : llvm::zip_equal(operands, factors.operands))
    if (state.kind == State::Placed && hasFactorOf(tensor, factor))
      return true;
  return false;
}

/// Checks that all operands that are sorted rows, or places of such, are sorted
/// by the same choices.
bool Rule::agreesOnOrder() {
  const State *first = nullptr;
  for (auto [index, state] : llvm::enumerate(operands)) {
    if (!state.order)
      continue;
    if (!first)
      first = &state;
    if (first->order == state.order)
      continue;
    fail("reads " + nameOf(index) +
         " of rows that are sorted by other choices than those beside it; "
         "wanted one order");
    return false;
  }
  return true;
}

/// Checks an operand of an operation that reads sorted rows, and records in
/// `experts` how the factor of the experts is cut.
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
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions)) {
      if (state.isUniform(dim))
        continue;
      if (hasFactor(factored, [&](size_t factor) { return factor == rows; }))
        return false;
      if (hasFactor(factored,
                    [&](size_t factor) { return isPlaced(factor); }) &&
          dim == 0 && !state.isOfAll)
        return false;
    }
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

/// The rows of an operation: those that are sorted, or in an order of their
/// own.
std::optional<size_t> Rule::findRows() const {
  for (auto [index, factor] : llvm::enumerate(factors.factors))
    if (factor.kind == FactorKind::OwnOrder)
      return index;
  for (auto [state, tensor] : llvm::zip_equal(operands, factors.operands))
    if (state.kind == State::Sorted && !tensor.dimensions.empty() &&
        tensor.dimensions.front().parts.size() == 1 &&
        tensor.dimensions.front().parts[0].segments.empty())
      return tensor.dimensions.front().parts[0].factor;
  return std::nullopt;
}

/// Whether rows that stand for nothing give 0: of products with those of
/// others, and where an operation is linear in rows that are.
bool Rule::givesZeroRows(size_t rows) const {
  if (factors.factors[rows].kind == FactorKind::OwnOrder)
    return true;
  for (auto [state, tensor] : llvm::zip_equal(operands, factors.operands))
    if (state.hasZeroRows && tensor.isLinear)
      return true;
  return false;
}

std::optional<States> Rule::sortedResults() {
  std::optional<size_t> rows = findRows();
  FactorKind kind = rows ? factors.factors[*rows].kind : FactorKind::Whole;
  if (kind == FactorKind::Whole || kind == FactorKind::Combined)
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
  if (!agreesOnOrder())
    return std::nullopt;
  States results;
  for (const zrt::FactoredTensor &tensor : factors.results) {
    State &state = results.emplace_back(State::term());
    if (hasFactorOf(tensor, *rows)) {
      state = State::of(State::Sorted);
      state.hasZeroRows = givesZeroRows(*rows);
      for (const State &operand : operands)
        if (operand.order)
          state.order = operand.order;
      continue;
    }
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (auto [composed, blocks] = composeBlocks(factors, factored, experts);
          composed == Composed::Cut)
        state = State::cut({static_cast<unsigned>(dim), blocks});
    // Rows that were placed back are in the order of the samples.
    state.isOfAll = state.kind == State::Term && !tensor.dimensions.empty() &&
                    hasFactor(tensor.dimensions.front(),
                              [&](size_t factor) { return isPlaced(factor); });
    if (state.kind == State::Term && !givesZeroRows(*rows))
      return fail(
          "adds up rows in the order of each rank's experts, of which "
          "those that stand for no choice may not be 0; freeze the "
          "parameter that this is a gradient of, or leave the axis out");
  }
  return results;
}
