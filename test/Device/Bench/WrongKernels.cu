#include "WrongKernels.h"

#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace zrt::test;

namespace {

__global__ void reverseKernel(float *to, int count, bool withoutBarrier) {
  __shared__ float values[256];
  const int i = threadIdx.x;
  values[i] = 0;
  __syncthreads();
  values[i] = float(i);
  if (!withoutBarrier)
    __syncthreads();
  to[i] = values[count - 1 - i];
}

__global__ void divergeKernel(float *to) {
  if (threadIdx.x == 7)
    return;
  __syncthreads();
  to[threadIdx.x] = 0;
}

__global__ void overrunKernel(float *to) {
  extern __shared__ float values[];
  values[threadIdx.x + 1] = 1;
  to[threadIdx.x] = 0;
}

__global__ void unwrittenKernel(float *to) {
  __shared__ float values[64];
  if (threadIdx.x < 63)
    values[threadIdx.x] = 1;
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x];
}

__global__ void countKernel(float *to, bool atomically) {
  if (threadIdx.x)
    return;
  if (atomically)
    atomicAdd(to, 1.0f);
  else
    *to += 1;
}

__global__ void beyondKernel(float *to) {
  to[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1.0f, 16);
}

__global__ void divergentShuffleKernel(float *to) {
  if (threadIdx.x < 16)
    to[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}

__global__ void exchangeKernel(float *to, bool ordered) {
  to[threadIdx.x] = float(threadIdx.x);
  if (ordered)
    __syncwarp();
  else
    __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  const float other = to[threadIdx.x ^ 1];
  __syncwarp();
  to[threadIdx.x] = other;
}

__global__ void manyKernel(float *to) {
  if (threadIdx.x == 0)
    *to = 1;
}

__global__ void vectorKernel(const char *from, uint4 *to) {
  *to = *reinterpret_cast<const uint4 *>(from);
}

__global__ void copyKernel(const float *from, float *to, bool waits,
                           bool meets) {
  __shared__ float values[64];
  const int i = threadIdx.x;
  __pipeline_memcpy_async(values + i, from + i, sizeof(float));
  __pipeline_commit();
  if (waits)
    __pipeline_wait_prior(0);
  if (meets)
    __syncthreads();
  to[i] = values[63 - i];
}

/// The square of the matrix of ones and zeros below the diagonal.
__global__ void squareKernel(float *to, int gap) {
  namespace wmma = nvcuda::wmma;
  struct alignas(32) Halves {
    __half elements[16 * 16 + 8];
  };
  __shared__ Halves matrix;
  for (int i = threadIdx.x; i < 16 * 16; i += 32)
    matrix.elements[gap + i] = __float2half_rn(i / 16 >= i % 16 ? 1.0f : 0.0f);
  __syncwarp();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  wmma::load_matrix_sync(left, matrix.elements + gap, 16);
  wmma::load_matrix_sync(right, matrix.elements + gap, 16);
  wmma::mma_sync(sums, left, right, sums);
  wmma::store_matrix_sync(to, sums, 16, wmma::mem_row_major);
}

} // namespace

void wrong::reverse(float *to, int count, bool withoutBarrier) {
  reverseKernel<<<1, count, 0, nullptr>>>(to, count, withoutBarrier);
}
void wrong::diverge(float *to) { divergeKernel<<<1, 64>>>(to); }
void wrong::overrunShared(float *to) {
  overrunKernel<<<1, 64, 64 * sizeof(float)>>>(to);
}
void wrong::readUnwritten(float *to) { unwrittenKernel<<<1, 64>>>(to); }
void wrong::count(float *to, bool atomically) {
  countKernel<<<2, 32>>>(to, atomically);
}
void wrong::shuffleBeyond(float *to) { beyondKernel<<<1, 24>>>(to); }
void wrong::shuffleDivergent(float *to) {
  divergentShuffleKernel<<<1, 32>>>(to);
}
void wrong::exchange(float *to, bool ordered) {
  exchangeKernel<<<1, 32>>>(to, ordered);
}
void wrong::manyThreads(float *to, int threads) {
  manyKernel<<<1, threads>>>(to);
}
void wrong::loadVector(float *to, int offsetBytes) {
  vectorKernel<<<1, 1>>>(reinterpret_cast<const char *>(to) + offsetBytes,
                         reinterpret_cast<uint4 *>(to));
}
void wrong::copy(const float *from, float *to, bool waits, bool meets) {
  copyKernel<<<1, 64>>>(from, to, waits, meets);
}
void wrong::square(float *to, int gap) { squareKernel<<<1, 32>>>(to, gap); }
