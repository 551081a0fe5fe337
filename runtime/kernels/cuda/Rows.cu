// Norms, softmax and cross entropy: a block takes a row of the last dimension.
#include "kernels/cuda/Device.cuh"

#include <algorithm>
#include <cmath>

using namespace zrt;
using namespace zrt::cuda;

namespace {

/// Calls `body(column)` for this thread's columns of a row.
template <typename Body>
__device__ inline void forEachColumn(int64_t width, Body body) {
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x)
    body(c);
}

/// Most threads of a row. Kernels say so: the compiler would otherwise be free
/// to use more registers than a block of so many has.
constexpr int kRowThreads = 512;
/// Threads of the one block that goes over all rows' losses.
constexpr int kLossThreads = 1024;

/// Threads for rows of `width`.
int threadsFor(int64_t width) {
  int threads = 32;
  while (threads < kRowThreads && threads * 4 < width)
    threads *= 2;
  return threads;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

template <typename T, bool centred>
__global__ void __launch_bounds__(kRowThreads)
    normKernel(int64_t rows, int64_t width, float epsilon, const T *x,
               const T *w, const T *b, T *y, float *mean, float *rstd) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *row = x + r * width;
    float average = 0;
    if (centred) {
      float sum = 0;
      forEachColumn(width, [&](int64_t c) { sum += toFloat(row[c]); });
      average = overBlock<Sum>(sum, 0.0f) / width;
    }
    float squares = 0;
    forEachColumn(width, [&](int64_t c) {
      const float d = toFloat(row[c]) - average;
      squares = fmaf(d, d, squares);
    });
    const float scale =
        1.0f / sqrtf(overBlock<Sum>(squares, 0.0f) / width + epsilon);
    forEachColumn(width, [&](int64_t c) {
      const float normal = (toFloat(row[c]) - average) * scale;
      const float factor = toFloat(w[c]);
      y[r * width + c] = fromFloat<T>(
          centred ? fmaf(normal, factor, toFloat(b[c])) : normal * factor);
    });
    if (threadIdx.x == 0) {
      if (centred)
        mean[r] = average;
      rstd[r] = scale;
    }
  }
}

template <typename T, bool centred>
__global__ void __launch_bounds__(kRowThreads)
    normGradKernel(int64_t rows, int64_t width, const T *dy, const T *x,
                   const T *w, const float *mean, const float *rstd, T *dx) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *xs = x + r * width, *gs = dy + r * width;
    const float average = centred ? mean[r] : 0.0f, scale = rstd[r];
    float sum = 0, product = 0;
    forEachColumn(width, [&](int64_t c) {
      const float scaled = toFloat(gs[c]) * toFloat(w[c]);
      sum += scaled;
      product = fmaf(scaled, (toFloat(xs[c]) - average) * scale, product);
    });
    const float meanSum = centred ? overBlock<Sum>(sum, 0.0f) / width : 0.0f;
    const float meanProduct = overBlock<Sum>(product, 0.0f) / width;
    forEachColumn(width, [&](int64_t c) {
      const float normal = (toFloat(xs[c]) - average) * scale;
      const float scaled = toFloat(gs[c]) * toFloat(w[c]);
      dx[r * width + c] =
          fromFloat<T>((scaled - meanSum - normal * meanProduct) * scale);
    });
  }
}

/// Rows in blocks that follow from their number alone; blocks are added in
/// order. As `ColumnSums` on the host.
struct RowBlocks {
  int64_t rows, blockRows, count;
  explicit RowBlocks(int64_t rows) : rows(rows) {
    constexpr int64_t mostBlocks = 64, fewestRows = 16;
    blockRows = std::max(fewestRows, (rows + mostBlocks - 1) / mostBlocks);
    count = (rows + blockRows - 1) / blockRows;
  }
};

/// Of each block of rows, the sums over them of dy * normal and of dy: a thread
/// a column, partial [block][2][width] ([1] where not centred).
template <typename T, bool centred>
__global__ void weightGradKernel(int64_t rows, int64_t blockRows, int64_t width,
                                 const T *dy, const T *x, const float *mean,
                                 const float *rstd, float *partial) {
  const int64_t c = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= width)
    return;
  const int64_t begin = int64_t(blockIdx.y) * blockRows;
  const int64_t end = begin + blockRows < rows ? begin + blockRows : rows;
  float dw = 0, db = 0;
  for (int64_t r = begin; r < end; ++r) {
    const float g = toFloat(dy[r * width + c]);
    const float normal =
        (toFloat(x[r * width + c]) - (centred ? mean[r] : 0.0f)) * rstd[r];
    dw = fmaf(g, normal, dw);
    db = g + db;
  }
  float *sums = partial + int64_t(blockIdx.y) * width * (centred ? 2 : 1);
  sums[c] = dw;
  if (centred)
    sums[width + c] = db;
}

/// to[c] = the sum over blocks of partial[block * stride + c].
template <typename T>
__global__ void joinKernel(const float *partial, int64_t blocks, int64_t stride,
                           int64_t width, T *to) {
  const int64_t c = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (c >= width)
    return;
  float total = 0;
  for (int64_t block = 0; block < blocks; ++block)
    total += partial[block * stride + c];
  to[c] = fromFloat<T>(total);
}

template <typename T, bool centred>
void runNormGrad(const RowsShape &shape, const void *dy, const void *x,
                 const void *w, const float *mean, const float *rstd, void *dx,
                 void *dw, void *db, void *workspace, cudaStream_t stream) {
  const auto *gs = static_cast<const T *>(dy);
  const auto *xs = static_cast<const T *>(x);
  // First, since dx may take dy's place.
  const RowBlocks blocks(shape.rows);
  constexpr int threads = 128;
  const unsigned columns = unsigned((shape.width + threads - 1) / threads);
  auto *partial = static_cast<float *>(workspace);
  weightGradKernel<T, centred>
      <<<dim3(columns, unsigned(blocks.count)), threads, 0, stream>>>(
          shape.rows, blocks.blockRows, shape.width, gs, xs, mean, rstd,
          partial);
  const int64_t stride = shape.width * (centred ? 2 : 1);
  joinKernel<<<columns, threads, 0, stream>>>(
      partial, blocks.count, stride, shape.width, static_cast<T *>(dw));
  if (centred)
    joinKernel<<<columns, threads, 0, stream>>>(
        partial + shape.width, blocks.count, stride, shape.width,
        static_cast<T *>(db));
  const int rowThreads = threadsFor(shape.width);
  normGradKernel<T, centred>
      <<<blocksFor(shape.rows, 1), rowThreads, 0, stream>>>(
          shape.rows, shape.width, gs, xs, static_cast<const T *>(w), mean,
          rstd, static_cast<T *>(dx));
}

//===----------------------------------------------------------------------===//
// Softmax and cross entropy
//===----------------------------------------------------------------------===//

/// The largest value of a row and the sum of e^(value - largest), in every
/// thread; one read of the row, with sums rescaled where the largest grows.
struct Exponentials {
  float largest, sum;
};
template <typename T>
__device__ Exponentials exponentialsOf(const T *row, int64_t width) {
  float largest = -INFINITY, sum = 0;
  forEachColumn(width, [&](int64_t c) {
    const float value = toFloat(row[c]);
    const float next = Largest::join(value, largest);
    if (next != largest) {
      sum = largest == -INFINITY ? 0.0f : sum * expf(largest - next);
      largest = next;
    }
    sum += largest == -INFINITY ? 0.0f : expf(value - largest);
  });
  const float all = overBlock<Largest>(largest, -INFINITY);
  const float scaled = largest == -INFINITY && all != -INFINITY
                           ? 0.0f
                           : sum * expf(largest - all);
  return {all, overBlock<Sum>(scaled, 0.0f)};
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    softmaxKernel(int64_t rows, int64_t width, const T *x, T *y) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const Exponentials e = exponentialsOf(x + r * width, width);
    const float scale = 1.0f / e.sum;
    forEachColumn(width, [&](int64_t c) {
      y[r * width + c] =
          fromFloat<T>(expf(toFloat(x[r * width + c]) - e.largest) * scale);
    });
  }
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    softmaxGradKernel(int64_t rows, int64_t width, const T *dy, const T *y,
                      T *dx) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *gs = dy + r * width, *ys = y + r * width;
    float product = 0;
    forEachColumn(width, [&](int64_t c) {
      product = fmaf(toFloat(gs[c]), toFloat(ys[c]), product);
    });
    const float sum = overBlock<Sum>(product, 0.0f);
    forEachColumn(width, [&](int64_t c) {
      dx[r * width + c] = fromFloat<T>(toFloat(ys[c]) * (toFloat(gs[c]) - sum));
    });
  }
}

/// lse of each row, and its loss in `losses` (0 where it is ignored).
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    lossKernel(int64_t rows, int64_t width, int ignored, const T *logits,
               const int32_t *targets, float *lse, float *losses,
               Control *control) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T *row = logits + r * width;
    const Exponentials e = exponentialsOf(row, width);
    if (threadIdx.x)
      continue;
    const float whole = e.largest + logf(e.sum);
    lse[r] = whole;
    const int32_t target = targets[r];
    losses[r] = 0;
    if (target == ignored)
      continue;
    if (target < 0 || target >= width)
      atomicExch(&control->outOfRange, 1); // other blocks may do so too
    else
      losses[r] = whole - toFloat(row[target]);
  }
}

/// One block: the mean of the losses that count, in f64.
__global__ void __launch_bounds__(kLossThreads)
    meanLossKernel(int64_t rows, int ignored, const int32_t *targets,
                   const float *losses, float *loss) {
  double sum = 0;
  int64_t counted = 0;
  for (int64_t r = threadIdx.x; r < rows; r += blockDim.x) {
    counted += targets[r] != ignored;
    sum += losses[r];
  }
  sum = overBlock<Sum>(sum, 0.0);
  counted = overBlock<Sum>(counted, int64_t(0));
  if (threadIdx.x == 0)
    *loss = counted ? float(sum / counted) : 0.0f;
}

/// One block: what each row's gradient is multiplied by.
__global__ void __launch_bounds__(kLossThreads)
    lossScaleKernel(int64_t rows, int ignored, const int32_t *targets,
                    const float *dloss, float *scale) {
  int64_t counted = 0;
  for (int64_t r = threadIdx.x; r < rows; r += blockDim.x)
    counted += targets[r] != ignored;
  counted = overBlock<Sum>(counted, int64_t(0));
  if (threadIdx.x == 0)
    *scale = *dloss / counted;
}

/// Each thread reads an element before it writes it, so the result may take
/// the logits' place.
template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    lossGradKernel(int64_t rows, int64_t width, int ignored, const T *logits,
                   const int32_t *targets, const float *lse, const float *scale,
                   T *dlogits) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const int32_t target = targets[r];
    const float shift = lse[r], factor = *scale;
    forEachColumn(width, [&](int64_t c) {
      float value = 0;
      if (target != ignored) {
        const float probability = expf(toFloat(logits[r * width + c]) - shift);
        value = (c == target ? probability - 1.0f : probability) * factor;
      }
      dlogits[r * width + c] = fromFloat<T>(value);
    });
  }
}

} // namespace

void zrt::cuda::norm(const RowsShape &shape, float epsilon, const void *x,
                     const void *w, const void *b, void *y, float *mean,
                     float *rstd, cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    auto kernel = mean ? normKernel<T, true> : normKernel<T, false>;
    kernel<<<blocksFor(shape.rows, 1), threadsFor(shape.width), 0, stream>>>(
        shape.rows, shape.width, epsilon, static_cast<const T *>(x),
        static_cast<const T *>(w), static_cast<const T *>(b),
        static_cast<T *>(y), mean, rstd);
  });
  checkLaunch("norm");
}

size_t zrt::cuda::normGradWorkspace(const RowsShape &shape, bool centred) {
  return RowBlocks(shape.rows).count * shape.width * (centred ? 2 : 1) *
         sizeof(float);
}

void zrt::cuda::normGrad(const RowsShape &shape, const void *dy, const void *x,
                         const void *w, const float *mean, const float *rstd,
                         void *dx, void *dw, void *db, void *workspace,
                         cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    auto run = mean ? runNormGrad<T, true> : runNormGrad<T, false>;
    run(shape, dy, x, w, mean, rstd, dx, dw, db, workspace, stream);
  });
  checkLaunch("norm_grad");
}

void zrt::cuda::softmax(const RowsShape &shape, const void *x, void *y,
                        cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    softmaxKernel<<<blocksFor(shape.rows, 1), threadsFor(shape.width), 0,
                    stream>>>(shape.rows, shape.width,
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
    softmaxGradKernel<<<blocksFor(shape.rows, 1), threadsFor(shape.width), 0,
                        stream>>>(
        shape.rows, shape.width, static_cast<const T *>(dy),
        static_cast<const T *>(y), static_cast<T *>(dx));
  });
  checkLaunch("softmax_grad");
}

size_t zrt::cuda::crossEntropyWorkspace(int64_t rows) {
  return std::max<int64_t>(rows, 1) * sizeof(float);
}

void zrt::cuda::crossEntropy(const RowsShape &shape, int ignored,
                             const void *logits, const int32_t *targets,
                             float *loss, float *lse, void *workspace,
                             Control *control, cudaStream_t stream) {
  auto *losses = static_cast<float *>(workspace);
  if (shape.rows)
    withType(shape.type, [&](auto element) {
      using T = decltype(element);
      lossKernel<<<blocksFor(shape.rows, 1), threadsFor(shape.width), 0,
                   stream>>>(shape.rows, shape.width, ignored,
                             static_cast<const T *>(logits), targets, lse,
                             losses, control);
    });
  meanLossKernel<<<1, kLossThreads, 0, stream>>>(shape.rows, ignored, targets,
                                                 losses, loss);
  checkLaunch("cross_entropy");
}

void zrt::cuda::crossEntropyGrad(const RowsShape &shape, int ignored,
                                 const float *dloss, const void *logits,
                                 const int32_t *targets, const float *lse,
                                 void *dlogits, void *workspace,
                                 cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  auto *scale = static_cast<float *>(workspace);
  lossScaleKernel<<<1, kLossThreads, 0, stream>>>(shape.rows, ignored, targets,
                                                  dloss, scale);
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    lossGradKernel<<<blocksFor(shape.rows, 1), threadsFor(shape.width), 0,
                     stream>>>(shape.rows, shape.width, ignored,
                               static_cast<const T *>(logits), targets, lse,
                               scale, static_cast<T *>(dlogits));
  });
  checkLaunch("cross_entropy_grad");
}
