// What all device code shares: element types, packs, sums over a block.
//
// Everything here has a twin on the host with the same arithmetic, so it is
// compiled without contraction: a fused multiply-add is written out.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_DEVICE_CUH
#define ZERO_RUNTIME_KERNELS_CUDA_DEVICE_CUH

#include "kernels/cuda/Launchers.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace zrt::cuda {

/// bf16 as its bits: the roundings are the host's, NaN included.
struct BF16 {
  uint16_t bits;
};

__device__ inline float toFloat(float value) { return value; }
__device__ inline float toFloat(BF16 value) {
  return __uint_as_float(uint32_t(value.bits) << 16);
}
__device__ inline float toFloat(__half value) { return __half2float(value); }

__device__ inline uint16_t highHalf(uint32_t rounded, uint32_t original) {
  const bool nan = (original & 0x7fffffffu) > 0x7f800000u;
  return uint16_t((nan ? original | 0x400000u : rounded) >> 16);
}

/// To nearest, ties to even.
template <typename T> __device__ inline T fromFloat(float value);
template <> __device__ inline float fromFloat<float>(float value) {
  return value;
}
template <> __device__ inline BF16 fromFloat<BF16>(float value) {
  const uint32_t bits = __float_as_uint(value);
  return {highHalf(bits + 0x7fffu + ((bits >> 16) & 1u), bits)};
}
template <> __device__ inline __half fromFloat<__half>(float value) {
  return __float2half_rn(value);
}

/// The rounding of a parameter that follows an f32 master: for bf16 to
/// nearest, ties away from zero.
template <typename T> __device__ inline T fromMaster(float value) {
  return fromFloat<T>(value);
}
template <> __device__ inline BF16 fromMaster<BF16>(float value) {
  const uint32_t bits = __float_as_uint(value);
  return {highHalf(bits + 0x8000u, bits)};
}

__device__ inline bool isNonFinite(float value) {
  return (__float_as_uint(value) & 0x7f800000u) == 0x7f800000u;
}

/// Four neighbours, which one thread moves at once.
inline constexpr int kPack = 4;
template <typename T> struct alignas(sizeof(T) * kPack) Pack {
  T lanes[kPack];
};

/// Elements [i, i + count) of `from`; the others are zero. `whole`: `from` is
/// aligned to packs.
template <typename T>
__device__ inline Pack<T> loadPack(const T *from, int64_t i, int count,
                                   bool whole) {
  if (whole && count == kPack)
    return *reinterpret_cast<const Pack<T> *>(from + i);
  Pack<T> pack = {};
#pragma unroll
  for (int lane = 0; lane < kPack; ++lane)
    if (lane < count)
      pack.lanes[lane] = from[i + lane];
  return pack;
}

template <typename T>
__device__ inline void storePack(T *to, int64_t i, int count, bool whole,
                                 const Pack<T> &pack) {
  if (whole && count == kPack) {
    *reinterpret_cast<Pack<T> *>(to + i) = pack;
    return;
  }
#pragma unroll
  for (int lane = 0; lane < kPack; ++lane)
    if (lane < count)
      to[i + lane] = pack.lanes[lane];
}

/// Calls `body(i, count)` for each pack of `lanes` of [0, elements) that is
/// this thread's.
template <int lanes = kPack, typename Body>
__device__ inline void forEachPack(int64_t elements, Body body) {
  const int64_t packs = (elements + lanes - 1) / lanes;
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t p = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; p < packs;
       p += step) {
    const int64_t i = p * lanes;
    body(i, int(elements - i < lanes ? elements - i : int64_t(lanes)));
  }
}

template <typename T> __device__ inline T shuffleDown(T value, int by) {
  return __shfl_down_sync(0xffffffffu, value, by);
}

struct Sum {
  template <typename T> __device__ static T join(T a, T b) { return a + b; }
};
/// A NaN wins, so that it is seen.
struct Largest {
  __device__ static float join(float a, float b) {
    return a != a ? a : (a > b ? a : b);
  }
};

/// `Join` of all threads' `value`, in an order that blockDim decides, in every
/// thread. blockDim.x is a multiple of 32, at most 1,024. Two calls in a row
/// need nothing in between: who writes in the second has met all who read in
/// the first at a barrier.
template <typename Join, typename T>
__device__ inline T overBlock(T value, T identity) {
  __shared__ T parts[32];
  __shared__ T total;
  for (int by = 16; by; by /= 2)
    value = Join::join(value, shuffleDown(value, by));
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0)
    parts[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = int(threadIdx.x) < warps ? parts[threadIdx.x] : identity;
    for (int by = 16; by; by /= 2)
      value = Join::join(value, shuffleDown(value, by));
    if (threadIdx.x == 0)
      total = value;
  }
  __syncthreads();
  return total;
}

/// Blocks for `items` items a thread each, at most a few waves.
inline unsigned blocksFor(int64_t items, int threads) {
  const int64_t wanted = (items + threads - 1) / threads;
  const int64_t most = int64_t(multiprocessors()) * 16;
  return unsigned(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/// Calls `body` with a value of the element type: float, BF16 or __half.
template <typename Body> inline void withType(DataType type, Body body) {
  switch (type) {
  case DataType::F32:
    return body(float());
  case DataType::BF16:
    return body(BF16());
  case DataType::F16:
    return body(__half());
  default:
    throw std::invalid_argument(std::string("no device code for elements of ") +
                                nameOf(type));
  }
}

/// Whether a pack of `T` may begin at `address`.
template <typename T> inline bool holdsPacks(const void *address) {
  return reinterpret_cast<uintptr_t>(address) % sizeof(Pack<T>) == 0;
}

/// Throws std::runtime_error where the launch of `kernel` failed.
void checkLaunch(const char *kernel);

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_DEVICE_CUH
