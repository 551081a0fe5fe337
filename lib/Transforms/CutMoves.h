//===- CutMoves.h - parts of a dimension as rows ----------------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_CUTMOVES_H
#define ZERO_LIB_TRANSFORMS_CUTMOVES_H

#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::zero {

/// Whether a rank's part is its rows of the outermost dimension, which lie side
/// by side.
bool cutsRows(SliceValueOp slice);

/// The same part, by slices that cut rows, and moves around them.
Value buildFromRows(OpBuilder &builder, SliceValueOp slice);

/// The whole, of `type`, of `parts` that are cut so: those of all ranks, in a
/// dimension in front.
Value buildWhole(ImplicitLocOpBuilder &builder, CutAttr cut,
                 RankedTensorType type, Value parts);

/// The other way, where it is cut in one piece: `value` as the parts of all
/// ranks, [ranks, ...].
Value buildParts(ImplicitLocOpBuilder &builder, CutAttr cut, Value value);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_CUTMOVES_H
