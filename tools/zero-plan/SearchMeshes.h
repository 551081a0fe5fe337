//===- SearchMeshes.h - the meshes on which a model is fastest ------------===//
#ifndef ZERO_PLAN_SEARCHMESHES_H
#define ZERO_PLAN_SEARCHMESHES_H

#include "Search.h"

namespace mlir::zero {

/// What --mesh is where a search is to choose it.
inline constexpr StringRef kAnyMesh = "auto";

/// Searches, and prints the best plan of each mesh. Fails where no mesh has a
/// plan within the budget.
LogicalResult runMeshSearch(ModelFile &model, const SearchOptions &options);

} // namespace mlir::zero

#endif // ZERO_PLAN_SEARCHMESHES_H
