// Ranges of a profile, which nobody looks at here.
#ifndef ZERO_TEST_DEVICE_BENCH_NVTX3_NVTOOLSEXT_H
#define ZERO_TEST_DEVICE_BENCH_NVTX3_NVTOOLSEXT_H

#include <cstdint>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE sizeof(nvtxEventAttributes_t)

enum nvtxMessageType_t { NVTX_MESSAGE_TYPE_ASCII = 1 };
struct nvtxEventAttributes_t {
  uint16_t version, size;
  nvtxMessageType_t messageType;
  struct {
    const char *ascii;
  } message;
};
using nvtxDomainHandle_t = struct nvtxDomain *;

inline nvtxDomainHandle_t nvtxDomainCreateA(const char *) { return nullptr; }
inline void nvtxDomainDestroy(nvtxDomainHandle_t) {}
inline int nvtxDomainRangePushEx(nvtxDomainHandle_t,
                                 const nvtxEventAttributes_t *) {
  return 0;
}
inline int nvtxDomainRangePop(nvtxDomainHandle_t) { return 0; }

#endif // ZERO_TEST_DEVICE_BENCH_NVTX3_NVTOOLSEXT_H
