//===- PlanSearch.h - the fastest plan in a memory budget -------*- C++ -*-===//
//
// Chooses what a configuration leaves open: stage, sizes of buckets, what
// stage 3 gathers ahead and keeps, which activations are recomputed, and how
// much of the optimizer states is offloaded.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_SEARCH_PLANSEARCH_H
#define ZERO_SEARCH_PLANSEARCH_H

#include "zero/Config/Config.h"
#include "zero/Cost/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir::zero {

/// A configuration and the bytes and seconds of its plan.
struct PlannedPoint {
  TrainConfig config;
  /// Bytes of all arenas of a rank on its device, in host memory and in files.
  int64_t bytes = 0, hostBytes = 0, fileBytes = 0;
  /// Scratch memory of a GPU's kernels, at most; 0 on machines without GPUs.
  int64_t workspaceBytes = 0;
  /// The part of `hostBytes` that is optimizer states.
  int64_t hostStateBytes = 0;
  /// Bytes that the device's budget has to hold: `bytes`, and, if host memory
  /// has no budget, states that are too small for files.
  int64_t countedBytes = 0;
  /// Predicted seconds of an update, and those of them in which compute waits
  /// for communication, or stages of a pipeline for each other.
  double seconds = 0, exposed = 0;
};

/// Times that differ by a smaller part are the same to a prediction: the mean
/// error beside published runs.
inline constexpr double kSameTime = 0.02;

/// Most bytes of a rank. Nothing is offloaded to host memory without a limit of
/// it, but for what the configuration offloads, and states that are too small
/// for files: those count as the device's.
struct MemoryBudgets {
  int64_t device = 0; ///< 0: any
  int64_t host = 0;   ///< 0: none to choose from, any for what is fixed

  bool holdHost(const PlannedPoint &point) const {
    return host == 0 || point.hostBytes <= host;
  }
  /// Bytes of the device that a plan takes of its budget.
  int64_t needed(const PlannedPoint &point) const {
    return point.countedBytes + point.workspaceBytes;
  }
  bool hold(const PlannedPoint &point) const {
    return (device == 0 || needed(point) <= device) && holdHost(point);
  }
};

/// Most plans that a result shows.
inline constexpr size_t kMostPlans = 10;

struct SearchRequest {
  /// The fixed settings, and first values of the open ones, for each stage to
  /// try, in increasing order. `given` names the keys that are fixed; budgets
  /// are not looked at.
  std::vector<TrainConfig> bases;
  Machine machine;
  MemoryBudgets budgets;
  /// Settings of states that the search offloads: the size of sub-groups, if
  /// that is fixed, and the files that may hold them. Without files they stay
  /// in memory.
  OffloadConfig offload;
  /// Called after each plan with the plans made, for a person who waits.
  std::function<void(int64_t)> onPlan;
};

struct SearchResult {
  /// Plans that tell something: each takes less of the device's budget than the
  /// next, and more time by more than `kSameTime`; the smallest first, at most
  /// `kMostPlans`, in the device's budget or not, all within that of the host.
  std::vector<PlannedPoint> front;
  /// The smallest of those that fit and are as fast as any of them, by
  /// `kSameTime`. Nothing if none fits.
  std::optional<PlannedPoint> pick;
  /// Plans that were made and simulated.
  int64_t planned = 0;
  /// Stages that were left out since what outlives a step exceeds the budget.
  std::vector<int64_t> excludedStages;
  /// Whether some plan left states in host memory that count as the device's.
  bool countsHost = false;
  /// Why no plan has states in the files that were asked for; empty where some
  /// may have.
  std::string whyNotInFiles;
};

/// The stages that a search tries where `base` is what the configuration means:
/// its own where that is given, and all on several ranks.
std::vector<int64_t> getOpenStages(const TrainConfig &base, bool mayOffload);

/// Whether a search may say where optimizer states are, at stages above 0.
bool canChooseOffload(const TrainConfig &base, int64_t stage);

/// Plans `model`, a module with a model, by the pipeline of `config`; nothing
/// is said of it. The module itself does not change.
FailureOr<OwningOpRef<ModuleOp>> planModel(ModuleOp model,
                                           const TrainConfig &config);

/// Measures the bytes and seconds of `planned`, the plan of `config`, on
/// `machine`.
FailureOr<PlannedPoint> measurePlan(ModuleOp planned, const TrainConfig &config,
                                    const Machine &machine);

/// Searches for a model. Of each stage that is open a plan is made that should
/// be fast, and where that does not fit, the smallest. In the stages that can
/// be the fastest, from their best plan on, every open setting is varied alone
/// by a few values, which tells what it costs in bytes and gains in seconds;
/// combinations are proposed as if these added up, the fastest that seem to fit
/// first, and planned, until none is better by as much as counts. The best of
/// all is then moved value by value, and made smaller where that takes no more
/// time. Where a stage has few combinations, all are tried. What ranks compute
/// is made once for all plans that compute the same. Stages of which what
/// outlives a step exceeds the budget are left out. The search counts plans,
/// not time, so its result is the same on every machine. Fails where a plan
/// fails, with its error.
FailureOr<SearchResult> searchPlans(ModuleOp model,
                                    const SearchRequest &request);

} // namespace mlir::zero

#endif // ZERO_SEARCH_PLANSEARCH_H
