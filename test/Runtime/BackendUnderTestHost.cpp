#include "BackendUnderTest.h"

#include "trainer/HostBackend.h"

zrt::BackendMaker zrt::test::backendsUnderTest(KernelMaker makeKernel) {
  return hostBackends(std::move(makeKernel));
}
