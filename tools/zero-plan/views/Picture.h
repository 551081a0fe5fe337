//===- Picture.h - streams and arenas over time ---------------------------===//
#ifndef ZERO_PLAN_PICTURE_H
#define ZERO_PLAN_PICTURE_H

#include "zero/Timeline/Timeline.h"

namespace mlir::zero {

/// An SVG of the last micro-batch of an update and of its apply region: a lane
/// for each stream, and below them one for each arena, where a buffer is a
/// rectangle from its first to its last use, as high as it is large. Names,
/// sizes and times show under the pointer. Fails where the module cannot be
/// translated.
FailureOr<std::string> drawPlan(ModuleOp planned, const Machine &machine,
                                StringRef title);

} // namespace mlir::zero

#endif // ZERO_PLAN_PICTURE_H
