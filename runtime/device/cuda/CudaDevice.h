// A CUDA device.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define ZERO_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "device/Device.h"

namespace zrt {

/// Device number `index` of this process, as CUDA counts; the calling thread
/// uses it from now on, and so must every thread that calls the object. Throws
/// std::runtime_error where there is no driver, no device, or an older one than
/// sm_80: the message says what to do.
std::unique_ptr<Device> makeCudaDevice(int index);

/// The address of a device on the bus, such as "0000:5d:00.0".
std::string addressOfCudaDevice(int index);

/// Devices that this process sees; 0, and why in `reason`, where there is none.
int countCudaDevices(std::string &reason);

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
