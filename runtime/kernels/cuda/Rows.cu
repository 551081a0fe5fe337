// Softmax and cross entropy: a block takes a row of the last dimension, 16
// bytes a thread at a time.
#include "kernels/cuda/WideRows.cuh"
#include "program/LogSumExp.h"

#include <algorithm>
#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

/// Most threads of a row. Kernels say so: the compiler would otherwise be free
/// to use more registers than a block of so many has.
constexpr int kRowThreads = 512;
/// Threads of the one block that goes over all rows' losses.
constexpr int kLossThreads = 1024;

/// Threads for rows of `width`: about two vectors each, or more.
template <typename T> int threadsFor(int64_t width) {
  int threads = 32;
  while (threads < kRowThreads && int64_t(threads) * 2 * kWide<T> < width)
    threads *= 2;
  return threads;
}

/// The largest value of a row and the sum of e^(value - largest), in every
/// thread; one read of the row, with sums rescaled where the largest grows. A
/// NaN is seen in the sum.
struct Exponentials {
  float largest, sum;
};

/// What is taken off exponents: nothing where all values are -infinity.
__device__ inline float shiftOf(float largest) {
  return largest == -INFINITY ? 0.0f : largest;
}

template <typename T>
__device__ Exponentials exponentialsOf(const T *row, const WideRow<T> &part) {
  float largest = -INFINITY, sum = 0;
  part.template forEach<1>({row}, [&](int i, auto &vectors) {
    float values[kWide<T>];
    unpack(vectors[0], values);
    if (!part.isFull(i))
#pragma unroll
      for (int lane = 0; lane < kWide<T>; ++lane)
        values[lane] = part.has(i + lane) ? values[lane] : -INFINITY;
    float next = largest;
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane)
      next = fmaxf(next, values[lane]);
    const float shift = shiftOf(next);
    if (next != largest) {
      sum *= expf(largest - shift);
      largest = next;
    }
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane)
      sum += expf(values[lane] - shift);
  });
  const float all = overBlock<Largest>(largest, -INFINITY);
  return {all, overBlock<Sum>(sum * expf(largest - shiftOf(all)), 0.0f)};
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    softmaxKernel(int64_t rows, int width, bool whole, const T *x, T *y) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *row = x + r * width;
    const WideRow<T> part = WideRow<T>::of(r, width, width, whole);
    const Exponentials e = exponentialsOf(row, part);
    const float scale = 1.0f / e.sum;
    part.template forEach<1>({row}, [&](int i, auto &vectors) {
      float values[kWide<T>];
      unpack(vectors[0], values);
#pragma unroll
      for (int lane = 0; lane < kWide<T>; ++lane)
        values[lane] = expf(values[lane] - e.largest) * scale;
      part.store(y + r * width, i, values);
    });
  }
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    softmaxGradKernel(int64_t rows, int width, bool whole, const T *dy,
                      const T *y, T *dx) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *both[2] = {dy + r * width, y + r * width};
    const WideRow<T> part = WideRow<T>::of(r, width, width, whole);
    float product = 0;
    part.forEach(both, [&](int, auto &vectors) {
      float g[kWide<T>], p[kWide<T>];
      unpack(vectors[0], g);
      unpack(vectors[1], p);
#pragma unroll
      for (int lane = 0; lane < kWide<T>; ++lane)
        product = fmaf(g[lane], p[lane], product);
    });
    const float sum = overBlock<Sum>(product, 0.0f);
    part.forEach(both, [&](int i, auto &vectors) {
      float g[kWide<T>], p[kWide<T>];
      unpack(vectors[0], g);
      unpack(vectors[1], p);
#pragma unroll
      for (int lane = 0; lane < kWide<T>; ++lane)
        g[lane] = p[lane] * (g[lane] - sum);
      part.store(dx + r * width, i, g);
    });
  }
}

/// The columns of a row that are classes, and where a target is among them.
struct ClassColumns {
  int first, count;

  __device__ ClassColumns(const LossClasses &classes, int width)
      : first(classes.first ? *classes.first : 0),
        count(classes.count - first) {
    count = count < 0 ? 0 : count > width ? width : count;
  }
  /// -1: the row's loss is another range's, or ignored.
  __device__ int columnOf(int32_t target, int ignored) const {
    const int column = target - first;
    return target != ignored && column >= 0 && column < count ? column : -1;
  }
};

/// lse of each row, and its loss in `losses` (0 where it is ignored).
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    lossKernel(int64_t rows, int width, bool whole, LossClasses classes,
               const T *logits, const int32_t *targets, float *lse,
               float *losses, Control *control) {
  const ClassColumns columns(classes, width);
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *row = logits + r * width;
    const Exponentials e =
        exponentialsOf(row, WideRow<T>::of(r, width, columns.count, whole));
    if (threadIdx.x)
      continue;
    const float all = e.largest + logf(e.sum);
    lse[r] = all;
    const int32_t target = targets[r];
    losses[r] = 0;
    if (target == classes.ignored)
      continue;
    if (target < 0 || target >= classes.count)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    const int own = columns.columnOf(target, classes.ignored);
    if (own >= 0)
      losses[r] = losesDigits(all)
                      ? (e.largest - toFloat(row[own])) + logf(e.sum)
                      : all - toFloat(row[own]);
  }
}

/// One block: the mean of the losses that count, or their sum, in f64.
__global__ void __launch_bounds__(kLossThreads)
    meanLossKernel(int64_t rows, LossClasses classes, const int32_t *targets,
                   const float *losses, float *loss) {
  double sum = 0;
  int64_t counted = 0;
  for (int64_t r = threadIdx.x; r < rows; r += blockDim.x) {
    counted += targets[r] != classes.ignored;
    sum += losses[r];
  }
  sum = overBlock<Sum>(sum, 0.0);
  counted = overBlock<Sum>(counted, int64_t(0));
  if (threadIdx.x == 0)
    *loss = classes.isSum ? float(sum) : counted ? float(sum / counted) : 0.0f;
}

/// One block: what each row's gradient is multiplied by.
__global__ void __launch_bounds__(kLossThreads)
    lossScaleKernel(int64_t rows, LossClasses classes, const int32_t *targets,
                    const float *dloss, float *scale) {
  int64_t counted = 0;
  for (int64_t r = threadIdx.x; r < rows; r += blockDim.x)
    counted += targets[r] != classes.ignored;
  counted = overBlock<Sum>(counted, int64_t(0));
  if (threadIdx.x == 0)
    *scale = classes.isSum ? *dloss : *dloss / counted;
}

/// Each thread reads an element before it writes it, so the result may take
/// the logits' place.
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    lossGradKernel(int64_t rows, int width, bool whole, LossClasses classes,
                   const T *logits, const int32_t *targets, const float *lse,
                   const float *scale, const float *dlse, T *dlogits) {
  const ClassColumns columns(classes, width);
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const int target = columns.columnOf(targets[r], classes.ignored);
    // What the row's loss is multiplied by, and what its probabilities are.
    const float factor = target >= 0 ? *scale : 0.0f;
    const float weight = dlse ? dlse[r] + factor : factor;
    // Of a row that gives nothing none is read: its logits may be infinite.
    if (target < 0 && weight == 0.0f) {
      WideRow<T>::of(r, width, width, whole).clear(dlogits + r * width);
      continue;
    }
    const T *row = logits + r * width;
    const WideRow<T> part = WideRow<T>::of(r, width, columns.count, whole);
    float shift = lse[r], share = 1.0f;
    if (losesDigits(shift)) { // in all threads, which wait for one another
      const Exponentials e = exponentialsOf(row, part);
      shift = e.largest;
      share = 1.0f / e.sum;
    }
    part.template forEach<1>({row}, [&](int i, auto &vectors) {
      float values[kWide<T>];
      unpack(vectors[0], values);
#pragma unroll
      for (int lane = 0; lane < kWide<T>; ++lane)
        values[lane] = expf(values[lane] - shift) * share;
      // Without a range, one rounding less: both weigh the same.
      if (!dlse && target >= i && target < i + kWide<T>)
#pragma unroll
        for (int lane = 0; lane < kWide<T>; ++lane)
          values[lane] -= i + lane == target ? 1.0f : 0.0f;
#pragma unroll
      for (int lane = 0; lane < kWide<T>; ++lane)
        values[lane] *= weight;
      if (dlse && target >= i && target < i + kWide<T>)
#pragma unroll
        for (int lane = 0; lane < kWide<T>; ++lane)
          values[lane] -= i + lane == target ? factor : 0.0f;
      part.store(dlogits + r * width, i, values);
    });
    for (int i = columns.count + int(threadIdx.x); i < width;
         i += int(blockDim.x))
      dlogits[r * width + i] = fromFloat<T>(0.0f);
  }
}

} // namespace

void zrt::cuda::softmax(const RowsShape &shape, const void *x, void *y,
                        cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    softmaxKernel<<<blocksFor(shape.rows, 1), threadsFor<T>(shape.width), 0,
                    stream>>>(shape.rows, widthOf(shape.width), areWide(x, y),
                              static_cast<const T *>(x), static_cast<T *>(y));
  });
  checkLaunch("softmax");
}

void zrt::cuda::softmaxGrad(const RowsShape &shape, const void *dy,
                            const void *y, void *dx, cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    softmaxGradKernel<<<blocksFor(shape.rows, 1), threadsFor<T>(shape.width), 0,
                        stream>>>(
        shape.rows, widthOf(shape.width), areWide(dy, y, dx),
        static_cast<const T *>(dy), static_cast<const T *>(y),
        static_cast<T *>(dx));
  });
  checkLaunch("softmax_grad");
}

size_t zrt::cuda::crossEntropyWorkspace(int64_t rows) {
  return std::max<int64_t>(rows, 1) * sizeof(float);
}

void zrt::cuda::lossOfRows(const RowsShape &shape, LossClasses classes,
                           const void *logits, const int32_t *targets,
                           float *lse, float *losses, Control *control,
                           cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    lossKernel<<<blocksFor(shape.rows, 1), threadsFor<T>(shape.width), 0,
                 stream>>>(shape.rows, widthOf(shape.width), areWide(logits),
                           classes, static_cast<const T *>(logits), targets,
                           lse, losses, control);
  });
  checkLaunch("cross_entropy");
}

void zrt::cuda::meanLoss(int64_t rows, LossClasses classes,
                         const int32_t *targets, const float *losses,
                         float *loss, cudaStream_t stream) {
  meanLossKernel<<<1, kLossThreads, 0, stream>>>(rows, classes, targets, losses,
                                                 loss);
  checkLaunch("cross_entropy");
}

void zrt::cuda::lossScale(int64_t rows, LossClasses classes,
                          const int32_t *targets, const float *dloss,
                          float *scale, cudaStream_t stream) {
  lossScaleKernel<<<1, kLossThreads, 0, stream>>>(rows, classes, targets, dloss,
                                                  scale);
  checkLaunch("cross_entropy_grad");
}

void zrt::cuda::lossGradOfRows(const RowsShape &shape, LossClasses classes,
                               const float *scale, const float *dlse,
                               const void *logits, const int32_t *targets,
                               const float *lse, void *dlogits,
                               cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    lossGradKernel<<<blocksFor(shape.rows, 1), threadsFor<T>(shape.width), 0,
                     stream>>>(shape.rows, widthOf(shape.width),
                               areWide(logits, dlogits), classes,
                               static_cast<const T *>(logits), targets, lse,
                               scale, dlse, static_cast<T *>(dlogits));
  });
  checkLaunch("cross_entropy_grad");
}

void zrt::cuda::crossEntropy(const RowsShape &shape, LossClasses classes,
                             const void *logits, const int32_t *targets,
                             float *loss, float *lse, void *workspace,
                             Control *control, cudaStream_t stream) {
  auto *losses = static_cast<float *>(workspace);
  lossOfRows(shape, classes, logits, targets, lse, losses, control, stream);
  meanLoss(shape.rows, classes, targets, losses, loss, stream);
}

void zrt::cuda::crossEntropyGrad(const RowsShape &shape, LossClasses classes,
                                 const float *dloss, const float *dlse,
                                 const void *logits, const int32_t *targets,
                                 const float *lse, void *dlogits,
                                 void *workspace, cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  auto *scale = static_cast<float *>(workspace);
  lossScale(shape.rows, classes, targets, dloss, scale, stream);
  lossGradOfRows(shape, classes, scale, dlse, logits, targets, lse, dlogits,
                 stream);
}
