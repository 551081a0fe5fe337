//===- StageSearch.cpp - the fastest plans of one stage -------------------===//

#include "StageSearch.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

FailureOr<PlannedPoint> StageSearch::evaluate(const Choice &choice) {
  auto found = known.find(choice);
  if (found != known.end())
    return found->second;
  TrainConfig config = base;
  for (auto [dimension, value] : llvm::zip_equal(dimensions, choice))
    dimension.values[value](config);
  FailureOr<PlannedPoint> point = plan(config);
  if (succeeded(point))
    known[choice] = *point;
  return point;
}

bool StageSearch::isBetter(const PlannedPoint &a, const PlannedPoint &b) const {
  if (budgets.hold(a) != budgets.hold(b))
    return budgets.hold(a);
  if (budgets.holdHost(a) != budgets.holdHost(b))
    return budgets.holdHost(a);
  if (!budgets.hold(a))
    return a.countedBytes < b.countedBytes;
  return std::tie(a.seconds, a.countedBytes) <
         std::tie(b.seconds, b.countedBytes);
}

/// The smallest of what should be small.
FailureOr<Choice> StageSearch::findLean() {
  Choice lean;
  for (const Dimension &dimension : dimensions)
    lean.push_back(dimension.lean);
  FailureOr<PlannedPoint> smallest = evaluate(lean);
  if (failed(smallest))
    return failure();
  // Several layers together may keep less, or more.
  for (auto [index, dimension] : llvm::enumerate(dimensions))
    for (unsigned value = dimension.lean;
         dimension.isRecomputation && value < dimension.ladder; ++value) {
      Choice choice = lean;
      choice[index] = value;
      FailureOr<PlannedPoint> point = evaluate(choice);
      if (failed(point))
        return failure();
      if (point->countedBytes < smallest->countedBytes) {
        smallest = point;
        lean = choice;
      }
    }
  return lean;
}

/// Varies each setting alone. Of values that come to the same, the first one
/// beside the start counts.
FailureOr<std::vector<std::vector<Effect>>>
StageSearch::measure(const Choice &start) {
  FailureOr<PlannedPoint> from = evaluate(start);
  if (failed(from))
    return failure();
  std::vector<std::vector<Effect>> effects;
  for (auto [index, dimension] : llvm::enumerate(dimensions)) {
    std::vector<Effect> &own = effects.emplace_back();
    own.push_back({start[index], 0, 0});
    // The last value is an extreme that counts.
    unsigned last = dimension.ladder - 1;
    for (unsigned value = 0; value <= last; ++value) {
      if (value % dimension.stride != 0 && value != last)
        continue;
      Choice choice = start;
      choice[index] = value;
      FailureOr<PlannedPoint> point = evaluate(choice);
      if (failed(point))
        return failure();
      Effect effect{value, point->countedBytes - from->countedBytes,
                    point->seconds - from->seconds};
      // What takes more of one and no less of the other is never proposed.
      bool isWorse = llvm::any_of(own, [&](const Effect &other) {
        return other.bytes <= effect.bytes && other.seconds <= effect.seconds;
      });
      if (!isWorse)
        own.push_back(effect);
    }
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

/// The best of the start, of its neighbours and of the first proposals.
FailureOr<Choice> StageSearch::tryProposals(const Choice &start) {
  constexpr size_t most = 16;
  auto effects = measure(start);
  if (failed(effects))
    return failure();
  std::vector<Proposal> proposals = propose(known.at(start), *effects);
  std::vector<Choice> tried;
  for (const Proposal &proposal : ArrayRef(proposals).take_front(most))
    tried.push_back(proposal.choice);
  for (auto [index, own] : llvm::enumerate(*effects))
    for (const Effect &effect : own) {
      tried.push_back(start);
      tried.back()[index] = effect.value;
    }
  Choice best = start;
  for (const Choice &choice : tried) {
    FailureOr<PlannedPoint> point = evaluate(choice);
    if (failed(point))
      return failure();
    if (isBetter(*point, known.at(best)))
      best = choice;
  }
  return best;
}

/// Proposes from the best of what was proposed, until nothing is better.
LogicalResult StageSearch::climb(Choice start) {
  while (true) {
    FailureOr<Choice> best = tryProposals(start);
    if (failed(best))
      return failure();
    if (*best == start)
      return success();
    start = *best;
  }
}

Choice StageSearch::findBest() const {
  auto best = known.begin();
  for (auto it = known.begin(); it != known.end(); ++it)
    if (isBetter(it->second, best->second))
      best = it;
  return best->first;
}

/// `choice` with one dimension moved; nothing where there is no such value.
std::optional<Choice> StageSearch::move(Choice choice, size_t index,
                                        int step) const {
  unsigned value = choice[index] + step;
  if (value >= dimensions[index].ladder)
    return std::nullopt;
  choice[index] = value;
  return choice;
}

/// One value further in each dimension, alone and together with one value more
/// or less of recomputation, which pays for it.
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
          if (dimensions[other].isRecomputation && other != index)
            if (std::optional<Choice> both = move(*next, other, by))
              moves.push_back(*both);
    }
  return moves;
}

/// Moves as long as that improves the plan.
LogicalResult StageSearch::refine(Choice choice) {
  for (bool isMoving = true; isMoving;) {
    isMoving = false;
    for (const Choice &next : listMoves(choice)) {
      FailureOr<PlannedPoint> point = evaluate(next);
      if (failed(point))
        return failure();
      if (!isBetter(*point, known.at(choice)))
        continue;
      choice = next;
      isMoving = true;
      break;
    }
  }
  return success();
}

/// The values between those of the ladder that are beside `value`, or that have
/// it among them.
static std::vector<unsigned> listBetween(const Dimension &dimension,
                                         unsigned value) {
  std::vector<unsigned> listed;
  for (auto [lower, between] : llvm::enumerate(dimension.between))
    if (lower == value || lower + 1 == value ||
        llvm::is_contained(between, value))
      llvm::append_range(listed, between);
  return listed;
}

LogicalResult StageSearch::refineSizes() {
  Choice best = findBest();
  for (bool isMoving = true; isMoving;) {
    isMoving = false;
    for (auto [index, dimension] : llvm::enumerate(dimensions))
      for (unsigned value : listBetween(dimension, best[index])) {
        Choice next = best;
        next[index] = value;
        FailureOr<PlannedPoint> point = evaluate(next);
        if (failed(point))
          return failure();
        if (!isBetter(*point, known.at(best)))
          continue;
        best = next;
        isMoving = true;
      }
  }
  return success();
}

/// Tries all there is on the ladders.
LogicalResult StageSearch::enumerate() {
  Choice choice(dimensions.size(), 0);
  while (true) {
    if (failed(evaluate(choice)))
      return failure();
    size_t index = 0;
    while (index < choice.size() && ++choice[index] == dimensions[index].ladder)
      choice[index++] = 0;
    if (index == choice.size())
      return success();
  }
}

LogicalResult StageSearch::run() {
  constexpr size_t few = 100;
  size_t combinations = 1;
  for (const Dimension &dimension : dimensions)
    combinations = std::min(combinations, few) * dimension.ladder;
  if (combinations <= few)
    return enumerate();
  FailureOr<Choice> lean = findLean();
  if (failed(lean) || failed(climb(*lean)))
    return failure();
  // Where nothing fits, what is smallest is all that counts.
  if (!fitsAny())
    return refine(findBest());
  // Gathering far ahead helps only where much may be live, and so on: what adds
  // up near one start does not near another.
  Choice base, rich = *lean;
  for (auto [index, dimension] : llvm::enumerate(dimensions)) {
    base.push_back(dimension.base);
    if (!dimension.isRecomputation)
      rich[index] = dimension.ladder - 1;
  }
  if (failed(climb(base)) || failed(climb(rich)) || failed(refine(findBest())))
    return failure();
  return climb(findBest());
}
