//===- ActivationLayers.h - the layers of a forward -------------*- C++ -*-===//
//
// Where the forward of `zero.micro` can be cut, and which spans between cuts
// repeat. Nothing here knows what an operation computes: cuts are places where
// few bytes are alive, and spans are alike when their operations bear the same
// names.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_ACTIVATIONLAYERS_H
#define ZERO_ANALYSIS_ACTIVATIONLAYERS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include <cstdint>

namespace mlir::zero {

/// A span of the forward between two cuts, in the block's order.
struct ActivationLayer {
  SmallVector<Operation *> operations;
  /// Bytes that cross from this layer to what follows.
  int64_t borderBytes = 0;
};

/// The operation at which the backward pass of `micro` begins: its
/// `zero.loss_seed` or, in a stage of a pipeline before the last, the first
/// gradient that it receives; null if there is none.
Operation *findBackward(Block &micro);

/// The operations of `micro` in front of its backward pass.
SmallVector<Operation *> getForward(Block &micro);

/// The kind of a span, equal for spans that are alike: the names of its
/// operations, in order.
using SpanKind = SmallVector<StringRef>;

SpanKind describeSpan(ArrayRef<Operation *> span);

/// Spans that repeat: `period` of them, `count` times.
struct Repetition {
  size_t period = 1, count = 1;
  size_t length() const { return period * count; }
};

/// The longest repetition that begins at `first`, of the shortest period. One
/// operation alone has nothing inside to recompute, and makes none.
Repetition findRepetition(ArrayRef<SpanKind> spans, size_t first);

/// The layers of the forward of `micro`, in order; the spans before, between
/// and after them are in none.
///
/// What counts at a cut are the values that depend on both the batch and a
/// parameter, views at their root: positions, masks and converted weights cross
/// many cuts and belong to no layer. A cut is after an operation
///
/// - whose result is the only such value that is still used, or
/// - after which fewer bytes of them are alive than before it, and at most half
///   of the most that is alive on either side before it is fewer still. That
///   finds the layers of a decoder, which all read the encoder's output.
///
/// Spans between cuts that repeat, one or several after another, make the
/// layers: a transformer's block is the repeated pair of its two residual
/// halves. Where no span repeats, each is a layer, but the last one, which ends
/// with the loss.
SmallVector<ActivationLayer> findActivationLayers(Block &micro);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_ACTIVATIONLAYERS_H
