// Layer norm and RMS norm: a row is read once and stays in the registers of a
// warp, or of several warps where it is long.
#include "kernels/cuda/Parts.cuh"
#include "kernels/cuda/Wide.cuh"

#include <algorithm>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kWarp = 32;
/// Warps of a block, and the most of a row.
constexpr int kWarps = 8;
/// Vectors of a row that a thread keeps; of longer rows the rest is read again.
constexpr int kHeld = 4;
/// The same of gradients, which keep two rows and the sums of two: what leaves
/// room for two blocks on a multiprocessor where a row has not all of a block.
template <typename T>
constexpr int kHeldOfGrad = sizeof(T) == sizeof(float) ? 4 : 3;

/// Rows that a block has at once, of `warps` warps each.
template <int warps> constexpr int kRows = kWarps / warps;
constexpr int kThreads = kWarps * kWarp;

/// The sum of `value` over the threads of a row, in each of them. Where a row
/// has several warps, all threads of the block come here together.
template <int warps> __device__ __forceinline__ float overRow(float value) {
  for (int by = kWarp / 2; by; by /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, by);
  if constexpr (warps > 1) {
    __shared__ float parts[kRows<warps>][warps];
    __syncthreads(); // the call before has been read
    if (threadIdx.x % kWarp == 0)
      parts[threadIdx.y][threadIdx.x / kWarp] = value;
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < warps; ++warp)
      value += parts[threadIdx.y][warp];
  }
  return value;
}

/// A thread's part of rows of `width`: vectors 32 * warps apart.
template <typename T, int warps, int held> struct Part {
  static constexpr int kStep = warps * kWarp * kWide<T>;
  int width;
  bool whole;

  /// The column at which the k-th vector begins, and its elements: none below
  /// 0.
  __device__ int columnOf(int k) const {
    return int(threadIdx.x) * kWide<T> + k * kStep;
  }
  __device__ int countAt(int i) const { return wideCount<T>(i, width); }

  __device__ __forceinline__ void hold(const T *row,
                                       Wide<T> (&vectors)[held]) const {
#pragma unroll
    for (int k = 0; k < held; ++k)
      vectors[k] = loadWide(row, columnOf(k), countAt(columnOf(k)), whole);
  }
  /// Calls body(k, i) for the vectors that are held.
  template <typename Body>
  __device__ __forceinline__ void forEachHeld(Body body) const {
#pragma unroll
    for (int k = 0; k < held; ++k)
      if (columnOf(k) < width)
        body(k, columnOf(k));
  }
  /// Calls body(i) for the others.
  template <typename Body>
  __device__ __forceinline__ void forEachOther(Body body) const {
    if constexpr (warps == kWarps)
      for (int i = columnOf(held); i < width; i += kStep)
        body(i);
  }
  /// Calls body(i, values) for all of them.
  template <typename Body>
  __device__ __forceinline__ void
  forEach(const T *row, const Wide<T> (&vectors)[held], Body body) const {
    float values[kWide<T>];
    forEachHeld([&](int k, int i) {
      unpack(vectors[k], values);
      body(i, values);
    });
    forEachOther([&](int i) {
      loadWide(row, i, countAt(i), whole, values);
      body(i, values);
    });
  }
};

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

/// Of one vector, the squares of what differs from `average`.
template <typename T>
__device__ __forceinline__ float squaresOf(const float *values, int count,
                                           float average, float squares) {
  if (count == kWide<T>) {
#pragma unroll
    for (int lane = 0; lane < kWide<T>; ++lane) {
      const float d = values[lane] - average;
      squares = fmaf(d, d, squares);
    }
    return squares;
  }
#pragma unroll
  for (int lane = 0; lane < kWide<T>; ++lane) {
    const float d = lane < count ? values[lane] - average : 0.0f;
    squares = fmaf(d, d, squares);
  }
  return squares;
}

template <typename T>
__device__ __forceinline__ Wide<T> addWide(const Wide<T> &left,
                                           const Wide<T> &right) {
  float a[kWide<T>], b[kWide<T>];
  unpack(left, a);
  unpack(right, b);
#pragma unroll
  for (int lane = 0; lane < kWide<T>; ++lane)
    a[lane] += b[lane];
  return roundWide<T>(a);
}

/// The sum of two rows, rounded, which the thread keeps and stores. What it
/// does not keep it reads again from there. All of what it keeps is on its way
/// before the first store, which may be in the place of either row.
template <typename T, int warps>
__device__ __forceinline__ void holdSum(const Part<T, warps, kHeld> &part,
                                        const T *x, const T *residual, T *sum,
                                        Wide<T> (&held)[kHeld]) {
  Wide<T> others[kHeld];
  part.hold(x, held);
  part.hold(residual, others);
  part.forEachHeld([&](int k, int i) {
    held[k] = addWide(held[k], others[k]);
    storeWide(sum, i, part.countAt(i), part.whole, held[k]);
  });
  part.forEachOther([&](int i) {
    const int count = part.countAt(i);
    storeWide(sum, i, count, part.whole,
              addWide(loadWide(x, i, count, part.whole),
                      loadWide(residual, i, count, part.whole)));
  });
}

/// `adds`: of x + residual, which is stored in `sum`, be it in the place of
/// either.
template <typename T, bool centred, bool adds, int warps>
__global__ void __launch_bounds__(kThreads)
    normKernel(int64_t rows, int width, bool whole, float epsilon, const T *x,
               const T *residual, const T *w, const T *b, T *y, float *mean,
               float *rstd, T *sum) {
  // All threads of a block take the same rounds.
  for (int64_t base = int64_t(blockIdx.x) * kRows<warps>; base < rows;
       base += int64_t(gridDim.x) * kRows<warps>) {
    const int64_t r = base + threadIdx.y;
    const Part<T, warps, kHeld> part = {r < rows ? width : 0, whole};
    const T *row = adds ? sum + r * width : x + r * width;
    Wide<T> held[kHeld];
    if constexpr (adds)
      holdSum(part, x + r * width, residual + r * width, sum + r * width, held);
    else
      part.hold(row, held);
    float average = 0;
    if (centred) {
      float sum = 0;
      part.forEach(row, held, [&](int, const float *values) {
#pragma unroll
        for (int lane = 0; lane < kWide<T>; ++lane)
          sum += values[lane];
      });
      average = overRow<warps>(sum) / width;
    }
    float squares = 0;
    part.forEach(row, held, [&](int i, const float *values) {
      squares = squaresOf<T>(values, part.countAt(i), average, squares);
    });
    const float scale = 1.0f / sqrtf(overRow<warps>(squares) / width + epsilon);
    part.forEach(row, held, [&](int i, const float *values) {
      const int count = part.countAt(i);
      float factor[kWide<T>], offset[kWide<T>], result[kWide<T>];
      loadWide(w, i, count, whole, factor);
      if (centred)
        loadWide(b, i, count, whole, offset);
#pragma unroll
      for (int lane = 0; lane < kWide<T>; ++lane) {
        const float normal = (values[lane] - average) * scale;
        result[lane] = centred ? fmaf(normal, factor[lane], offset[lane])
                               : normal * factor[lane];
      }
      storeWide(y + r * width, i, count, whole, result);
    });
    if (threadIdx.x == 0 && r < rows) {
      if (centred)
        mean[r] = average;
      rstd[r] = scale;
    }
  }
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Rows in blocks that follow from their number alone; blocks are added in
/// order.
struct RowBlocks {
  int64_t blockRows, count;
  explicit RowBlocks(int64_t rows) {
    constexpr int64_t mostBlocks = 256, fewestRows = 16;
    blockRows = std::max(fewestRows, (rows + mostBlocks - 1) / mostBlocks);
    count = (rows + blockRows - 1) / blockRows;
  }
};

/// Of a block of rows, sums over them of dy * normal, and of dy.
struct WeightSums {
  float *dw, *db;

  template <int lanes, bool centred>
  __device__ void load(int i, int count, float *w, float *b) const {
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane)
      if (lane < count) {
        w[lane] = dw[i + lane];
        if (centred)
          b[lane] = db[i + lane];
      }
  }
  template <int lanes, bool centred>
  __device__ void store(int i, int count, const float *w,
                        const float *b) const {
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane)
      if (lane < count) {
        dw[i + lane] = w[lane];
        if (centred)
          db[i + lane] = b[lane];
      }
  }
};

/// The sums of a thread's columns over its rows.
template <typename T, int held> struct HeldSums {
  float dw[held][kWide<T>] = {}, db[held][kWide<T>] = {};
};

/// Adds up the sums of a block's rows, whose threads have the same columns, and
/// stores them.
template <bool centred, int warps, typename T, int held>
__device__ __forceinline__ void
storeSums(int width, const HeldSums<T, held> &mine, WeightSums to) {
  constexpr int lanes = kWide<T>, kinds = centred ? 2 : 1;
  constexpr int columns = warps * kWarp;
  // A row of it is some banks longer than a round of all: reads go down it.
  __shared__ float sums[kinds * lanes][kThreads + kWarp / lanes];
  const int thread = threadIdx.y * columns + threadIdx.x;
#pragma unroll
  for (int k = 0; k < held; ++k) {
    const int first = k * columns * lanes;
    if (first >= width)
      break;
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane) {
      sums[lane][thread] = mine.dw[k][lane];
      if (centred)
        sums[lanes + lane][thread] = mine.db[k][lane];
    }
    __syncthreads();
    for (int i = thread; i < kinds * columns * lanes; i += kThreads) {
      const int kind = i / (columns * lanes), column = i % (columns * lanes);
      if (first + column >= width)
        continue;
      float total = 0;
      for (int row = 0; row < kRows<warps>; ++row)
        total +=
            sums[kind * lanes + column % lanes][row * columns + column / lanes];
      (kind ? to.db : to.dw)[first + column] = total;
    }
    __syncthreads();
  }
}

/// dx, and of each block of rows the sums for dw and db, in partial
/// [block][2][width] ([1] where not centred). A thread reads what it needs of
/// dy, x and dsum before it writes dx there, which may be in the place of any.
/// `adds`: dsum is added to the rounded dx.
template <typename T, bool centred, bool adds, int warps>
__global__ void __launch_bounds__(kThreads, warps < kWarps ? 2 : 1)
    normGradKernel(int64_t rows, int64_t blockRows, int width, bool whole,
                   const T *dy, const T *dsum, const T *x, const T *w,
                   const float *mean, const float *rstd, T *dx,
                   float *partial) {
  constexpr int lanes = kWide<T>, held = kHeldOfGrad<T>;
  const int64_t begin = int64_t(blockIdx.x) * blockRows;
  const int64_t end = begin + blockRows < rows ? begin + blockRows : rows;
  WeightSums sums;
  sums.dw = partial + int64_t(blockIdx.x) * width * (centred ? 2 : 1);
  sums.db = sums.dw + width;
  HeldSums<T, held> mine;
  // All threads of a block take the same rounds.
  for (int64_t base = begin; base < end; base += kRows<warps>) {
    const int64_t r = base + threadIdx.y;
    const bool isRow = r < end;
    const Part<T, warps, held> part = {isRow ? width : 0, whole};
    const T *gs = dy + r * width, *xs = x + r * width;
    Wide<T> heldG[held], heldX[held];
    part.hold(gs, heldG);
    part.hold(xs, heldX);
    const float average = centred && isRow ? mean[r] : 0.0f;
    const float scale = isRow ? rstd[r] : 0.0f;
    float sum = 0, product = 0;
    float g[lanes], values[lanes], factor[lanes];
    // Elements that are not there have g = 0.
    auto add = [&](int i, float *dw, float *db) {
      loadWide(w, i, part.countAt(i), whole, factor);
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane) {
        const float scaled = g[lane] * factor[lane];
        const float normal = (values[lane] - average) * scale;
        sum += scaled;
        product = fmaf(scaled, normal, product);
        dw[lane] = fmaf(g[lane], normal, dw[lane]);
        db[lane] = g[lane] + db[lane];
      }
    };
    part.forEachHeld([&](int k, int i) {
      unpack(heldG[k], g);
      unpack(heldX[k], values);
      add(i, mine.dw[k], mine.db[k]);
    });
    part.forEachOther([&](int i) {
      const int count = part.countAt(i);
      float dw[lanes] = {}, db[lanes] = {};
      if (base > begin)
        sums.template load<lanes, centred>(i, count, dw, db);
      loadWide(gs, i, count, whole, g);
      loadWide(xs, i, count, whole, values);
      add(i, dw, db);
      sums.template store<lanes, centred>(i, count, dw, db);
    });
    const float meanSum = centred ? overRow<warps>(sum) / width : 0.0f;
    const float meanProduct = overRow<warps>(product) / width;
    auto scaleBack = [&](int i) {
      loadWide(w, i, part.countAt(i), whole, factor);
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane) {
        const float normal = (values[lane] - average) * scale;
        const float scaled = g[lane] * factor[lane];
        g[lane] = (scaled - meanSum - normal * meanProduct) * scale;
      }
    };
    part.forEachHeld([&](int k, int i) {
      const int count = part.countAt(i);
      unpack(heldG[k], g);
      unpack(heldX[k], values);
      scaleBack(i);
      if constexpr (adds) {
        // Addends take the registers of x, and no store comes between their
        // loads.
        heldG[k] = roundWide<T>(g);
        heldX[k] = loadWide(dsum + r * width, i, count, whole);
      } else {
        storeWide(dx + r * width, i, count, whole, g);
      }
    });
    if constexpr (adds)
      part.forEachHeld([&](int k, int i) {
        storeWide(dx + r * width, i, part.countAt(i), whole,
                  addWide(heldG[k], heldX[k]));
      });
    part.forEachOther([&](int i) {
      const int count = part.countAt(i);
      loadWide(gs, i, count, whole, g);
      loadWide(xs, i, count, whole, values);
      scaleBack(i);
      Wide<T> result = roundWide<T>(g);
      if constexpr (adds)
        result = addWide(result, loadWide(dsum + r * width, i, count, whole));
      storeWide(dx + r * width, i, count, whole, result);
    });
  }
  storeSums<centred, warps>(width, mine, sums);
}

/// dw and db side by side: the sums over blocks of rows.
template <typename T>
__global__ void __launch_bounds__(kJoined *kSlices)
    joinKernel(const float *partial, int blocks, int64_t width, int64_t columns,
               T *dw, T *db) {
  joinParts<Sum>(partial, blocks, columns, [=](int64_t i, float total) {
    (i < width ? dw[i] : db[i - width]) = fromFloat<T>(total);
  });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Calls body(std::integral_constant<int, warps>()): the fewest warps whose
/// threads hold a row of `width`, `held` vectors each.
template <typename T, typename Body>
void withWarps(int64_t width, int held, Body body) {
  const int64_t ofWarp = kWarp * held * kWide<T>;
  if (width <= ofWarp)
    body(std::integral_constant<int, 1>());
  else if (width <= 4 * ofWarp)
    body(std::integral_constant<int, 4>());
  else
    body(std::integral_constant<int, kWarps>());
}

template <typename T, bool centred, bool adds>
void runNorm(const RowsShape &shape, float epsilon, const void *x,
             const void *residual, const void *w, const void *b, void *y,
             float *mean, float *rstd, void *sum, cudaStream_t stream) {
  withWarps<T>(shape.width, kHeld, [&](auto chosen) {
    constexpr int warps = chosen;
    constexpr int rows = kRows<warps>;
    normKernel<T, centred, adds, warps>
        <<<blocksFor(shape.rows, rows), dim3(warps * kWarp, rows), 0, stream>>>(
            shape.rows, widthOf(shape.width),
            haveWideRows<T>(shape.width, x, residual, w, b, y, sum), epsilon,
            static_cast<const T *>(x), static_cast<const T *>(residual),
            static_cast<const T *>(w), static_cast<const T *>(b),
            static_cast<T *>(y), mean, rstd, static_cast<T *>(sum));
  });
}

template <typename T, bool centred, bool adds>
void runNormGrad(const RowsShape &shape, const void *dy, const void *dsum,
                 const void *x, const void *w, const float *mean,
                 const float *rstd, void *dx, void *dw, void *db,
                 void *workspace, cudaStream_t stream) {
  const RowBlocks blocks(shape.rows);
  auto *partial = static_cast<float *>(workspace);
  withWarps<T>(shape.width, kHeldOfGrad<T>, [&](auto chosen) {
    constexpr int warps = chosen;
    normGradKernel<T, centred, adds, warps>
        <<<unsigned(blocks.count), dim3(warps * kWarp, kRows<warps>), 0,
           stream>>>(shape.rows, blocks.blockRows, widthOf(shape.width),
                     haveWideRows<T>(shape.width, dy, dsum, x, w, dx),
                     static_cast<const T *>(dy), static_cast<const T *>(dsum),
                     static_cast<const T *>(x), static_cast<const T *>(w), mean,
                     rstd, static_cast<T *>(dx), partial);
  });
  const int64_t columns = shape.width * (centred ? 2 : 1);
  joinKernel<<<blocksFor(columns, kJoined), dim3(kJoined, kSlices), 0,
               stream>>>(partial, int(blocks.count), shape.width, columns,
                         static_cast<T *>(dw), static_cast<T *>(db));
}

} // namespace

void zrt::cuda::norm(const RowsShape &shape, float epsilon, const void *x,
                     const void *residual, const void *w, const void *b,
                     void *y, float *mean, float *rstd, void *sum,
                     cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    auto run = residual
                   ? mean ? runNorm<T, true, true> : runNorm<T, false, true>
               : mean ? runNorm<T, true, false>
                      : runNorm<T, false, false>;
    run(shape, epsilon, x, residual, w, b, y, mean, rstd, sum, stream);
  });
  checkLaunch("norm");
}

size_t zrt::cuda::normGradWorkspace(const RowsShape &shape, bool centred) {
  return RowBlocks(shape.rows).count * shape.width * (centred ? 2 : 1) *
         sizeof(float);
}

void zrt::cuda::normGrad(const RowsShape &shape, const void *dy,
                         const void *dsum, const void *x, const void *w,
                         const float *mean, const float *rstd, void *dx,
                         void *dw, void *db, void *workspace,
                         cudaStream_t stream) {
  if (shape.rows == 0)
    return;
  withType(shape.type, [&](auto element) {
    using T = decltype(element);
    auto run =
        dsum   ? mean ? runNormGrad<T, true, true> : runNormGrad<T, false, true>
        : mean ? runNormGrad<T, true, false>
               : runNormGrad<T, false, false>;
    run(shape, dy, dsum, x, w, mean, rstd, dx, dw, db, workspace, stream);
  });
  checkLaunch("norm_grad");
}
