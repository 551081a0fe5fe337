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
  /// Called with each configuration; returns what its plan comes to.
  using Planner =
      llvm::function_ref<FailureOr<PlannedPoint>(const TrainConfig &)>;

  StageSearch(const TrainConfig &base, std::vector<Dimension> dimensions,
              const MemoryBudgets &budgets, Planner plan)
      : base(base), dimensions(std::move(dimensions)), budgets(budgets),
        plan(plan) {}

  LogicalResult run();
  /// Tries sizes between those of the ladder around the best plan.
  LogicalResult refineSizes();
  /// The best plan so far.
  const PlannedPoint &getBest() const { return known.at(findBest()); }
  bool fitsAny() const { return budgets.hold(getBest()); }

private:
  FailureOr<PlannedPoint> evaluate(const Choice &choice);
  /// Whether `a` is to be preferred to `b`.
  bool isBetter(const PlannedPoint &a, const PlannedPoint &b) const;
  FailureOr<Choice> findLean();
  FailureOr<std::vector<std::vector<Effect>>> measure(const Choice &start);
  std::vector<Proposal> propose(const PlannedPoint &from,
                                ArrayRef<std::vector<Effect>> effects) const;
  FailureOr<Choice> tryProposals(const Choice &start);
  LogicalResult climb(Choice start);
  std::optional<Choice> move(Choice choice, size_t index, int step) const;
  std::vector<Choice> listMoves(const Choice &choice) const;
  LogicalResult refine(Choice choice);
  LogicalResult enumerate();
  Choice findBest() const;

  TrainConfig base;
  std::vector<Dimension> dimensions;
  MemoryBudgets budgets;
  Planner plan;
  std::map<Choice, PlannedPoint> known;
};

} // namespace mlir::zero

#endif // ZERO_LIB_SEARCH_STAGESEARCH_H
