// The kernels that the tests of kernels are about: the host's, or a device's.
// Which, is decided by the file that the tests are linked with.
#ifndef ZERO_TEST_RUNTIME_KERNELS_KERNELUNDERTEST_H
#define ZERO_TEST_RUNTIME_KERNELS_KERNELUNDERTEST_H

#include "kernels/Kernel.h"

namespace zrt::test {

/// A kernel whose `run` takes addresses of the host, wherever it computes;
/// `context.control` is the host's too, and may be null. Throws what the
/// processor's own maker throws.
std::unique_ptr<Kernel> makeKernelUnderTest(const KernelSpec &spec,
                                            const KernelContext &context);

/// Whether `run` must not allocate: a device's copies may.
bool countsKernelAllocations();

/// Whether the number of threads matters: to a device it is nothing.
bool usesKernelThreads();

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_KERNELS_KERNELUNDERTEST_H
