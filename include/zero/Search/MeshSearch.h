//===- MeshSearch.h - the meshes on which a model is fastest ----*- C++ -*-===//
//
// Which axes a number of ranks is best divided into: how many compute one model
// together, and over what it is cut.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_SEARCH_MESHSEARCH_H
#define ZERO_SEARCH_MESHSEARCH_H

#include "zero/Search/PlanSearch.h"

#include <functional>

namespace mlir::zero {

using MeshShape = std::vector<MeshAxisConfig>;

/// The meshes of so many ranks that have a meaning: an axis of samples, and
/// axes that cut the model; that of samples alone first.
std::vector<MeshShape> listMeshes(int64_t ranks);

struct MeshSearchRequest {
  int64_t ranks = 1;
  Machine machine;
  MemoryBudgets budgets;
  /// Resolves the configuration on a mesh, for each stage to try; fails with an
  /// error if it does not go with the mesh.
  std::function<FailureOr<std::vector<TrainConfig>>(const MeshShape &)> resolve;
};

/// Meshes of the same axes that are left out for one reason: the error of the
/// first one.
struct MeshesLeftOut {
  std::vector<MeshShape> meshes;
  std::string reason;
};

struct MeshSearchResult {
  /// The best plan of each mesh, the best of all first. Plans are compared by
  /// samples a second, and where they are not within the budget by bytes.
  std::vector<PlannedPoint> best;
  std::vector<MeshesLeftOut> leftOut;
  /// Meshes with a model on several nodes that are not tried, since more ranks
  /// of a model gained nothing.
  int64_t beyondNodes = 0;
  /// Plans that were made and simulated.
  int64_t planned = 0;
};

/// Samples that all ranks take in a second.
double samplesPerSecond(const PlannedPoint &point);

/// Tries the meshes of an axis of samples and axes that cut the model, of which
/// the compiler says which it can have. The axes that cut are of ranks of a
/// node first; they reach further only where the largest within a node is
/// better than the next smaller one, and as long as that holds. On each mesh,
/// at each stage, the first plan that fits is taken: large buckets before small
/// ones, nothing recomputed before all. Where that is near the best of all,
/// other bucket sizes are tried as well. What the configuration gives stays.
FailureOr<MeshSearchResult> searchMeshes(ModuleOp model,
                                         const MeshSearchRequest &request);

} // namespace mlir::zero

#endif // ZERO_SEARCH_MESHSEARCH_H
