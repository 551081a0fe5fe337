// What code that nvcc compiled calls to register and launch kernels, and the
// few of CUDA's functions whose answer is about kernels.
#include "Machine.h"
#include "Modules.h"

#include "../Bench/Runtime.h"

#include <algorithm>
#include <map>

using namespace zrt;
using bench::failed;

namespace {

/// The mangled names of kernels, by the addresses that launches give.
std::map<const void *, std::string> &registered() {
  static std::map<const void *, std::string> names;
  return names;
}

struct Configuration {
  dim3 grid, block;
  size_t sharedBytes = 0;
  cudaStream_t stream = nullptr;
};
thread_local Configuration pushed;

std::vector<char> packed(const ptx::Entry &entry, void *const *arguments) {
  std::vector<char> parameters(entry.parameterBytes);
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    std::memcpy(parameters.data() + entry.parameters[i].offset, arguments[i],
                entry.parameters[i].bytes);
  return parameters;
}

cudaError_t launch(const void *kernel, dim3 grid, dim3 block, void **arguments,
                   size_t sharedBytes, cudaStream_t stream) {
  const auto found = registered().find(kernel);
  if (found == registered().end())
    return failed(cudaErrorInvalidDeviceFunction);
  ptx::Entry &entry = ptx::entryNamed(found->second);
  bench::queueAtOnce(
      stream, [=, &entry, parameters = packed(entry, arguments)] {
        bench::noteLaunch();
        ptx::runGrid(entry, {grid.x, grid.y, grid.z},
                     {block.x, block.y, block.z}, sharedBytes, parameters);
      });
  return cudaSuccess;
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): CUDA's own names.
extern "C" {

void **__cudaRegisterFatBinary(void *) {
  static void *handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int,
                       int) {}
void __cudaRegisterFunction(void **, const char *host, char *,
                            const char *deviceName, int, uint3 *, uint3 *,
                            dim3 *, dim3 *, int *) {
  registered()[host] = deviceName;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes,
                                     cudaStream_t stream) {
  pushed = {grid, block, sharedBytes, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block,
                                       size_t *sharedBytes, void *stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *sharedBytes = pushed.sharedBytes;
  *static_cast<cudaStream_t *>(stream) = pushed.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void *>(host));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                               void **arguments, size_t sharedBytes,
                               cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, sharedBytes, stream);
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block,
                             void **arguments, size_t sharedBytes,
                             cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, sharedBytes, stream);
}

cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int bytes) {
  return bench::allowShared(size_t(bytes)) ? cudaSuccess
                                           : failed(cudaErrorInvalidValue);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                  const void *) {
  *attributes = {};
  attributes->ptxVersion = attributes->binaryVersion = 80;
  attributes->maxThreadsPerBlock = int(bench::kMostThreads);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                          const void *, int,
                                                          size_t) {
  *blocks = 2;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *kernel, int threads, size_t bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads,
                                                       bytes);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  *properties = {};
  properties->major = 8;
  properties->multiProcessorCount = bench::kMultiprocessors;
  return cudaSuccess;
}
cudaError_t cudaPeekAtLastError() { return failed(cudaGetLastError()); }

/// Generated kernels are interpreted by GeneratedMain.cpp.
cudaError_t cudaLibraryLoadData(cudaLibrary_t *, const void *, cudaJitOption *,
                                void **, unsigned, cudaLibraryOption *, void **,
                                unsigned) {
  return failed(cudaErrorNotSupported);
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *, cudaLibrary_t, const char *) {
  return failed(cudaErrorNotSupported);
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }

} // extern "C"
// NOLINTEND(readability-identifier-naming)
