// CUDA's bf16, of which only the bits are used.
#ifndef ZERO_TEST_DEVICE_BENCH_CUDA_BF16_H
#define ZERO_TEST_DEVICE_BENCH_CUDA_BF16_H

#include <cstdint>

struct alignas(2) __nv_bfloat16 {
  uint16_t bits;
};

#endif // ZERO_TEST_DEVICE_BENCH_CUDA_BF16_H
