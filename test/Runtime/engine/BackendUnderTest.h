// The backend that the tests of whole runs are about: the host's, or a
// device's. Which, is decided by the file that the tests are linked with.
#ifndef ZERO_TEST_RUNTIME_ENGINE_BACKENDUNDERTEST_H
#define ZERO_TEST_RUNTIME_ENGINE_BACKENDUNDERTEST_H

#include "engine/Backend.h"

namespace zrt::test {

/// Makes backends whose kernels, functions on host memory, come from
/// `makeKernel`.
BackendMaker backendsUnderTest(KernelMaker makeKernel);

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_ENGINE_BACKENDUNDERTEST_H
