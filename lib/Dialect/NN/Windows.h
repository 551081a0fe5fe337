//===- Windows.h - windows that convolutions and pooling slide ------------===//
#ifndef ZERO_LIB_DIALECT_NN_WINDOWS_H
#define ZERO_LIB_DIALECT_NN_WINDOWS_H

#include "Verification.h"

namespace mlir::nn::detail {

/// How a window slides over images [N, C, S..]; one entry a spatial dimension.
struct Windows {
  ArrayRef<int64_t> window, strides, padding, dilations;

  /// The number of windows along dimension `i` of `size` elements; with `up`,
  /// the last one may hang over the padding. 0 where there is none.
  int64_t count(unsigned i, int64_t size, bool up) const;
};

/// Images: three to five dimensions.
LogicalResult checkImages(const Checker &check, StringRef name, Value images);

/// `list` has `spatial` entries of at least `least`.
LogicalResult checkList(const Checker &check, StringRef name,
                        ArrayRef<int64_t> list, int64_t spatial, int64_t least);

} // namespace mlir::nn::detail

#endif // ZERO_LIB_DIALECT_NN_WINDOWS_H
