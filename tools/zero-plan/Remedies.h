//===- Remedies.h - what to change where no plan fits ---------------------===//
#ifndef ZERO_PLAN_REMEDIES_H
#define ZERO_PLAN_REMEDIES_H

#include "Search.h"

#include "zero/Search/PlanSearch.h"

namespace mlir::zero {

/// Prints, in at most ten lines, what the smallest plan of `model` holds, and
/// what other settings come to, each planned: more ranks, offload, a mesh that
/// cuts the model, settings that the configuration fixes.
void printRemedies(ModelFile &model, const SearchOptions &options,
                   const PlannedPoint &smallest, const MemoryBudgets &budgets,
                   const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_PLAN_REMEDIES_H
