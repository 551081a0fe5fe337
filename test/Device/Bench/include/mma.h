// Products of matrices by a warp, of 16 x 16 x 16, as CUDA's <mma.h> has them:
// a lane holds what its eight results need, and adds in the order of k. Which
// results are whose is as little told as on a device.
#ifndef ZERO_TEST_DEVICE_BENCH_MMA_H
#define ZERO_TEST_DEVICE_BENCH_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

#include <type_traits>

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

inline constexpr unsigned kSide = 16, kResults = 8; // a row's half is a lane's

template <typename Use, int m, int n, int k, typename T, typename Layout = void>
class fragment {
  static_assert(m == int(kSide) && n == int(kSide) && k == int(kSide),
                "the bench has fragments of 16 x 16 x 16");
};

/// The row of the lane's results.
template <typename T, typename Layout>
class fragment<matrix_a, 16, 16, 16, T, Layout> {
public:
  float terms[kSide];
};
/// Their columns.
template <typename T, typename Layout>
class fragment<matrix_b, 16, 16, 16, T, Layout> {
public:
  float terms[kSide][kResults];
};
template <> class fragment<accumulator, 16, 16, 16, float> {
public:
  float sums[kResults];
};

BENCH_UNCHECKED inline float valueOf(__half value) {
  return __half2float(value);
}
BENCH_UNCHECKED inline float valueOf(__nv_bfloat16 value) {
  return __uint_as_float(uint32_t(value.bits) << 16);
}

inline unsigned ownRow() {
  return zrt::bench::laneOf(threadIdx, blockDim) * kResults / kSide;
}
inline unsigned ownColumn() {
  return zrt::bench::laneOf(threadIdx, blockDim) * kResults % kSide;
}

/// Where an element is in a matrix of this layout.
template <typename Layout>
inline size_t placeOf(unsigned row, unsigned column, unsigned stride) {
  static_assert(std::is_same_v<Layout, row_major> ||
                std::is_same_v<Layout, col_major>);
  return std::is_same_v<Layout, row_major> ? size_t(row) * stride + column
                                           : size_t(column) * stride + row;
}

template <typename T, typename Layout>
__device__ inline void
load_matrix_sync(fragment<matrix_a, 16, 16, 16, T, Layout> &to, const T *from,
                 unsigned stride, BENCH_HERE) {
  zrt::bench::enterMatrix(from, stride * sizeof(T), file, line);
  for (unsigned k = 0; k < kSide; ++k)
    to.terms[k] = valueOf(from[placeOf<Layout>(ownRow(), k, stride)]);
}
template <typename T, typename Layout>
__device__ inline void
load_matrix_sync(fragment<matrix_b, 16, 16, 16, T, Layout> &to, const T *from,
                 unsigned stride, BENCH_HERE) {
  zrt::bench::enterMatrix(from, stride * sizeof(T), file, line);
  for (unsigned k = 0; k < kSide; ++k)
    for (unsigned j = 0; j < kResults; ++j)
      to.terms[k][j] =
          valueOf(from[placeOf<Layout>(k, ownColumn() + j, stride)]);
}

inline void
store_matrix_sync(float *to,
                  const fragment<accumulator, 16, 16, 16, float> &from,
                  unsigned stride, layout_t layout, BENCH_HERE) {
  zrt::bench::enterMatrix(to, stride * sizeof(float), file, line);
  for (unsigned j = 0; j < kResults; ++j) {
    const unsigned row = ownRow(), column = ownColumn() + j;
    to[layout == mem_row_major ? placeOf<row_major>(row, column, stride)
                               : placeOf<col_major>(row, column, stride)] =
        from.sums[j];
  }
}

BENCH_UNCHECKED inline void
fill_fragment(fragment<accumulator, 16, 16, 16, float> &to, float value) {
  for (float &sum : to.sums)
    sum = value;
}

template <typename Left, typename Right>
BENCH_UNCHECKED inline void
mma_sync(fragment<accumulator, 16, 16, 16, float> &to, const Left &left,
         const Right &right,
         const fragment<accumulator, 16, 16, 16, float> &added, BENCH_HERE) {
  zrt::bench::enterWarp(file, line);
  for (unsigned j = 0; j < kResults; ++j) {
    float sum = added.sums[j];
    for (unsigned k = 0; k < kSide; ++k)
      sum = __builtin_fmaf(left.terms[k], right.terms[k][j], sum);
    to.sums[j] = sum;
  }
}

} // namespace nvcuda::wmma

#endif // ZERO_TEST_DEVICE_BENCH_MMA_H
