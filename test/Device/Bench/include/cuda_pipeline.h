// Copies to shared memory that arrive later: see startCopy in ../Block.h.
#ifndef ZERO_TEST_DEVICE_BENCH_CUDA_PIPELINE_H
#define ZERO_TEST_DEVICE_BENCH_CUDA_PIPELINE_H

#include "cuda_runtime.h"

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes) {
  zrt::bench::startCopy(to, from, bytes);
}
inline void __pipeline_commit() { zrt::bench::commitCopies(); }
__attribute__((convergent)) inline void __pipeline_wait_prior(size_t prior,
                                                              BENCH_HERE) {
  zrt::bench::awaitCopies(prior, file, line);
}

#endif // ZERO_TEST_DEVICE_BENCH_CUDA_PIPELINE_H
