#include "BackendUnderTest.h"

#include "engine/HostBackend.h"

zrt::BackendMaker zrt::test::backendsUnderTest(KernelMaker makeKernel) {
  return hostBackends(std::move(makeKernel));
}
