//===- StageSearch.cpp - the fastest plans of one stage -------------------===//

#include "StageSearch.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

/// What a search goes on for: a quarter of what predictions tell apart.
static constexpr double kWorthwhile = kSameTime / 4;

LogicalResult StageSearch::evaluateAll(ArrayRef<Choice> choices) {
  std::vector<Choice> missing;
  std::vector<TrainConfig> configs;
  for (const Choice &choice : choices) {
    if (known.count(choice) || llvm::is_contained(missing, choice))
      continue;
    missing.push_back(choice);
    TrainConfig &config = configs.emplace_back(base);
    for (auto [dimension, value] : llvm::zip_equal(dimensions, choice))
      dimension.values[value](config);
  }
  if (missing.empty())
    return success();
  auto points = plan(configs);
  if (failed(points))
    return failure();
  for (auto [choice, point] : llvm::zip_equal(missing, *points))
    known[choice] = point;
  return success();
}

FailureOr<PlannedPoint> StageSearch::evaluate(const Choice &choice) {
  if (failed(evaluateAll(choice)))
    return failure();
  return known.at(choice);
}

bool StageSearch::isBetter(const PlannedPoint &a, const PlannedPoint &b) const {
  if (budgets.hold(a) != budgets.hold(b))
    return budgets.hold(a);
  if (budgets.holdHost(a) != budgets.holdHost(b))
    return budgets.holdHost(a);
  if (!budgets.hold(a))
    return budgets.needed(a) < budgets.needed(b);
  return std::tie(a.seconds, a.countedBytes) <
         std::tie(b.seconds, b.countedBytes);
}

bool StageSearch::isWorthwhile(const PlannedPoint &a,
                               const PlannedPoint &b) const {
  return isBetter(a, b) &&
         (!budgets.hold(b) || a.seconds < b.seconds * (1 - kWorthwhile));
}

Choice StageSearch::findBest() const {
  auto best = known.begin();
  for (auto it = known.begin(); it != known.end(); ++it)
    if (isBetter(it->second, best->second))
      best = it;
  return best->first;
}

double StageSearch::getBound() const {
  double bound = std::numeric_limits<double>::infinity();
  for (const auto &[choice, point] : known)
    bound = std::min(bound, point.seconds - point.exposed);
  return bound;
}

//===----------------------------------------------------------------------===//
// First plans
//===----------------------------------------------------------------------===//

/// Nothing recomputed or offloaded that the base does not, and sizes with which
/// communication is seldom waited for.
Choice StageSearch::makeRich() const {
  Choice rich;
  for (const Dimension &dimension : dimensions)
    rich.push_back(dimension.beginsRich ? dimension.size() * 3 / 4
                                        : dimension.base);
  return rich;
}

/// The smallest of what should be small.
LogicalResult StageSearch::tryLean() {
  Choice lean;
  for (const Dimension &dimension : dimensions)
    lean.push_back(dimension.lean);
  std::vector<Choice> choices = {lean};
  // Several layers together may keep less, or more.
  for (auto [index, dimension] : llvm::enumerate(dimensions))
    for (unsigned value = dimension.lean;
         dimension.isRecomputation && value < dimension.size(); ++value) {
      choices.push_back(lean);
      choices.back()[index] = value;
    }
  return evaluateAll(choices);
}

LogicalResult StageSearch::enumerate() {
  isComplete = true;
  std::vector<Choice> all;
  Choice choice(dimensions.size(), 0);
  while (true) {
    all.push_back(choice);
    size_t index = 0;
    while (index < choice.size() && ++choice[index] == dimensions[index].size())
      choice[index++] = 0;
    if (index == choice.size())
      return evaluateAll(all);
  }
}

LogicalResult StageSearch::begin() {
  constexpr size_t few = 80;
  size_t combinations = 1;
  for (const Dimension &dimension : dimensions)
    combinations = std::min(combinations, few + 1) * dimension.size();
  if (combinations <= few)
    return enumerate();
  if (failed(evaluate(makeRich())))
    return failure();
  isShort = !fitsAny();
  return isShort ? tryLean() : success();
}

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

/// The values of a dimension that are tried alone: both ends, and some between,
/// `finely` more of them.
static std::vector<unsigned> sample(const Dimension &dimension, bool finely) {
  const unsigned last = dimension.size() - 1;
  const unsigned steps = (dimension.isRecomputation ? 5 : 3) * (finely ? 2 : 1);
  std::vector<unsigned> values;
  for (unsigned step = 0; step <= steps; ++step)
    if (unsigned value = step * last / steps;
        values.empty() || values.back() != value)
      values.push_back(value);
  return values;
}

/// Varies each setting alone. Of values that come to the same, the first one
/// beside the start counts.
FailureOr<std::vector<std::vector<Effect>>>
StageSearch::measure(const Choice &start, bool finely) {
  std::vector<Choice> all = {start};
  std::vector<size_t> moved = {0}; // the dimension of each that varies
  for (auto [index, dimension] : llvm::enumerate(dimensions))
    for (unsigned value : sample(dimension, finely)) {
      all.push_back(start);
      all.back()[index] = value;
      moved.push_back(index);
    }
  if (failed(evaluateAll(all)))
    return failure();
  const PlannedPoint &from = known.at(start);
  std::vector<std::vector<Effect>> effects;
  for (unsigned value : start)
    effects.push_back({{value, 0, 0}});
  for (auto [choice, index] : llvm::drop_begin(llvm::zip_equal(all, moved))) {
    const PlannedPoint &point = known.at(choice);
    Effect effect{choice[index], point.countedBytes - from.countedBytes,
                  point.seconds - from.seconds};
    // What takes more of one and no less of the other is never proposed.
    bool isWorse = llvm::any_of(effects[index], [&](const Effect &other) {
      return other.bytes <= effect.bytes && other.seconds <= effect.seconds;
    });
    if (!isWorse)
      effects[index].push_back(effect);
  }
  return effects;
}

/// Drops what takes no less of anything than another does; leaves the smallest
/// first.
static void keepFront(std::vector<Proposal> &proposals) {
  llvm::sort(proposals, [](const auto &a, const auto &b) {
    return std::tie(a.bytes, a.seconds, a.choice) <
           std::tie(b.bytes, b.seconds, b.choice);
  });
  double fastest = std::numeric_limits<double>::infinity();
  llvm::erase_if(proposals, [&](const auto &proposal) {
    bool isKept = proposal.seconds < fastest;
    fastest = std::min(fastest, proposal.seconds);
    return !isKept;
  });
}

/// The combinations that should fit and that none should beat, the fastest
/// first.
std::vector<Proposal>
StageSearch::propose(const PlannedPoint &from,
                     ArrayRef<std::vector<Effect>> effects) const {
  std::vector<Proposal> proposals = {{from.seconds, from.countedBytes, {}}};
  for (const std::vector<Effect> &own : effects) {
    std::vector<Proposal> next;
    for (const Proposal &proposal : proposals)
      for (const Effect &effect : own) {
        next.push_back(proposal);
        next.back().seconds += effect.seconds;
        next.back().bytes += effect.bytes;
        next.back().choice.push_back(effect.value);
      }
    proposals = std::move(next);
    keepFront(proposals);
  }
  llvm::erase_if(proposals, [&](const Proposal &proposal) {
    return budgets.device != 0 && proposal.bytes > budgets.device;
  });
  std::reverse(proposals.begin(), proposals.end());
  return proposals;
}

LogicalResult StageSearch::climb() {
  constexpr size_t most = 6;
  // Where memory is short, settings pay for each other, value by value.
  bool finely = false;
  while (!isComplete) {
    const Choice start = findBest();
    auto effects = measure(start, finely);
    if (failed(effects))
      return failure();
    std::vector<Proposal> proposals = propose(known.at(start), *effects);
    std::vector<Choice> choices;
    for (const Proposal &proposal : ArrayRef(proposals).take_front(most))
      choices.push_back(proposal.choice);
    if (failed(evaluateAll(choices)))
      return failure();
    if (isWorthwhile(getBest(), known.at(start)))
      continue;
    if (finely || !isShort)
      break;
    finely = true;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One value at a time
//===----------------------------------------------------------------------===//

/// `choice` with one dimension moved; nothing where there is no such value.
std::optional<Choice> StageSearch::move(Choice choice, size_t index,
                                        int step) const {
  unsigned value = choice[index] + step;
  if (value >= dimensions[index].size())
    return std::nullopt;
  choice[index] = value;
  return choice;
}

/// One value further in each dimension; where memory is short, also together
/// with one value more or less of recomputation, which pays for it.
std::vector<Choice> StageSearch::listMoves(const Choice &choice) const {
  std::vector<Choice> moves;
  for (size_t index = 0; index < dimensions.size(); ++index)
    for (int step : {-1, 1}) {
      std::optional<Choice> next = move(choice, index, step);
      if (!next)
        continue;
      moves.push_back(*next);
      for (size_t other = 0; other < dimensions.size(); ++other)
        for (int by : {-1, 1})
          if (isShort && dimensions[other].isRecomputation && other != index)
            if (std::optional<Choice> both = move(*next, other, by))
              moves.push_back(*both);
    }
  return moves;
}

LogicalResult StageSearch::refine() {
  while (!isComplete) {
    const Choice from = findBest();
    for (const Choice &next : listMoves(from)) {
      FailureOr<PlannedPoint> point = evaluate(next);
      if (failed(point))
        return failure();
      if (isWorthwhile(*point, known.at(from)))
        break;
    }
    if (!isWorthwhile(getBest(), known.at(from)))
      break;
  }
  return success();
}

LogicalResult StageSearch::tryRecomputation() {
  const Choice best = findBest();
  std::vector<Choice> choices;
  for (auto [index, dimension] : llvm::enumerate(dimensions))
    for (unsigned value : {dimension.lean / 2, dimension.lean}) {
      if (!dimension.isRecomputation || isComplete)
        continue;
      choices.push_back(best);
      choices.back()[index] = value;
    }
  return evaluateAll(choices);
}

/// Halves what is left below the value until that costs too much.
LogicalResult StageSearch::shrinkOne(Choice &choice, size_t index,
                                     double seconds) {
  unsigned least = 0;
  while (least < choice[index]) {
    Choice next = choice;
    next[index] = (least + choice[index]) / 2;
    FailureOr<PlannedPoint> point = evaluate(next);
    if (failed(point))
      return failure();
    const PlannedPoint &now = known.at(choice);
    if (point->seconds <= seconds && point->countedBytes < now.countedBytes)
      choice = next;
    else
      least = next[index] + 1;
  }
  return success();
}

LogicalResult StageSearch::shrink(double seconds) {
  Choice choice = findBest();
  for (size_t index = 0; index < dimensions.size() && !isComplete; ++index)
    if (!dimensions[index].isRecomputation &&
        failed(shrinkOne(choice, index, seconds)))
      return failure();
  return success();
}
