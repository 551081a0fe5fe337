#include "KernelUnderTest.h"

std::unique_ptr<zrt::Kernel>
zrt::test::makeKernelUnderTest(const KernelSpec &spec,
                               const KernelContext &context) {
  return makeHostKernel(spec, context);
}

bool zrt::test::countsKernelAllocations() { return true; }
bool zrt::test::usesKernelThreads() { return true; }
