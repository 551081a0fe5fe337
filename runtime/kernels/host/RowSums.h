// Additions of rows beside a norm. They are bitwise equal to the norm and the
// addition apart, which store a tensor between them.
#ifndef ZERO_RUNTIME_KERNELS_HOST_ROWSUMS_H
#define ZERO_RUNTIME_KERNELS_HOST_ROWSUMS_H

#include "kernels/Vector.h"

namespace zrt::host {

/// sum = a + b, which may be in the place of either; returns `sum`.
template <typename T>
ZERO_INLINE const T *addRows(int64_t width, const T *a, const T *b, T *sum) {
  forEachVector(width,
                [&](Lanes at) { at.store(sum, at.load(a) + at.load(b)); });
  return sum;
}

/// Stores `value`, or its sum with what is in `other`, which may be `to`.
template <bool adds, typename T>
ZERO_INLINE void storeSum(Lanes at, T *to, Vector value, const T *other) {
  if constexpr (adds) {
    const Vector addend = at.load(other);
    at.store(to, value);
    value = at.load(to) + addend;
  }
  at.store(to, value);
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_ROWSUMS_H
