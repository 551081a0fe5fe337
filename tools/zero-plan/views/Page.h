//===- Page.h - a plan as a page that can be looked into ------------------===//
#ifndef ZERO_PLAN_PAGE_H
#define ZERO_PLAN_PAGE_H

#include "zero/Timeline/Timeline.h"

#include <string>

namespace mlir::zero {

/// A plan among others that a search found.
struct FrontPlan {
  /// "stage 3" and what else was chosen, a line each.
  std::string settings;
  int64_t bytes = 0;
  double seconds = 0;
  bool isPick = false, fits = false;
};

/// The text of a page of HTML, which needs nothing else: streams and memory
/// over time, parameters, traffic and `front`, which can be zoomed, filtered
/// and pointed at. Fails where the module cannot be translated.
FailureOr<std::string> writePage(ModuleOp planned, const Machine &machine,
                                 StringRef title, ArrayRef<FrontPlan> front);

} // namespace mlir::zero

#endif // ZERO_PLAN_PAGE_H
