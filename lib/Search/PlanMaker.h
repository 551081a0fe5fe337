//===- PlanMaker.h - the plans of a search, made and measured ---*- C++ -*-===//
#ifndef ZERO_LIB_SEARCH_PLANMAKER_H
#define ZERO_LIB_SEARCH_PLANMAKER_H

#include "zero/Search/PlanSearch.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::zero {

/// Runs the passes that `addPasses` adds on the module, without remarks.
FailureOr<OwningOpRef<ModuleOp>>
runPasses(OwningOpRef<ModuleOp> module,
          function_ref<void(OpPassManager &)> addPasses);

/// Plans a model, of which nothing is proved. What a rank computes depends on
/// the mesh and on what is recomputed, not on the stage or on sizes of buckets:
/// it is made once for all configurations that agree on those.
class PlanMaker {
public:
  PlanMaker(ModuleOp model, const Machine &machine)
      : model(model), machine(machine) {}

  FailureOr<PlannedPoint> plan(const TrainConfig &config);
  /// A plan of each configuration, on the threads of the context.
  FailureOr<std::vector<PlannedPoint>> planAll(ArrayRef<TrainConfig> configs);
  /// Frees what it has made.
  void clear() { kernels.clear(); }

private:
  LogicalResult makeKernels(ArrayRef<TrainConfig> configs);
  FailureOr<PlannedPoint> schedule(const TrainConfig &config) const;

  ModuleOp model;
  const Machine &machine;
  /// What a rank computes, by what of a configuration decides about that.
  std::map<std::string, OwningOpRef<ModuleOp>> kernels;
};

} // namespace mlir::zero

#endif // ZERO_LIB_SEARCH_PLANMAKER_H
