//===- SearchReport.h - what searches have found, in words and as JSON ----===//
#ifndef ZERO_PLAN_SEARCHREPORT_H
#define ZERO_PLAN_SEARCHREPORT_H

#include "ResolveSearch.h"
#include "SearchPick.h"

#include <memory>

namespace mlir::zero {

/// A model with micro-batches of some size, and what was found of it.
struct Searched {
  std::unique_ptr<ModelFile> model;
  ResolvedSearch resolved;
  MemoryBudgets budgets;
  SearchResult result;

  Unit getUnit() const {
    return unitOf(*model->get().getOps<StepOp>().begin());
  }
};

/// One line for each of several micro-batches; `best` is one of `all`.
void printMicroBatches(ArrayRef<Searched> all, const Searched &best);

/// What was searched for, and the plans that were found.
void printSearch(const Searched &searched, const Machine &machine);

/// The same as JSON.
void writeSearch(raw_ostream &os, ArrayRef<Searched> all, const Searched &best,
                 const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_PLAN_SEARCHREPORT_H
