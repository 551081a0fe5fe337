//===- ResolveSearch.h - what the options of a search mean ----------------===//
#ifndef ZERO_PLAN_RESOLVESEARCH_H
#define ZERO_PLAN_RESOLVESEARCH_H

#include "Search.h"

#include <string>
#include <utility>
#include <vector>

namespace mlir::zero {

/// Stages that the configuration cannot have, and why.
using Refusals = SmallVector<std::pair<int64_t, std::string>>;

struct ResolvedSearch {
  /// What the options mean where nothing is searched for.
  TrainConfig base;
  /// The same for each stage to try; at least one.
  std::vector<TrainConfig> stages;
  Refusals refused;
  /// What the options say of states that the search offloads. Without files
  /// where --nvme-path is not given, or no stage to try is above 0.
  OffloadConfig offload;
};

/// Keys of one stage count there alone, so the options are read once for each
/// stage that is open. Says the remarks that hold for all that is tried, once.
FailureOr<ResolvedSearch> resolveSearch(ModelFile &model,
                                        const SearchOptions &options);

} // namespace mlir::zero

#endif // ZERO_PLAN_RESOLVESEARCH_H
