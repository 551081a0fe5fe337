//===- ValueRules.cpp - from operands to results --------------------------===//
//
// The factors of an operation decide what ranks compute that have parts of its
// operands. Cuts that the factors do not allow are errors.
//
//===----------------------------------------------------------------------===//

#include "ValueRule.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::FactorKind;

bool verify::hasFactorOf(const zrt::FactoredTensor &tensor, size_t factor) {
  return llvm::any_of(tensor.dimensions, [&](const zrt::FactoredDim &dim) {
    return hasFactor(dim, [&](size_t other) { return other == factor; });
  });
}

//===----------------------------------------------------------------------===//
// Operands that are the same
//===----------------------------------------------------------------------===//

/// Whether operands are the same along `factor`, or have none of it.
bool Rule::isUniform(size_t factor) const {
  for (auto [state, tensor] : llvm::zip_equal(operands, factors.operands))
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (!state.isUniform(dim) &&
          hasFactor(factored, [&](size_t other) { return other == factor; }))
        return false;
  return true;
}

/// The dimensions of a result along which it is the same everywhere.
uint64_t Rule::uniformOf(const zrt::FactoredTensor &tensor) const {
  uint64_t uniform = 0;
  for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
    if (dim < 64 && !hasFactor(
                        factored,
                        [&](size_t factor) {
                          return factors.factors[factor].kind !=
                                     FactorKind::Parallel ||
                                 !isUniform(factor);
                        }))
      uniform |= uint64_t(1) << dim;
  return uniform;
}

States Rule::sameResults() const {
  States results(op->getNumResults());
  for (auto [state, tensor] : llvm::zip_equal(results, factors.results)) {
    setUniform(state, tensor);
    state.mayBeTerm = isSumOfUniform(tensor);
    state.isZero = operands.size() == 1 && operands[0].isZero &&
                   factors.operands[0].isLinear;
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Operands that are cut
//===----------------------------------------------------------------------===//

/// Whether a dimension of an operand that has a cut factor is cut there.
bool Rule::fitsOperand(const Way &way, unsigned operand, unsigned dim) {
  const State &state = operands[operand];
  if (state.kind == State::Cut) {
    if (!way.dims[operand] ? state.isOwn : *way.dims[operand] == dim)
      return true;
    fail("reads " + nameOf(operand) + ", which is " + describe(state) +
         ", beside what is cut along its dimension " + Twine(dim) +
         "; wanted one cut for both");
    return false;
  }
  // An operation repeats the one index of a broadcast operand.
  auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
  const bool repeats = factors.operands[operand].isBroadcast &&
                       state.kind == State::Same && type &&
                       type.getDimSize(dim) == 1;
  if (state.kind == State::Term || state.isUniform(dim) || repeats ||
      repeatsAlong(way, operand, dim))
    return true;
  fail("reads parts beside all of dimension " + Twine(dim) + " of " +
       nameOf(operand) +
       ", which is the same on all ranks; wanted its part, which "
       "'zero.slice_value' takes");
  return false;
}

/// Whether operands go together. With `isSoFar`, only those of which the way
/// has a dimension: if they do not go together, no longer way fits either.
bool Rule::fitsOperands(const Way &way, bool isSoFar) {
  auto isCut = [&](size_t factor) { return way.cut.contains(factor); };
  for (auto [index, tensor] : llvm::enumerate(factors.operands)) {
    if (isSoFar && !way.dims[index])
      continue;
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (hasFactor(factored, isCut) && !fitsOperand(way, index, dim))
        return false;
  }
  return true;
}

bool Rule::fitsKinds(const Way &way) {
  for (const auto &[factor, blocks] : way.cut) {
    FactorKind kind = factors.factors[factor].kind;
    if ((kind == FactorKind::Parallel || kind == FactorKind::Sum) &&
        (!mayCut || mayCut(factor, blocks)))
      continue;
    for (auto [index, dim] : llvm::enumerate(way.dims))
      if (dim) {
        fail("needs all of dimension " + Twine(*dim) + " of " + nameOf(index) +
             ", and each rank has a part; wanted the whole, which "
             "'zero.gather_value' brings together");
        return false;
      }
  }
  return true;
}

std::optional<State> Rule::cutResult(const Way &way, unsigned result) {
  State state;
  bool isCut = false, isTerm = false;
  const zrt::FactoredTensor &tensor = factors.results[result];
  for (auto [dim, factored] : llvm::enumerate(tensor.dimensions)) {
    auto [composed, blocks] = composeBlocks(factors, factored, way.cut);
    if (composed == Composed::Whole)
      continue;
    if (composed == Composed::Error || isCut)
      return fail("is cut in such a way that result " + Twine(result) +
                  " would have parts of more than one dimension, or of some "
                  "segments only; wanted one cut of all operands");
    isCut = true;
    state = State::cut({static_cast<unsigned>(dim), blocks});
  }
  if (isCut)
    setUniform(state, tensor);
  for (const auto &entry : way.cut)
    isTerm |= factors.factors[entry.first].kind == FactorKind::Sum &&
              !hasFactorOf(tensor, entry.first);
  if (!isTerm)
    return state;
  if (isCut)
    return fail("gives parts of sums of parts; wanted one cut of all operands");
  return countsAddendsOnce(way.cut) ? std::optional(State::term())
                                    : std::nullopt;
}

static bool hasTerm(ArrayRef<State> states) {
  return llvm::any_of(states,
                      [](const State &state) { return state.isTerm(); });
}

/// Adds to `state` the states of `other`, the same value by another reading of
/// its operands.
static void addReading(State &state, const State &other) {
  if (state.kind == State::Term && other.kind == State::Cut) {
    state = other;
    state.mayBeTerm = true;
  }
  state.mayBeTerm |= other.kind == State::Term && state.kind == State::Cut;
  for (const Layout &layout : other.layouts)
    state.addLayout(layout);
}

/// The results of one way to read all operands.
void Rule::finish(const Way &way) {
  if (!fitsKinds(way) || !fitsOperands(way))
    return;
  States results;
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    std::optional<State> state = cutResult(way, index);
    if (!state)
      return;
    results.push_back(*state);
  }
  bool hasTerms = hasTerm(results);
  for (auto [index, state] : llvm::enumerate(operands))
    if (state.kind == State::Term &&
        (!hasTerms || !factors.operands[index].isAddend)) {
      fail("reads " + nameOf(index) +
           ", the term of a sum, beside parts; wanted the sum, which "
           "'zero.all_reduce_value' makes");
      return;
    }
  if (!found) {
    found = results;
    return;
  }
  for (auto [state, other] : llvm::zip_equal(*found, results))
    addReading(state, other);
}

/// Reads operands from `operand` on in every way.
void Rule::addWays(unsigned operand, Way way) {
  if (operand == operands.size())
    return finish(way);
  const State &state = operands[operand];
  if (state.kind != State::Cut)
    return addWays(operand + 1, way);
  const auto &dims = factors.operands[operand].dimensions;
  bool isRead = false;
  for (const Layout &layout : layoutsOf(operand))
    for (const CutFactors &cut :
         findCutFactors(factors, dims[layout.dim], layout.blocks)) {
      isRead = true;
      Way longer = way;
      longer.dims[operand] = layout.dim;
      bool agrees = true;
      for (const auto &[factor, blocks] : cut) {
        auto [known, isNew] = longer.cut.insert({factor, blocks});
        agrees &= isNew || known->second == blocks;
      }
      if (!agrees)
        fail("reads " + nameOf(operand) + ", which is " + describe(layout) +
             ", beside what is cut otherwise; wanted one cut for both");
      else if (fitsOperands(longer, /*isSoFar=*/true))
        addWays(operand + 1, longer);
    }
  if (state.isOwn && state.layouts.empty())
    return addWays(operand + 1, way);
  if (!isRead)
    fail("cannot take " + nameOf(operand) + ", which is " + describe(state) +
         ", apart as it is cut; wanted the whole, which 'zero.gather_value' "
         "brings together");
}

/// The results of an operation with operands that are cut. Own values are read
/// as parts of a dimension if that is possible; if all cut operands are own,
/// the results are own values as well, unless one may be a term. Sums over a
/// cut dimension are terms, and operations that need the whole are refused.
std::optional<States> Rule::cutResults() {
  Way way;
  way.dims.resize(operands.size());
  addWays(0, way);
  if (!isOwn() || !found || hasTerm(*found))
    return found;
  // Each rank computes with its own value.
  bool isPart = llvm::all_of(
      *found, [](const State &state) { return state.kind == State::Cut; });
  if (!isPart) {
    found = States(op->getNumResults());
    for (State &state : *found)
      state.kind = State::Cut;
  }
  // An operation that is linear in values which a sum will combine may come
  // before the sum.
  bool isOfRange = operands.size() == 1 && operands[0].isOfRange &&
                   factors.operands[0].isLinear;
  for (State &state : *found) {
    state.isOwn = true;
    state.isOfRange = isOfRange;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Any operands
//===----------------------------------------------------------------------===//

/// Marks results whose dimension 0 has the samples of all ranks: those for
/// which all operands with that dimension have them.
void Rule::markOfAll(States &results) const {
  auto factorOf = [](const zrt::FactoredTensor &tensor) {
    bool isOne = !tensor.dimensions.empty() &&
                 tensor.dimensions.front().parts.size() == 1 &&
                 tensor.dimensions.front().parts[0].segments.empty();
    return isOne ? std::optional(tensor.dimensions.front().parts[0].factor)
                 : std::nullopt;
  };
  for (auto [state, tensor] : llvm::zip_equal(results, factors.results)) {
    std::optional<size_t> rows = factorOf(tensor);
    if (!rows || factors.factors[*rows].kind != FactorKind::Parallel)
      continue;
    bool isOfAll = false, isOther = false;
    for (auto [operand, other] : llvm::zip_equal(operands, factors.operands)) {
      if (!hasFactorOf(other, *rows) || operand.isUniform(0) || operand.isZero)
        continue;
      isOfAll |= operand.isOfAll;
      isOther |= !operand.isOfAll || factorOf(other) != rows;
    }
    state.isOfAll |= isOfAll && !isOther;
  }
}

std::optional<States> Rule::run() {
  std::optional<States> results = computeResults();
  if (!results)
    return std::nullopt;
  problem.clear(); // of other ways to read operands
  if (!followSamples(*results))
    return std::nullopt;
  markOfAll(*results);
  return results;
}

std::optional<States> Rule::computeResults() {
  for (auto [index, state] : llvm::enumerate(operands))
    if (state.kind == State::None || state.kind == State::Gathered)
      return fail("reads " + nameOf(index) + ", which is " + describe(state));
  if (std::optional<size_t> ranged = findRanged())
    return rangeResults(*ranged);
  if (has(State::Terms))
    return addedResults();
  if (has(State::Sorted) || has(State::Placed) || readsExperts())
    return sortedResults();
  if (has(State::Own))
    return ownResults();
  if (std::optional<State> firsts = findFirstsOfSum())
    return States{*firsts};
  if (has(State::Cut))
    return cutResults();
  return has(State::Term) ? termResults() : sameResults();
}
