//===- CutMoves.h - parts of a dimension as rows ----------------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_CUTMOVES_H
#define ZERO_LIB_TRANSFORMS_CUTMOVES_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// Whether a rank's part is its rows of the outermost dimension, which lie side
/// by side.
bool cutsRows(SliceValueOp slice);

/// The same part, by slices that cut rows, and moves around them.
Value buildFromRows(OpBuilder &builder, SliceValueOp slice);

/// The whole of `parts`, those of all ranks in a dimension in front of those
/// that the result has.
Value buildWhole(OpBuilder &builder, GatherValueOp gather, Value parts);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_CUTMOVES_H
