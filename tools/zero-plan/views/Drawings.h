//===- Drawings.h - the files of --trace and --picture --------------------===//
#ifndef ZERO_PLAN_DRAWINGS_H
#define ZERO_PLAN_DRAWINGS_H

#include "zero/Timeline/Timeline.h"

namespace mlir::zero {

/// Files to write; empty: none.
struct DrawingFiles {
  std::string trace, picture;
};

/// Writes the trace and the picture of `planned`, whose commands run at the
/// times of `timeline`.
LogicalResult writeDrawings(const DrawingFiles &files, ModuleOp planned,
                            const Timeline &timeline, const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_PLAN_DRAWINGS_H
