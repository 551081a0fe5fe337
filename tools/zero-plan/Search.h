//===- Search.h - the fastest plan in a memory budget ---------------------===//
#ifndef ZERO_PLAN_SEARCH_H
#define ZERO_PLAN_SEARCH_H

#include "Drawings.h"
#include "Model.h"

namespace mlir::zero {

/// What a search is asked for.
struct SearchOptions {
  PlanOptions plan;
  /// Files to write: the pick as a configuration, and the front as JSON. Empty:
  /// none. JSON to '-' prints nothing else.
  std::string configFile, jsonFile;
  /// Where the search may keep optimizer states in files; none: nowhere.
  std::optional<std::string> folder;
  /// The trace and the picture of the pick.
  DrawingFiles drawings;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_SEARCH_H
