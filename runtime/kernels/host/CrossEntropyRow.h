// What kernels of a cross entropy do with a row of logits.
#ifndef ZERO_RUNTIME_KERNELS_HOST_CROSSENTROPYROW_H
#define ZERO_RUNTIME_KERNELS_HOST_CROSSENTROPYROW_H

#include "kernels/host/Host.h"
#include "kernels/host/SoftmaxRow.h"

#include <cmath>
#include <cstring>

namespace zrt::host {

/// The number of targets of `rows` that count. Throws std::out_of_range for one
/// that is neither a class nor ignored.
int64_t countTargets(const int32_t *targets, int64_t rows, int64_t classes,
                     int64_t ignored);

/// The logarithm of the sum of exponentials.
template <typename T> float logSumExp(const T *logits, int64_t width) {
  float shift = maximumOfRow(logits, width);
  return shift + std::log(sumOfExponentials(logits, width, shift));
}

/// The loss of a row that counts, whose logarithm of the sum is `lse`.
template <typename T>
float lossOfRow(const T *logits, int64_t width, int32_t target, float lse) {
  const float own = toFloat(logits[target]);
  if (!losesDigits(lse))
    return lse - own;
  const float shift = maximumOfRow(logits, width);
  return (shift - own) + std::log(sumOfExponentials(logits, width, shift));
}

/// The gradient of a row that counts, times `scale`. The logits may live where
/// the result goes.
template <typename T>
void differentiateRow(const T *logits, int64_t width, int32_t target, float lse,
                      float scale, T *result) {
  const float own = toFloat(logits[target]);
  const RowSoftmax softmax = softmaxOf(logits, width, lse);
  const float factor = softmax.scale * scale;
  forEachVector(width, [&](Lanes at) {
    at.store(result, exponential(at.load(logits) - softmax.shift) * factor);
  });
  const float probability =
      exponential(splat(own - softmax.shift))[0] * softmax.scale;
  result[target] = fromFloat<T>((probability - 1.0f) * scale);
}

/// That of a row that does not, and of padding.
template <typename T> void clearRow(T *result, int64_t width) {
  std::memset(static_cast<void *>(result), 0, width * sizeof(T));
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_CROSSENTROPYROW_H
