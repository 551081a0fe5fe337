//===- CudnnLibrary.cpp - cuDNN and NVRTC, where a machine has them -------===//
//
// The functions that cudnn-frontend's headers call, which look for the library
// when they are called first: a program starts without it, and does what own
// kernels do. The linker names what is missing here.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/CudnnChoice.h"

#include <cudnn_graph.h>
#include <nvrtc.h>

#include <cstring>
#include <dlfcn.h>

#define ZERO_TEXT_OF(number) #number
#define ZERO_TEXT(number) ZERO_TEXT_OF(number)

namespace {

/// A shared library that stays loaded, or the reason why it is not.
class Library {
public:
  explicit Library(const char *name) : handle(::dlopen(name, RTLD_NOW)) {
    const char *text = handle ? nullptr : ::dlerror();
    reason = text ? text : "";
  }

  template <typename Function> Function find(const char *name) const {
    return handle ? reinterpret_cast<Function>(::dlsym(handle, name)) : nullptr;
  }

  std::string reason;

private:
  void *handle;
};

const Library &cudnn() {
  static const Library library("libcudnn.so." ZERO_TEXT(CUDNN_MAJOR));
  return library;
}

const Library &nvrtc() {
  static const Library library(ZERO_NVRTC_LIBRARY);
  return library;
}

constexpr char kNotLoaded[] = "cuDNN is not loaded";

} // namespace

std::string zrt::cuda::cudnnPlace() {
  const auto function = cudnn().find<void *>("cudnnGetVersion");
  Dl_info place = {};
  return function && ::dladdr(function, &place) ? place.dli_fname : "";
}

std::string zrt::cuda::cudnnRefusal() { return cudnn().reason; }

#define ZERO_FORWARD(library, missing, result, name, parameters, arguments)    \
  extern "C" result name parameters {                                          \
    static const auto function = library().find<decltype(&::name)>(#name);     \
    return function ? function arguments : missing;                            \
  }

#define ZERO_FORWARD_CUDNN(name, parameters, arguments)                        \
  ZERO_FORWARD(cudnn, CUDNN_STATUS_NOT_INITIALIZED, cudnnStatus_t, name,       \
               parameters, arguments)

ZERO_FORWARD(cudnn, 0, size_t, cudnnGetVersion, (), ())
ZERO_FORWARD(cudnn, kNotLoaded, const char *, cudnnGetErrorString,
             (cudnnStatus_t status), (status))
ZERO_FORWARD(cudnn, void(std::strncpy(message, kNotLoaded, size)), void,
             cudnnGetLastErrorString, (char *message, size_t size),
             (message, size))
ZERO_FORWARD_CUDNN(cudnnCreate, (cudnnHandle_t * handle), (handle))
ZERO_FORWARD_CUDNN(cudnnDestroy, (cudnnHandle_t handle), (handle))
ZERO_FORWARD_CUDNN(cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream),
                   (handle, stream))
ZERO_FORWARD_CUDNN(cudnnGetStream, (cudnnHandle_t handle, cudaStream_t *stream),
                   (handle, stream))
ZERO_FORWARD_CUDNN(cudnnBackendCreateDescriptor,
                   (cudnnBackendDescriptorType_t type,
                    cudnnBackendDescriptor_t *descriptor),
                   (type, descriptor))
ZERO_FORWARD_CUDNN(cudnnBackendDestroyDescriptor,
                   (cudnnBackendDescriptor_t descriptor), (descriptor))
ZERO_FORWARD_CUDNN(cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor),
                   (descriptor))
ZERO_FORWARD_CUDNN(cudnnBackendSetAttribute,
                   (cudnnBackendDescriptor_t descriptor,
                    cudnnBackendAttributeName_t name,
                    cudnnBackendAttributeType_t type, int64_t count,
                    const void *elements),
                   (descriptor, name, type, count, elements))
ZERO_FORWARD_CUDNN(cudnnBackendGetAttribute,
                   (cudnnBackendDescriptor_t const descriptor,
                    cudnnBackendAttributeName_t name,
                    cudnnBackendAttributeType_t type, int64_t requested,
                    int64_t *count, void *elements),
                   (descriptor, name, type, requested, count, elements))
ZERO_FORWARD_CUDNN(cudnnBackendExecute,
                   (cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                    cudnnBackendDescriptor_t variants),
                   (handle, plan, variants))

// Engines of the headers that are not used here compile kernels at run time.
#define ZERO_FORWARD_NVRTC(name, parameters, arguments)                        \
  ZERO_FORWARD(nvrtc, NVRTC_ERROR_INTERNAL_ERROR, nvrtcResult, name,           \
               parameters, arguments)

ZERO_FORWARD_NVRTC(nvrtcCreateProgram,
                   (nvrtcProgram * program, const char *source,
                    const char *name, int count, const char *const *headers,
                    const char *const *names),
                   (program, source, name, count, headers, names))
ZERO_FORWARD_NVRTC(nvrtcDestroyProgram, (nvrtcProgram * program), (program))
ZERO_FORWARD_NVRTC(nvrtcCompileProgram,
                   (nvrtcProgram program, int count,
                    const char *const *options),
                   (program, count, options))
ZERO_FORWARD_NVRTC(nvrtcGetCUBINSize, (nvrtcProgram program, size_t *bytes),
                   (program, bytes))
ZERO_FORWARD_NVRTC(nvrtcGetCUBIN, (nvrtcProgram program, char *cubin),
                   (program, cubin))
ZERO_FORWARD_NVRTC(nvrtcGetProgramLogSize,
                   (nvrtcProgram program, size_t *bytes), (program, bytes))
ZERO_FORWARD_NVRTC(nvrtcGetProgramLog, (nvrtcProgram program, char *log),
                   (program, log))
