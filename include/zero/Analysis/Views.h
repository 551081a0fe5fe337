//===- Views.h - values that share another value's memory -----------------===//
#ifndef ZERO_ANALYSIS_VIEWS_H
#define ZERO_ANALYSIS_VIEWS_H

#include "mlir/IR/Value.h"

#include <optional>

namespace mlir::zero {

/// Where a view lies in the value it looks at.
struct View {
  Value source;
  /// Bytes from the source's first element to the view's.
  int64_t offset = 0;
};

/// The view that `op`'s result is of its operand, if both share memory:
/// reshapes, moves of dimensions of one index, casts, slices that are
/// contiguous, `zero.recompute`, `zero.gradient`, and a `zero.load` from a
/// gathered parameter. Nothing for operations that compute.
std::optional<View> getView(Operation *op);

/// Whether `op` gives its one operand's elements where they are, in another
/// shape: reshapes, and transpositions of nothing but dimensions of one index.
bool movesNothing(Operation *op);

/// The value that owns the memory of `value`, through all views.
Value getRoot(Value value);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_VIEWS_H
