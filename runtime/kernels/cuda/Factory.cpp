#include "kernels/cuda/Kernels.h"

#include <stdexcept>

using namespace zrt;

namespace zrt::cuda {
void registerFamilies(Registry &registry);
} // namespace zrt::cuda

void zrt::cuda::check(cudaError_t status, const char *call) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " +
                             cudaGetErrorString(status));
}

void zrt::cuda::check(cublasStatus_t status, const char *call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + ": " +
                             cublasLtGetStatusString(status));
}

zrt::cuda::Table::Table(const std::vector<float> &values) {
  const size_t bytes = values.size() * sizeof(float);
  if (!bytes)
    return;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  check(cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice),
        "cudaMemcpy");
  // From memory that is not pinned it may return before all has arrived.
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

zrt::cuda::Table::~Table() { cudaFree(memory); }

std::unique_ptr<Kernel> zrt::makeCudaKernel(const KernelSpec &spec,
                                            const KernelContext &context) {
  static const Registry registry = [] {
    Registry all;
    cuda::registerFamilies(all);
    registerLinkedKernels(Processor::Cuda, all);
    return all;
  }();
  return registry.make(spec, context);
}
