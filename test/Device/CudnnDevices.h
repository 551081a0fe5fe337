// Devices that are not here. cuDNN compiles for them, so tests of it need its
// library and no GPU; the driver is one that does nothing.
#ifndef ZERO_TEST_DEVICE_CUDNNDEVICES_H
#define ZERO_TEST_DEVICE_CUDNNDEVICES_H

#include <cstdint>
#include <string>

namespace zrt::test {

/// A device as cuDNN writes it down.
struct Device {
  int architecture, multiprocessors, sharedBytes, clock, memoryClock, l2Bytes;
  const char *name;

  std::string properties() const {
    auto field = [](const char *key, int64_t value) {
      return std::string("\"") + key + "\":" + std::to_string(value) + ",";
    };
    return "{\"maxGridSize\":[2147483647,65535,65535],"
           "\"maxBlockSize\":[1024,1024,64]," +
           field("regsPerBlock", 65536) + field("warpSize", 32) +
           field("multiProcessorCount", multiprocessors) +
           field("maxSharedMemoryPerBlock", 48 << 10) +
           field("maxSharedMemoryPerBlockOptin", sharedBytes) +
           field("reservedSharedMemoryPerBlock", 1024) +
           field("maxRegistersPerSM", 65536) + field("maxCtasPerSM", 32) +
           field("maxThreadsPerBlock", 1024) + field("maxThreadsPerSM", 2048) +
           field("pciDeviceId", 0) + field("isTccDriver", 0) +
           field("supportCoopLaunch", 1) +
           field("totalGlobalMem", int64_t(80) << 30) +
           field("smClockRateKHz", clock) +
           field("memClockRateKHz", memoryClock) +
           field("l2CacheSize", l2Bytes) + field("cudaDeviceId", 0) +
           field("deviceVer", 10 * architecture) + field("driverVer", 13000) +
           "\"deviceName\":\"" + name + "\"}";
  }
};

inline constexpr Device kDevices[] = {
    {80, 108, 163 << 10, 1410000, 1215000, 40 << 20, "NVIDIA A100-SXM4-80GB"},
    {90, 132, 227 << 10, 1980000, 2619000, 50 << 20, "NVIDIA H100 80GB HBM3"}};

} // namespace zrt::test

#endif // ZERO_TEST_DEVICE_CUDNNDEVICES_H
