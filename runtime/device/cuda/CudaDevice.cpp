#include "device/cuda/CudaDevice.h"

#include "kernels/cuda/Context.h"

#include <nvtx3/nvToolsExt.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

using namespace zrt;
using zrt::cuda::check;

namespace {

cudaStream_t stream(Device::Queue queue) {
  return reinterpret_cast<cudaStream_t>(queue);
}
cudaEvent_t event(Device::Event handle) {
  return reinterpret_cast<cudaEvent_t>(handle);
}
cudaGraphExec_t graph(Device::Graph handle) {
  return reinterpret_cast<cudaGraphExec_t>(handle);
}

bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && std::string(value) == "1";
}

class CudaDevice final : public Device {
public:
  explicit CudaDevice(int index) {
    check(cudaSetDevice(index), "cudaSetDevice");
    check(cudaGetDeviceProperties(&properties, index),
          "cudaGetDeviceProperties");
    if (properties.major < 8)
      throw std::runtime_error(
          std::string("the GPU ") + properties.name + " is sm_" +
          std::to_string(properties.major * 10 + properties.minor) +
          "; the kernels are for sm_80 and later");
    nvtx = nvtxDomainCreateA("zero");
  }
  ~CudaDevice() override { nvtxDomainDestroy(nvtx); }

  std::string describe() const override {
    return std::string(properties.name) + ", " +
           std::to_string(properties.multiProcessorCount) + " multiprocessors";
  }
  uint64_t bytesInUse() override {
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return total - free;
  }

  void *allocate(uint64_t bytes, const char *what) override {
    void *address = allocateBytes(bytes, what);
    zero(address, bytes);
    return address;
  }
  void *allocateScratch(uint64_t bytes, const char *what) override {
    return leavesScratch ? allocateBytes(bytes, what) : allocate(bytes, what);
  }
  void release(void *address) override { cudaFree(address); }

  void write(void *to, const void *from, size_t bytes) override {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void read(void *to, const void *from, size_t bytes) override {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
  }

  void *allocatePinned(size_t bytes) override {
    void *address = nullptr;
    check(cudaMallocHost(&address, bytes ? bytes : 1), "cudaMallocHost");
    return address;
  }
  void releasePinned(void *address) override { cudaFreeHost(address); }

  Queue makeQueue(bool highPriority) override {
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest),
          "cudaDeviceGetStreamPriorityRange");
    cudaStream_t made = nullptr;
    check(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking,
                                       highPriority ? greatest : least),
          "cudaStreamCreateWithPriority");
    return reinterpret_cast<Queue>(made);
  }
  void destroy(Queue queue) override { cudaStreamDestroy(stream(queue)); }

  Event makeEvent() override {
    cudaEvent_t made = nullptr;
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    return reinterpret_cast<Event>(made);
  }
  Event makeTimer() override {
    cudaEvent_t made = nullptr;
    check(cudaEventCreate(&made), "cudaEventCreate");
    return reinterpret_cast<Event>(made);
  }
  double elapsed(Event from, Event to) override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, event(from), event(to)),
          "cudaEventElapsedTime");
    return double(milliseconds) * 1e-3;
  }
  void destroy(Event handle) override { cudaEventDestroy(event(handle)); }

  void copy(void *to, const void *from, size_t bytes, Queue queue) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream(queue)),
          "cudaMemcpyAsync");
  }
  void callHost(HostCall &call, Queue queue) override {
    const auto run = [](void *called) {
      static_cast<HostCall *>(called)->run();
    };
    check(cudaLaunchHostFunc(stream(queue), run, &call), "cudaLaunchHostFunc");
  }
  void record(Event handle, Queue queue) override {
    check(cudaEventRecord(event(handle), stream(queue)), "cudaEventRecord");
  }
  void wait(Queue queue, Event handle) override {
    check(cudaStreamWaitEvent(stream(queue), event(handle), 0),
          "cudaStreamWaitEvent");
  }
  void synchronize(Queue queue) override {
    check(cudaStreamSynchronize(stream(queue)), "cudaStreamSynchronize");
  }
  void synchronize(Event handle) override {
    check(cudaEventSynchronize(event(handle)), "cudaEventSynchronize");
  }
  bool isDone(Event handle) override {
    const cudaError_t status = cudaEventQuery(event(handle));
    if (status != cudaErrorNotReady) {
      check(status, "cudaEventQuery");
      return true;
    }
    // It stays the last error, and would be the next launch's.
    const cudaError_t last = cudaGetLastError();
    if (last != cudaErrorNotReady)
      check(last, "cudaEventQuery");
    return false;
  }

  void beginCapture(Queue queue) override {
    check(
        cudaStreamBeginCapture(stream(queue), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
  }
  Graph endCapture(Queue queue) override {
    cudaGraph_t captured = nullptr;
    checkGraph(cudaStreamEndCapture(stream(queue), &captured),
               "cudaStreamEndCapture");
    cudaGraphExec_t made = nullptr;
    // Without the flag, all nodes have the priority of the launch's stream.
    const cudaError_t status = cudaGraphInstantiate(
        &made, captured, cudaGraphInstantiateFlagUseNodePriority);
    cudaGraphDestroy(captured);
    checkGraph(status, "cudaGraphInstantiate");
    checkGraph(cudaGraphUpload(made, stream(queue)), "cudaGraphUpload");
    return reinterpret_cast<Graph>(made);
  }
  void abandonCapture(Queue queue) noexcept override {
    cudaGraph_t captured = nullptr;
    cudaStreamEndCapture(stream(queue), &captured);
    if (captured)
      cudaGraphDestroy(captured);
    // The error that ended the capture is reported where it happened.
    cudaGetLastError();
  }
  void launch(Graph handle, Queue queue) override {
    check(cudaGraphLaunch(graph(handle), stream(queue)), "cudaGraphLaunch");
  }
  void destroy(Graph handle) override { cudaGraphExecDestroy(graph(handle)); }

  void beginRange(const char *name) override {
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(nvtx, &attributes);
  }
  void endRange() override { nvtxDomainRangePop(nvtx); }

private:
  static void *allocateBytes(uint64_t bytes, const char *what) {
    void *address = nullptr;
    const cudaError_t status = cudaMalloc(&address, bytes);
    if (status != cudaSuccess) {
      size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      throw std::runtime_error(
          std::string(what) + ": cannot have " + std::to_string(bytes) +
          " bytes of the device's memory (" + std::to_string(free) + " of " +
          std::to_string(total) + " are free): " + cudaGetErrorString(status));
    }
    return address;
  }
  static void zero(void *address, uint64_t bytes) {
    check(cudaMemset(address, 0, bytes), "cudaMemset");
    // A memset may return before it is done, and streams do not wait for it.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  static void checkGraph(cudaError_t status, const char *call) {
    if (status != cudaSuccess)
      throw std::runtime_error(std::string(call) + ": " +
                               cudaGetErrorString(status) +
                               "; the step cannot be one graph here: run with "
                               "--eager");
  }

  /// For initcheck, to which zeros that nobody asked for are writes.
  const bool leavesScratch = isSet("ZERO_UNINITIALIZED");
  cudaDeviceProp properties = {};
  nvtxDomainHandle_t nvtx = nullptr;
};

} // namespace

std::string zrt::addressOfCudaDevice(int index) {
  char address[32] = "";
  check(cudaDeviceGetPCIBusId(address, sizeof(address), index),
        "cudaDeviceGetPCIBusId");
  return address;
}

int zrt::countCudaDevices(std::string &reason) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess)
    reason = cudaGetErrorString(status);
  else if (count == 0)
    reason = "CUDA sees no device";
  return status == cudaSuccess ? count : 0;
}

std::unique_ptr<Device> zrt::makeCudaDevice(int index) {
  std::string reason;
  const int count = countCudaDevices(reason);
  if (count == 0)
    throw std::runtime_error(
        "no GPU to run on: " + reason +
        "; this program was compiled for CUDA: run it on a machine with an "
        "NVIDIA GPU and driver, or compile it again with zero-compile --target "
        "host");
  if (index >= count)
    throw std::runtime_error(
        "rank " + std::to_string(index) +
        " of this machine has no GPU: CUDA "
        "sees " +
        std::to_string(count) +
        "; start fewer ranks here, or share GPUs with --share-gpu");
  return std::make_unique<CudaDevice>(index);
}
