// What kernels of a cross entropy do with a row of logits.
#ifndef ZERO_RUNTIME_KERNELS_HOST_CROSSENTROPYROW_H
#define ZERO_RUNTIME_KERNELS_HOST_CROSSENTROPYROW_H

#include "kernels/host/Host.h"
#include "kernels/host/SoftmaxRow.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace zrt::host {

/// The number of targets of `rows` that count. Throws std::out_of_range for one
/// that is neither a class nor ignored.
int64_t countTargets(const int32_t *targets, int64_t rows, int64_t classes,
                     int64_t ignored);

/// What the sum of the losses of rows is divided by: their number, or 1 where
/// the loss is the sum.
inline int64_t divisorOf(bool isSum, int64_t count) {
  return isSum ? 1 : count;
}

/// The classes that a kernel has logits of, of all `classes`.
struct ClassRange {
  int64_t first, count, ignored;

  ClassRange(int64_t first, int64_t width, int64_t classes, int64_t ignored)
      : first(first), count(std::clamp<int64_t>(classes - first, 0, width)),
        ignored(ignored) {}
  /// The column of a target; -1 where another range has it, or it is ignored.
  int64_t columnOf(int32_t target) const {
    const int64_t column = target - first;
    return target != ignored && column >= 0 && column < count ? column : -1;
  }
};

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

/// Of a row of a range, `dlse` times the gradient of its logarithm and, unless
/// `column` is -1, `scale` times that of its loss. The logits may live where
/// the result goes; of a row that gives nothing they are not read.
template <typename T>
void differentiatePartialRow(const T *logits, int64_t width, int64_t column,
                             float lse, float scale, float dlse, T *result) {
  const bool isOwn = column >= 0;
  const float weight = dlse + (isOwn ? scale : 0.0f);
  float probability = 0;
  if (weight == 0) {
    std::memset(static_cast<void *>(result), 0, width * sizeof(T));
  } else {
    const float own = isOwn ? toFloat(logits[column]) : 0;
    const RowSoftmax softmax = softmaxOf(logits, width, lse);
    const float factor = softmax.scale * weight;
    forEachVector(width, [&](Lanes at) {
      at.store(result, exponential(at.load(logits) - softmax.shift) * factor);
    });
    probability = exponential(splat(own - softmax.shift))[0] * softmax.scale;
  }
  if (isOwn)
    result[column] = fromFloat<T>(probability * weight - scale);
}

/// That of a row that does not, and of padding.
template <typename T> void clearRow(T *result, int64_t width) {
  std::memset(static_cast<void *>(result), 0, width * sizeof(T));
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_CROSSENTROPYROW_H
