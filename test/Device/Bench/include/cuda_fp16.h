// CUDA's half, rounded as the project rounds it on the host.
#ifndef ZERO_TEST_DEVICE_BENCH_CUDA_FP16_H
#define ZERO_TEST_DEVICE_BENCH_CUDA_FP16_H

#include <cstdint>

struct alignas(2) __half {
  uint16_t bits;
};

namespace zrt::bench {
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
} // namespace zrt::bench

inline float __half2float(__half value) {
  return zrt::bench::halfToFloat(value.bits);
}
/// NaNs are canonical, as a device makes them.
inline __half __float2half_rn(float value) {
  return {value != value ? uint16_t(0x7fff) : zrt::bench::floatToHalf(value)};
}

#endif // ZERO_TEST_DEVICE_BENCH_CUDA_FP16_H
