// Ranks on CUDA devices.
#ifndef ZERO_RUNTIME_DEVICE_CUDA_CUDABACKEND_H
#define ZERO_RUNTIME_DEVICE_CUDA_CUDABACKEND_H

#include "engine/Backend.h"

namespace zrt {

/// Makes backends whose generated kernels are in `image`, a CUDA image that
/// outlives them; null: there are none. Each rank of a machine takes a GPU of
/// its own, or, where the options say so, shares them with the others.
BackendMaker cudaBackends(const void *image);

/// Who computes attention, as far as is known without a GPU.
std::string cudaAttention();

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_CUDA_CUDABACKEND_H
