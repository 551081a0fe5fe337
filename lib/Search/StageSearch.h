//===- StageSearch.h - the fastest plans of one stage -----------*- C++ -*-===//
#ifndef ZERO_LIB_SEARCH_STAGESEARCH_H
#define ZERO_LIB_SEARCH_STAGESEARCH_H

#include "SearchSpace.h"

#include "zero/Search/PlanSearch.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace mlir::zero {

/// One value of each dimension, by index.
using Choice = std::vector<unsigned>;

/// What one value adds to the start, alone.
struct Effect {
  unsigned value;
  int64_t bytes;
  double seconds;
};

/// A combination, with what it should come to if effects added up.
struct Proposal {
  double seconds;
  int64_t bytes;
  Choice choice;
};

/// Plans of one stage, each made once.
class StageSearch {
public:
  /// Called with configurations; returns what the plan of each comes to.
  using Planner = llvm::function_ref<FailureOr<std::vector<PlannedPoint>>(
      ArrayRef<TrainConfig>)>;

  StageSearch(const TrainConfig &base, std::vector<Dimension> dimensions,
              const MemoryBudgets &budgets, Planner plan)
      : base(base), dimensions(std::move(dimensions)), budgets(budgets),
        plan(plan) {}

  /// Makes the first plans: all combinations where they are few; else the one
  /// that should be fastest, and where that does not fit, the smallest.
  LogicalResult begin();
  /// Proposes combinations from the best plan, until none is better by as much
  /// as counts.
  LogicalResult climb();
  /// Moves the best plan by one value at a time.
  LogicalResult refine();
  /// Plans of no more than `seconds` that need less memory than the best.
  LogicalResult shrink(double seconds);
  /// The best plan with more recomputed, for what less memory would cost.
  LogicalResult tryRecomputation();
  /// The best plan so far.
  const PlannedPoint &getBest() const { return known.at(findBest()); }
  bool fitsAny() const { return budgets.hold(getBest()); }
  /// Seconds that no plan of the stage goes much below: in which compute works
  /// where nothing is recomputed and nothing is waited for.
  double getBound() const;

private:
  /// Makes those that are not known, together.
  LogicalResult evaluateAll(ArrayRef<Choice> choices);
  FailureOr<PlannedPoint> evaluate(const Choice &choice);
  /// Whether `a` is to be preferred to `b`.
  bool isBetter(const PlannedPoint &a, const PlannedPoint &b) const;
  /// The same, by more than a search should go on for.
  bool isWorthwhile(const PlannedPoint &a, const PlannedPoint &b) const;
  Choice makeRich() const;
  LogicalResult tryLean();
  LogicalResult enumerate();
  FailureOr<std::vector<std::vector<Effect>>> measure(const Choice &start,
                                                      bool finely);
  std::vector<Proposal> propose(const PlannedPoint &from,
                                ArrayRef<std::vector<Effect>> effects) const;
  std::optional<Choice> move(Choice choice, size_t index, int step) const;
  std::vector<Choice> listMoves(const Choice &choice) const;
  LogicalResult shrinkOne(Choice &choice, size_t index, double seconds);
  Choice findBest() const;

  TrainConfig base;
  std::vector<Dimension> dimensions;
  MemoryBudgets budgets;
  Planner plan;
  std::map<Choice, PlannedPoint> known;
  /// All combinations are known.
  bool isComplete = false;
  /// What should be fastest does not fit.
  bool isShort = false;
};

} // namespace mlir::zero

#endif // ZERO_LIB_SEARCH_STAGESEARCH_H
