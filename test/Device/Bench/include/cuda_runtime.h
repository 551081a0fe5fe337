// CUDA's device language for the host's compiler. See ../Block.h.
#ifndef ZERO_TEST_DEVICE_BENCH_CUDA_RUNTIME_H
#define ZERO_TEST_DEVICE_BENCH_CUDA_RUNTIME_H

#include "../Block.h"
#include "cuda_runtime_api.h"

#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

// Device functions are this file's own: a copy of the same name that another
// file compiled for the host would not be checked.
#define __device__ __attribute__((internal_linkage))
#define __host__
#define __global__ __attribute__((internal_linkage))
#define __forceinline__ inline __attribute__((always_inline))
// One block runs at a time, so that shared memory is static; all of it is in a
// section whose ends are known.
#define __shared__ __attribute__((section("zero_shared"), used)) static

#define threadIdx (::zrt::bench::threadIndex())
#define blockIdx (::zrt::bench::blockIndex())
#define blockDim (::zrt::bench::blockSize())
#define gridDim (::zrt::bench::gridSize())

#define BENCH_UNCHECKED __attribute__((no_sanitize("thread", "undefined")))

namespace zrt::bench {

template <typename Kernel, typename... Arguments>
class KernelCode final : public Code {
public:
  KernelCode(Kernel kernel, Arguments... arguments)
      : kernel(kernel), arguments(arguments...) {}
  void run() const override { std::apply(kernel, arguments); }
  const void *address() const override { return this; }
  size_t bytes() const override { return sizeof(*this); }

private:
  Kernel kernel;
  std::tuple<Arguments...> arguments;
};

/// `kernel<<<grid, block, sharedBytes, stream>>>(arguments)` becomes
/// `Launch(grid, block, sharedBytes, stream)(kernel)(arguments)`.
class Launch {
public:
  Launch(dim3 grid, dim3 block, size_t sharedBytes = 0,
         cudaStream_t stream = nullptr)
      : grid(grid), block(block), sharedBytes(sharedBytes), stream(stream) {}

  template <typename Kernel> auto operator()(Kernel kernel) const {
    return [this, kernel](auto... arguments) {
      queue(std::make_shared<KernelCode<Kernel, decltype(arguments)...>>(
          kernel, arguments...));
    };
  }

private:
  void queue(std::shared_ptr<const Code> code) const;

  dim3 grid, block;
  size_t sharedBytes;
  cudaStream_t stream;
};

template <typename T>
BENCH_UNCHECKED T atomically(T *at, T value, T (*join)(T, T), const char *file,
                             int line) {
  noteAtomic(at, sizeof(T), file, line);
  T old;
  std::memcpy(&old, at, sizeof(T));
  const T next = join(old, value);
  std::memcpy(at, &next, sizeof(T));
  return old;
}

template <typename T>
T shuffleFrom(unsigned mask, T value, unsigned source, const char *file,
              int line) {
  static_assert(sizeof(T) <= 16, "a lane passes 16 bytes at most");
  shuffle(mask, &value, sizeof(T), source, file, line);
  return value;
}

} // namespace zrt::bench

#define BENCH_HERE                                                             \
  const char *file = __builtin_FILE(), int line = __builtin_LINE()

__attribute__((convergent)) inline void __syncthreads(BENCH_HERE) {
  zrt::bench::synchronizeBlock(file, line);
}
__attribute__((convergent)) inline void __syncwarp(unsigned mask = 0xffffffffu,
                                                   BENCH_HERE) {
  zrt::bench::synchronizeWarp(mask, file, line);
}
template <typename T>
__attribute__((convergent)) inline T __shfl_down_sync(unsigned mask, T value,
                                                      unsigned by, BENCH_HERE) {
  return zrt::bench::shuffleFrom(
      mask, value, zrt::bench::laneOf(threadIdx, blockDim) + by, file, line);
}
template <typename T>
__attribute__((convergent)) inline T __shfl_xor_sync(unsigned mask, T value,
                                                     unsigned by, BENCH_HERE) {
  return zrt::bench::shuffleFrom(
      mask, value, zrt::bench::laneOf(threadIdx, blockDim) ^ by, file, line);
}

template <typename T> inline T atomicAdd(T *at, T value, BENCH_HERE) {
  return zrt::bench::atomically<T>(
      at, value, [](T a, T b) { return a + b; }, file, line);
}
template <typename T> inline T atomicMax(T *at, T value, BENCH_HERE) {
  return zrt::bench::atomically<T>(
      at, value, [](T a, T b) { return a > b ? a : b; }, file, line);
}
template <typename T> inline T atomicExch(T *at, T value, BENCH_HERE) {
  return zrt::bench::atomically<T>(
      at, value, [](T, T b) { return b; }, file, line);
}

/// A store of its whole width at once.
template <typename T> __device__ inline void __stwb(T *to, T value) {
  *to = value;
}

inline float __uint_as_float(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}
inline uint32_t __float_as_uint(float value) {
  return __builtin_bit_cast(uint32_t, value);
}

#endif // ZERO_TEST_DEVICE_BENCH_CUDA_RUNTIME_H
