//===- Drawings.h - the files of --trace and --picture --------------------===//
#ifndef ZERO_PLAN_DRAWINGS_H
#define ZERO_PLAN_DRAWINGS_H

#include "Page.h"

#include "zero/Timeline/Timeline.h"

namespace mlir::zero {

/// Files to write; empty: none.
struct DrawingFiles {
  std::string trace, picture, page;

  bool isEmpty() const {
    return trace.empty() && picture.empty() && page.empty();
  }
};

/// Writes the trace, the picture and the page of `planned`, whose commands run
/// at the times of `timeline`. The page has `front` as well.
LogicalResult writeDrawings(const DrawingFiles &files, ModuleOp planned,
                            const Timeline &timeline, const Machine &machine,
                            ArrayRef<FrontPlan> front = {});

} // namespace mlir::zero

#endif // ZERO_PLAN_DRAWINGS_H
