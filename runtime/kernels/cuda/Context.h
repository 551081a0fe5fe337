// What the CUDA kernels of one rank share, and how failed calls are reported.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_CONTEXT_H
#define ZERO_RUNTIME_KERNELS_CUDA_CONTEXT_H

#include "kernels/Kernel.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>

namespace zrt {

namespace cuda {
class ProductChoices;
} // namespace cuda

/// What `KernelContext::cuda` points to. Kernels queue their work on `stream`.
struct CudaContext {
  cudaStream_t stream = nullptr;
  cublasLtHandle_t blas = nullptr;
  cudaLibrary_t library = nullptr; ///< generated kernels; null: there are none
  /// Which codes of products are the fastest; null: cuBLASLt's first ones run.
  cuda::ProductChoices *products = nullptr;
  std::shared_ptr<void> dnn; ///< cuDNN's handle, once a kernel has wanted it
};

namespace cuda {

/// Throws std::runtime_error with CUDA's text where `status` is an error.
void check(cudaError_t status, const char *call);
void check(cublasStatus_t status, const char *call);

} // namespace cuda

/// Makes the CUDA kernel for `spec`, which queues itself on the stream of
/// `context.cuda`; `context.control` is an address of the device. Throws
/// std::invalid_argument, naming the kernel and the type or attribute that it
/// has no code for.
std::unique_ptr<Kernel> makeCudaKernel(const KernelSpec &spec,
                                       const KernelContext &context);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_CUDA_CONTEXT_H
