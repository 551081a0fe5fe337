//===- PipelineCuts.cpp - which spans of a model are a stage --------------===//

#include "zero/Analysis/PipelineCuts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

using namespace mlir;
using namespace mlir::zero;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t PipelineCut::largestBytes() const {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

//===----------------------------------------------------------------------===//
// What neighbouring spans cost together
//===----------------------------------------------------------------------===//

namespace {

/// Spans up to one of them, which grow to the front.
class Range {
public:
  Range(const PipelineCosts &costs, size_t end)
      : costs(costs), begin(end), uses(costs.parameters.size()),
        groups(costs.intervals.size()), hasValue(costs.valueBytes.size()) {
    addValues(costs.spans[end - 1].sent);
  }

  void grow() {
    const SpanCost &span = costs.spans[--begin];
    work += span.work;
    isTrained |= span.isTrained;
    working = std::max(working, span.working);
    slot += span.stashed;
    for (unsigned parameter : span.parameters)
      addUse(parameter);
    addValues(span.kept);
  }
  /// Bytes of a stash of so many slots, and of what outlives a step.
  int64_t keptBytes(int64_t slots) const {
    int64_t states = ofOthers;
    for (auto [bytes, interval] : llvm::zip_equal(groups, costs.intervals))
      states += pad(bytes, interval);
    return states + slots * (slot + costs.spans[begin].sentBack);
  }

  double work = 0;
  bool isTrained = false;
  int64_t working = 0;

private:
  static int64_t pad(int64_t bytes, int64_t interval) {
    return interval > 0 && bytes > interval
               ? static_cast<int64_t>(llvm::alignTo(bytes, interval))
               : bytes;
  }
  /// A parameter of which it has some uses, and another stage the others, is in
  /// no group.
  void addUse(unsigned parameter) {
    const ParameterCost &cost = costs.parameters[parameter];
    const int64_t apart =
        cost.received + pad(cost.bytes, costs.intervals[cost.group]);
    if (++uses[parameter] == 1)
      ofOthers += apart;
    if (uses[parameter] < cost.uses)
      return;
    ofOthers -= apart;
    groups[cost.group] += cost.bytes;
  }
  void addValues(ArrayRef<unsigned> values) {
    for (unsigned value : values)
      if (!hasValue[value]) {
        hasValue[value] = true;
        slot += costs.valueBytes[value];
      }
  }

  const PipelineCosts &costs;
  size_t begin;
  int64_t slot = 0;
  int64_t ofOthers = 0;        ///< bytes of what other stages have, too
  SmallVector<int64_t> uses;   ///< by parameter
  SmallVector<int64_t> groups; ///< bytes
  std::vector<bool> hasValue;
};

} // namespace

//===----------------------------------------------------------------------===//
// One stage a place
//===----------------------------------------------------------------------===//

namespace {

/// The quantity that the best cut has least of.
enum class Goal { LargestBytes, LargestWork, Squares };

/// The best cut of the first spans into some stages.
struct Best {
  double value = kInfinity;
  size_t begin = 0; ///< of the last stage
};

struct Found {
  double value = kInfinity;
  SmallVector<size_t> begins;
};

class CutSearch {
public:
  CutSearch(const PipelineCosts &costs, const StageLimits &limits)
      : costs(costs), limits(limits), count(costs.spans.size()) {}

  Found find(Goal goal, double mostWork, double mostBytes);
  /// The cut with these begins of stages, with its work and bytes.
  PipelineCut describe(ArrayRef<size_t> begins) const;
  /// Changes a cut step by step for a better one.
  SmallVector<size_t> improve(SmallVector<size_t> begins) const;

private:
  using Score = std::tuple<int64_t, int64_t, double, double>;

  void extend(const Range &range, size_t begin, size_t end, Goal goal,
              double mostBytes);
  std::optional<Score> judge(ArrayRef<size_t> begins) const;

  const PipelineCosts &costs;
  const StageLimits &limits;
  const size_t count;
  std::vector<std::vector<Best>> best; ///< by stages, by spans
};

} // namespace

/// Considers the range as the last stage of the first `end` spans.
void CutSearch::extend(const Range &range, size_t begin, size_t end, Goal goal,
                       double mostBytes) {
  for (int64_t stage = 1; stage <= limits.stages(); ++stage) {
    const double before = best[stage - 1][begin].value;
    if (std::isinf(before))
      continue;
    const auto bytes =
        static_cast<double>(range.keptBytes(limits.slots[stage - 1]) +
                            range.working + costs.always);
    if (bytes > mostBytes)
      continue;
    const double value = goal == Goal::LargestBytes ? std::max(before, bytes)
                         : goal == Goal::LargestWork
                             ? std::max(before, range.work)
                             : before + range.work * range.work;
    if (value < best[stage][end].value)
      best[stage][end] = {value, begin};
  }
}

/// The best cut of which each stage has a trained parameter and no more than
/// `mostWork` and `mostBytes`.
Found CutSearch::find(Goal goal, double mostWork, double mostBytes) {
  best.assign(limits.stages() + 1, std::vector<Best>(count + 1));
  best[0][0].value = 0;
  for (size_t end = 1; end <= count; ++end) {
    Range range(costs, end);
    for (size_t begin = end; begin-- > 0;) {
      range.grow();
      if (range.work > mostWork)
        break;
      if (range.isTrained)
        extend(range, begin, end, goal, mostBytes);
    }
  }
  Found found;
  found.value = best[limits.stages()][count].value;
  if (std::isinf(found.value))
    return found;
  size_t end = count;
  for (int64_t stage = limits.stages(); stage > 1; --stage)
    found.begins.push_back(end = best[stage][end].begin);
  std::reverse(found.begins.begin(), found.begins.end());
  return found;
}

PipelineCut CutSearch::describe(ArrayRef<size_t> begins) const {
  PipelineCut cut;
  cut.begins.assign(begins.begin(), begins.end());
  cut.bytes.assign(limits.places, costs.always);
  SmallVector<int64_t> working(limits.places, 0);
  for (int64_t stage = 0; stage < limits.stages(); ++stage) {
    const size_t begin = stage == 0 ? 0 : begins[stage - 1];
    const size_t end =
        stage + 1 == limits.stages() ? count : size_t(begins[stage]);
    Range range(costs, end);
    for (size_t i = begin; i < end; ++i)
      range.grow();
    const int64_t place = stage % limits.places;
    cut.works.push_back(range.work);
    cut.bytes[place] += range.keptBytes(limits.slots[stage]);
    working[place] = std::max(working[place], range.working);
  }
  for (auto [bytes, most] : llvm::zip_equal(cut.bytes, working))
    bytes += most;
  return cut;
}

//===----------------------------------------------------------------------===//
// Several stages a place
//===----------------------------------------------------------------------===//

/// The score of a cut, the less the better: the bytes above the budget in the
/// largest place, those in all places together, the largest work of a stage,
/// and the squares of all works. Nothing if a stage has no trained parameter.
std::optional<CutSearch::Score>
CutSearch::judge(ArrayRef<size_t> begins) const {
  size_t begin = 0;
  for (int64_t stage = 0; stage < limits.stages(); ++stage) {
    const size_t end = stage + 1 == limits.stages() ? count : begins[stage];
    auto spans = ArrayRef(costs.spans).slice(begin, end - begin);
    if (llvm::none_of(spans, [](const SpanCost &s) { return s.isTrained; }))
      return std::nullopt;
    begin = end;
  }
  const PipelineCut cut = describe(begins);
  int64_t all = 0;
  for (int64_t bytes : cut.bytes)
    all += std::max<int64_t>(bytes - *limits.budget, 0);
  double squares = 0;
  for (double work : cut.works)
    squares += work * work;
  return Score(std::max<int64_t>(cut.largestBytes() - *limits.budget, 0), all,
               *std::max_element(cut.works.begin(), cut.works.end()), squares);
}

/// Neighbours of a cut have one span more in one stage and one less in another,
/// by which all stages between move.
SmallVector<size_t> CutSearch::improve(SmallVector<size_t> begins) const {
  std::optional<Score> score = judge(begins);
  for (bool moved = score.has_value(); moved;) {
    SmallVector<size_t> next;
    for (size_t first = 0; first < begins.size(); ++first)
      for (size_t last = first; last < begins.size(); ++last)
        for (int step : {-1, 1}) {
          SmallVector<size_t> other = begins;
          for (size_t i = first; i <= last; ++i)
            other[i] += step;
          const size_t before = first == 0 ? 0 : other[first - 1];
          const size_t behind =
              last + 1 == other.size() ? count : other[last + 1];
          if (other[first] <= before || other[last] >= behind)
            continue;
          if (auto found = judge(other); found && *found < *score) {
            score = found;
            next = other;
          }
        }
    if ((moved = !next.empty()))
      begins = next;
  }
  return begins;
}

PipelineCut mlir::zero::chooseCut(const PipelineCosts &costs,
                                  const StageLimits &limits) {
  CutSearch search(costs, limits);
  const bool isOneEach = limits.stages() == limits.places;
  double mostBytes = kInfinity;
  if (limits.budget && isOneEach)
    mostBytes =
        std::max(static_cast<double>(*limits.budget),
                 search.find(Goal::LargestBytes, kInfinity, kInfinity).value);
  const Found fastest = search.find(Goal::LargestWork, kInfinity, mostBytes);
  if (std::isinf(fastest.value))
    return {};
  // Sums in another order differ in their last bits.
  constexpr double kRounding = 1 + 1e-9;
  SmallVector<size_t> begins =
      search.find(Goal::Squares, fastest.value * kRounding, mostBytes).begins;
  if (limits.budget && !isOneEach &&
      search.describe(begins).largestBytes() > *limits.budget)
    begins = search.improve(begins);
  return search.describe(begins);
}
