#include "Runtime.h"

#include "Block.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

using namespace zrt::bench;

using Clock = std::chrono::steady_clock;

struct CUevent_st {
  struct State {
    int64_t done = 0; ///< the last record that was reached
    Clock::time_point time;
  };
  bool isTimer = false;
  bool wasAsked = false; ///< since it was recorded
  int64_t recorded = 0;
  CUgraph_st *capture = nullptr;
  std::shared_ptr<State> state = std::make_shared<State>();

  bool isDone() const { return state->done >= recorded; }
};

namespace {

thread_local cudaError_t lastError = cudaSuccess;
std::atomic<int64_t> launches{0}, handles{0};
/// Those of this thread of the host, which alone works on them.
thread_local std::vector<cudaStream_t> streams;

std::mutex hangsMutex;
std::vector<std::string> hangs;

template <typename T> cudaError_t destroy(T *handle) {
  if (!handle)
    return failed(cudaErrorInvalidResourceHandle);
  delete handle;
  countHandle(-1);
  return cudaSuccess;
}

/// Waits as the host does: for ever, where that is what it waits for.
template <typename Condition> void waitFor(Condition isDone) {
  for (advance(); !isDone(); advance())
    std::this_thread::yield();
}

} // namespace

cudaError_t zrt::bench::failed(cudaError_t status) {
  lastError = status;
  return status;
}

bool zrt::bench::isWhole(const void *address, size_t bytes) {
  return !bytes || isAllocated(address, bytes) || !isAllocated(address, 1);
}

void zrt::bench::queue(cudaStream_t stream, WorkMaker make,
                       std::shared_ptr<void> held) {
  if (!stream)
    return make().run();
  if (!stream->capture) {
    stream->work.push_back(make());
    advance();
    return;
  }
  stream->capture->work.push_back(std::move(make));
  if (held)
    stream->capture->held.push_back(std::move(held));
}

bool zrt::bench::advance() {
  bool moved = true, isEmpty = true;
  while (moved) {
    moved = false;
    isEmpty = true;
    for (cudaStream_t stream : streams) {
      while (!stream->work.empty() && (!stream->work.front().isReady ||
                                       stream->work.front().isReady())) {
        const Work work = std::move(stream->work.front());
        stream->work.pop_front();
        moved = true;
        work.run();
      }
      isEmpty = isEmpty && stream->work.empty();
    }
  }
  return isEmpty;
}

int64_t zrt::bench::openHandles() { return handles; }
void zrt::bench::countHandle(int by) { handles += by; }

void zrt::bench::noteHang(const std::string &what) {
  const std::lock_guard<std::mutex> lock(hangsMutex);
  hangs.push_back(what);
}
std::vector<std::string> zrt::bench::takeHangs() {
  const std::lock_guard<std::mutex> lock(hangsMutex);
  return std::exchange(hangs, {});
}

int64_t zrt::bench::countLaunches() { return launches; }
void zrt::bench::noteLaunch() { ++launches; }

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

cudaError_t cudaGetLastError() { return std::exchange(lastError, cudaSuccess); }
const char *cudaGetErrorString(cudaError_t status) {
  switch (status) {
  case cudaSuccess:
    return "no error";
  case cudaErrorNotReady:
    return "device not ready";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorStreamCaptureUnsupported:
    return "operation not permitted when stream is capturing";
  default:
    return "invalid argument";
  }
}
cudaError_t cudaGetDeviceCount(int *count) {
  *count = 64;
  return cudaSuccess;
}
static thread_local int currentDevice = 0;
cudaError_t cudaSetDevice(int device) {
  currentDevice = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  *device = currentDevice;
  return cudaSuccess;
}
/// Of a bus that no machine has.
cudaError_t cudaDeviceGetPCIBusId(char *address, int size, int device) {
  std::snprintf(address, size_t(size), "FFFF:%02X:00.0", device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? kMultiprocessors
                                                       : int(kMostShared);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  waitFor([] { return advance(); });
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *total = size_t(1) << 30;
  *free = *total - std::min(*total, allocatedBytes());
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **address, size_t bytes) {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  if (bytes > free)
    return failed(cudaErrorMemoryAllocation);
  *address = allocate(bytes);
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaFree(void *address) {
  if (!address)
    return cudaSuccess;
  // As the device does: what it was given may use the memory.
  cudaDeviceSynchronize();
  if (!release(address))
    return failed(cudaErrorInvalidValue);
  countHandle(-1);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void **address, size_t bytes) {
  return cudaMalloc(address, bytes);
}
cudaError_t cudaFreeHost(void *address) { return cudaFree(address); }

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t stream) {
  if (!isWhole(to, bytes) || !isWhole(from, bytes))
    return failed(cudaErrorInvalidValue);
  queueAtOnce(stream, [=] { std::memmove(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                               void *data) {
  queueAtOnce(stream, [=] { function(data); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                            cudaStream_t stream) {
  if (!isAllocated(to, bytes))
    return failed(cudaErrorInvalidValue);
  queueAtOnce(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) {
  *stream = new CUstream_st;
  streams.push_back(*stream);
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  advance();
  streams.erase(std::remove(streams.begin(), streams.end(), stream),
                streams.end());
  return destroy(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream->capture)
    return failed(cudaErrorStreamCaptureUnsupported);
  waitFor([&] { return stream->work.empty(); });
  return cudaSuccess;
}

static void join(CUgraph_st *capture, cudaStream_t stream) {
  stream->capture = capture;
  capture->streams.push_back(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  if (stream->capture && event->capture != stream->capture)
    return failed(cudaErrorStreamCaptureIsolation);
  if (!stream->capture && event->capture)
    join(event->capture, stream);
  if (stream->capture) // its work is in the order of the calls
    return cudaSuccess;
  const auto isReached = [state = event->state, number = event->recorded] {
    return state->done >= number;
  };
  queue(stream, [isReached] { return Work{[] {}, isReached}; });
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream->capture)
    return failed(cudaErrorStreamCaptureUnsupported);
  join(new CUgraph_st, stream);
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  *graph = stream->capture;
  if (!*graph)
    return failed(cudaErrorInvalidValue);
  for (cudaStream_t each : (*graph)->streams)
    each->capture = nullptr;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  *event = new CUevent_st;
  countHandle(1);
  (*event)->isTimer = !(flags & cudaEventDisableTiming);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return destroy(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ++event->recorded;
  event->wasAsked = false;
  event->capture = stream->capture;
  if (event->capture)
    return cudaSuccess;
  queueAtOnce(stream, [state = event->state, number = event->recorded] {
    state->done = number;
    state->time = Clock::now();
  });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->capture)
    return failed(cudaErrorStreamCaptureUnsupported);
  waitFor([&] { return event->isDone(); });
  return cudaSuccess;
}
/// Who asks for the first time is told that it is not done.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (event->capture)
    return failed(cudaErrorStreamCaptureUnsupported);
  advance();
  return std::exchange(event->wasAsked, true) && event->isDone()
             ? cudaSuccess
             : failed(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from,
                                 cudaEvent_t to) {
  if (!from->isTimer || !to->isTimer || !from->recorded || !to->recorded)
    return failed(cudaErrorInvalidResourceHandle);
  if (!from->isDone() || !to->isDone())
    return failed(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(to->state->time -
                                                           from->state->time)
                      .count();
  return cudaSuccess;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph,
                                 unsigned long long) {
  *made = new CUgraphExec_st{*graph};
  countHandle(1);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy(graph); }
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  for (const WorkMaker &make : graph->graph.work)
    queue(stream, make);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return destroy(graph);
}
