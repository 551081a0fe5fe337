// Small kernels that are wrong, each in one way.
#ifndef ZERO_TEST_DEVICE_BENCH_WRONGKERNELS_H
#define ZERO_TEST_DEVICE_BENCH_WRONGKERNELS_H

namespace zrt::test::wrong {

/// `to` gets count - 1, ..., 0, through shared memory; at most 256.
void reverse(float *to, int count, bool withoutBarrier);
void diverge(float *to);
void overrunShared(float *to);
void readUnwritten(float *to);
/// Several blocks add to one element.
void count(float *to, bool atomically);
void shuffleBeyond(float *to);
void shuffleDivergent(float *to);
/// Lanes of a warp read what others wrote.
void exchange(float *to, bool ordered);
void manyThreads(float *to, int threads);
void loadVector(float *to, int offsetBytes);
/// 64 elements in reverse, by copies that arrive later.
void copy(const float *from, float *to, bool waits, bool meets);
/// A product of 16 x 16 x 16 by a warp, of a matrix that is `gap` elements
/// behind where a device wants it.
void square(float *to, int gap);

} // namespace zrt::test::wrong

#endif // ZERO_TEST_DEVICE_BENCH_WRONGKERNELS_H
