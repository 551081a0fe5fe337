// What every softmax starts with.
#ifndef ZERO_RUNTIME_KERNELS_HOST_SOFTMAXROW_H
#define ZERO_RUNTIME_KERNELS_HOST_SOFTMAXROW_H

#include "kernels/Vector.h"
#include "program/LogSumExp.h"

#include <limits>

namespace zrt::host {

/// The largest element of a row; -infinity for an empty one.
template <typename T>
ZERO_INLINE float maximumOfRow(const T *row, int64_t width) {
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  Vector largest = splat(lowest);
  forEachVector(width, [&](Lanes at) {
    largest = larger(largest, at.fill(at.load(row), lowest));
  });
  return maximumOf(largest);
}

/// The sum of e^(row[i] - shift).
template <typename T>
ZERO_INLINE float sumOfExponentials(const T *row, int64_t width, float shift) {
  Vector sum = splat(0);
  forEachVector(width, [&](Lanes at) {
    sum += at.fill(exponential(at.load(row) - shift), 0);
  });
  return sumOf(sum);
}

/// The probability of an element x is e^(x - shift) * scale.
struct RowSoftmax {
  float shift, scale;
};

/// Of a row whose logarithm of the sum of exponentials is `lse`.
template <typename T>
ZERO_INLINE RowSoftmax softmaxOf(const T *row, int64_t width, float lse) {
  if (!losesDigits(lse))
    return {lse, 1.0f};
  const float largest = maximumOfRow(row, width);
  return {largest, 1.0f / sumOfExponentials(row, width, largest)};
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_SOFTMAXROW_H
