// What tests ask the model of cuBLASLt.
#ifndef ZERO_TEST_DEVICE_BENCH_BLAS_H
#define ZERO_TEST_DEVICE_BENCH_BLAS_H

namespace zrt::bench {

/// Algorithms of every product: the first is what the library takes for the
/// fastest.
inline constexpr int kAlgorithms = 3;

/// The algorithm, from 0, of the last product that this thread of the host
/// queued; -1: there was none.
int lastAlgorithm();

} // namespace zrt::bench

#endif // ZERO_TEST_DEVICE_BENCH_BLAS_H
