//===- OffloadActivations.h - kept activations wait on the host -----------===//
#ifndef ZERO_LIB_TRANSFORMS_OFFLOADACTIVATIONS_H
#define ZERO_LIB_TRANSFORMS_OFFLOADACTIVATIONS_H

#include "mlir/IR/Operation.h"

namespace mlir::zero {

/// A span of the forward pass that is recomputed: its first and last operation,
/// and the first one of the backward pass that is there to recompute it.
struct RecomputedSpan {
  Operation *first, *last, *recomputation;
};

/// Copies to host memory what `spans`, in their order, keep: what the forward
/// pass, before `seed`, makes or reads in them and the backward pass reads, and
/// what their recomputation reads; from where it is made until the end of the
/// span that reads it last. It is copied back while the span after its own is
/// recomputed. What the last of the spans needs stays on the device, since its
/// recomputation comes first; so does what is smaller than `leastBytes`.
/// Returns the number of values.
int64_t offloadActivations(Operation *seed, ArrayRef<RecomputedSpan> spans,
                           int64_t leastBytes);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_OFFLOADACTIVATIONS_H
