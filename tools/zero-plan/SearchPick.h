//===- SearchPick.h - what a search has found -----------------------------===//
#ifndef ZERO_PLAN_SEARCHPICK_H
#define ZERO_PLAN_SEARCHPICK_H

#include "Search.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Search/PlanSearch.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// "1f1b", "4 chunks": how stages of a pipeline take turns; "-" without any.
std::string describeSchedule(const TrainConfig &config);

/// What speeds are counted in.
struct Unit {
  /// "token" where the model has positions, or "sample".
  std::string name;
  /// How many a sample has.
  int64_t each = 1;
};
Unit unitOf(StepOp model);

/// Units a second of one rank.
double speedOf(const PlannedPoint &point, const Unit &unit);

/// The budgets that are given; without one, what `machine` has beside what a
/// process reserves.
MemoryBudgets budgetsOf(const TrainConfig &base, const Machine &machine);

/// "20.00 GiB a rank", "76.10 GiB a rank, which h100 has", "any memory".
std::string describeBudget(const MemoryBudgets &budgets,
                           const TrainConfig &base, const Machine &machine);

/// "none", "all of 0-5", "cheap of all, 2 together".
std::string describeCheckpoint(const CheckpointConfig &checkpoint);

/// A plan with the settings that a search may choose, as an object.
void writePoint(llvm::json::OStream &json, const PlannedPoint &point);

LogicalResult writeText(StringRef path,
                        llvm::function_ref<void(raw_ostream &)> write);

/// Writes the files that the options ask for of the pick: its trace, picture,
/// page, which has `front` as well, and configuration. Fails where the
/// configuration does not give the pick again.
LogicalResult keepPick(ModelFile &model, const SearchOptions &options,
                       const PlannedPoint &pick, ArrayRef<PlannedPoint> front,
                       const MemoryBudgets &budgets, const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_PLAN_SEARCHPICK_H
