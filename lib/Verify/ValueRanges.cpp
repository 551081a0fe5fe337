//===- ValueRanges.cpp - ranges of a combined factor ----------------------===//

#include "ValueRule.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;
using zrt::FactorKind;

/// The first index of each rank's range.
static const State *findFirsts(ArrayRef<State> operands) {
  const State *found = llvm::find_if(
      operands, [](const State &state) { return !state.numbers.empty(); });
  return found == operands.end() ? nullptr : found;
}

/// The first indices of ranges that are within one of another axis: what is the
/// same on all ranks of this one is added to them.
std::optional<State> Rule::findFirstsOfSum() const {
  bool isSum = operands.size() > 1 && op->getNumResults() == 1 &&
               llvm::all_of(factors.operands, [](const auto &tensor) {
                 return tensor.isAddend && tensor.dimensions.empty();
               });
  if (!isSum || llvm::count_if(operands, [](const State &state) {
                  return state.kind != State::Same;
                }) != 1)
    return std::nullopt;
  const State *firsts = findFirsts(operands);
  if (!firsts)
    return std::nullopt;
  State sum = *firsts;
  sum.isWithin = true;
  return sum;
}

/// The factor of which `op` takes a range that is each rank's own.
std::optional<size_t> Rule::findRanged() const {
  if (!findFirsts(operands))
    return std::nullopt;
  for (auto [index, factor] : llvm::enumerate(factors.factors))
    if (factor.kind == FactorKind::Combined ||
        (!factor.range.empty() && op->hasAttr(factor.range)))
      return index;
  return std::nullopt;
}

/// Whether an operand is made of numbers of each range: floats of the type of
/// another operand that is, as the gradient of a result is beside that.
bool Rule::isOfRanges(unsigned operand) const {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
  return type && isa<FloatType>(type.getElementType()) &&
         llvm::any_of(llvm::seq<unsigned>(0, operands.size()),
                      [&](unsigned other) {
                        return operands[other].isOwn &&
                               op->getOperand(other).getType() == type;
                      });
}

/// Whether all indices of the dimensions that have the factor are the same.
static bool isUniformAlong(const State &state,
                           const zrt::FactoredTensor &tensor, size_t factor) {
  if (state.kind != State::Same)
    return false;
  for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
    if (!state.isUniform(dim) &&
        hasFactor(factored, [&](size_t other) { return other == factor; }))
      return false;
  return true;
}

/// Checks the operands of an operation that computes a range on each rank:
/// those with the factor have its range, all others are whole, or have a number
/// for each range.
bool Rule::fitsRanged(size_t ranged, const Blocks &blocks) {
  for (unsigned index = 0; index < operands.size(); ++index) {
    const State &state = operands[index];
    const zrt::FactoredTensor &tensor = factors.operands[index];
    bool isRead = hasFactorOf(tensor, ranged);
    bool isNumber = !isRead && isOfRanges(index);
    bool fits = state.isOwn ||
                (state.kind == State::Same && (!isNumber || state.isZero));
    if (isRead)
      fits = state.isZero || isUniformAlong(state, tensor, ranged) ||
             llvm::any_of(state.layouts, [&](const Layout &layout) {
               return llvm::any_of(
                   findCutFactors(factors, tensor.dimensions[layout.dim],
                                  layout.blocks),
                   [&](const CutFactors &way) {
                     return way.size() == 1 && way.begin()->first == ranged &&
                            way.begin()->second == blocks;
                   });
             });
    if (fits)
      continue;
    fail("reads " + nameOf(index) + ", which is " + describe(state) +
         ", with ranges of " + Twine(blocks.sizes.front()) +
         " indices; wanted " +
         (isRead     ? "those"
          : isNumber ? "a number of each range, as beside it"
                     : "the whole"));
    return false;
  }
  return true;
}

/// Whether rows come into an order.
static bool hasOrder(const zrt::Factors &factors) {
  return llvm::any_of(factors.factors, [](const zrt::Factor &factor) {
    return factor.kind == FactorKind::OwnOrder;
  });
}

static bool isRow(const zrt::Factors &factors,
                  const zrt::FactoredTensor &tensor) {
  return !tensor.dimensions.empty() &&
         hasFactor(tensor.dimensions.front(), [&](size_t factor) {
           return factors.factors[factor].kind == FactorKind::OwnOrder &&
                  llvm::none_of(factors.operands, [&](const auto &operand) {
                    return hasFactorOf(operand, factor);
                  });
         });
}

/// The integers that say where rows go.
const void *Rule::findOrder() const {
  for (auto [index, state] : llvm::enumerate(operands))
    if (state.identity && !state.isOwn &&
        !factors.operands[index].dimensions.empty())
      return state.identity;
  return nullptr;
}

/// Checks an operation that sorts rows: each rank sorts the rows of all ranks,
/// and has room for each choice.
bool Rule::fitsOrder() {
  int64_t choices = 0, kept = 0;
  for (auto [index, state] : llvm::enumerate(operands)) {
    auto type = cast<RankedTensorType>(op->getOperand(index).getType());
    if (type.getRank() == 0)
      continue;
    if (type.getElementType().isInteger())
      choices = std::max(choices, type.getNumElements());
    if (!state.isOfAll && !state.isUniform(0)) {
      fail("reads " + nameOf(index) + ", which is " + describe(state) +
           "; wanted the samples of all ranks in their order, which "
           "'zero.gather_value' brings together");
      return false;
    }
  }
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), factors.results))
    if (isRow(factors, tensor))
      kept = cast<RankedTensorType>(result.getType()).getDimSize(0);
  if (kept >= choices && findOrder())
    return true;
  fail("has room for " + Twine(kept) + " of " + Twine(choices) +
       " choices on each rank, of which those of one may be more; wanted room "
       "for all");
  return false;
}

/// The number of indices of the factor that each rank has. If its range is
/// within a range of another axis, ranks of that axis have the indices in
/// between.
std::optional<int64_t> Rule::sizeOfRanges(size_t ranged) {
  const State &state = *findFirsts(operands);
  const auto &firsts = state.numbers;
  int64_t step = firsts.size() > 1 ? firsts[1] : 0;
  int64_t size = state.isWithin ? factors.factors[ranged].size : step;
  for (auto [rank, first] : llvm::enumerate(firsts))
    if (size <= 0 || step <= 0 || step % size != 0 ||
        first != static_cast<int64_t>(rank) * step)
      return fail("has ranges that begin at " + Twine(first) + " on rank " +
                  Twine(rank) +
                  " of the axis; wanted equal ranges, one behind "
                  "the other");
  // `size`, as of dropout, is the number of indices of the whole dimension.
  auto whole = op->getAttrOfType<IntegerAttr>("size");
  if (whole && whole.getInt() != size * static_cast<int64_t>(firsts.size()))
    return fail("has ranges of " + Twine(size) + " indices of " +
                Twine(whole.getInt()) + " on " + Twine(firsts.size()) +
                " ranks; wanted all of them");
  return size;
}

std::optional<States> Rule::rangeResults(size_t ranged) {
  if (hasOrder(factors) && !fitsOrder())
    return std::nullopt;
  std::optional<int64_t> size = sizeOfRanges(ranged);
  if (!size)
    return std::nullopt;
  Blocks blocks;
  blocks.sizes.push_back(*size);
  const zrt::Factor &factor = factors.factors[ranged];
  if (auto rows = op->getAttrOfType<DenseI64ArrayAttr>(factor.range);
      !factor.range.empty() && rows)
    blocks.begin = rows[0];
  std::optional<Blocks> read = blocks.normalized(factor.size);
  if (!read || !fitsRanged(ranged, *read))
    return std::nullopt;
  bool isLinear = llvm::any_of(factors.operands, [&](const auto &tensor) {
    return tensor.isLinear && hasFactorOf(tensor, ranged);
  });
  CutFactors cut;
  cut.insert({ranged, *read});
  States results;
  for (const zrt::FactoredTensor &tensor : factors.results) {
    State &state = results.emplace_back();
    for (auto [dim, factored] : llvm::enumerate(tensor.dimensions))
      if (auto [composed, part] = composeBlocks(factors, factored, cut);
          composed == Composed::Cut)
        state = State::cut({static_cast<unsigned>(dim), part});
    if (hasOrder(factors)) {
      if (state.kind != State::Cut)
        state.kind = isRow(factors, tensor) ? State::Sorted : State::Placed;
      state.hasZeroRows = true;
      state.order = findOrder();
      continue;
    }
    if (state.kind == State::Cut)
      continue;
    state.kind = isLinear ? State::Term : State::Cut;
    state.isOwn = state.isOfRange = !isLinear;
  }
  return results;
}
