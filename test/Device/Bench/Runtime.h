// Streams, events and graphs of the model. What a stream holds is done in
// order, as soon as nothing that it waits for is missing: an event, or other
// ranks. That is looked at whenever the host calls anything.
#ifndef ZERO_TEST_DEVICE_BENCH_RUNTIME_H
#define ZERO_TEST_DEVICE_BENCH_RUNTIME_H

#include <cuda_runtime_api.h> // the bench's, or CUDA's own

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zrt::bench {

/// Work of a stream. `isReady` is asked until it is true, then `run` is called;
/// null: at once.
struct Work {
  std::function<void()> run;
  std::function<bool()> isReady;
};
/// Makes the work of one launch.
using WorkMaker = std::function<Work()>;

} // namespace zrt::bench

/// What was captured, and what it keeps alive as long as the graph is there.
struct CUgraph_st {
  std::vector<zrt::bench::WorkMaker> work;
  std::vector<std::shared_ptr<void>> held;
  std::vector<cudaStream_t> streams;
};
struct CUgraphExec_st {
  CUgraph_st graph;
};
struct CUstream_st {
  CUgraph_st *capture = nullptr;
  std::deque<zrt::bench::Work> work;
};

namespace zrt::bench {

/// Puts work on `stream`, or into the graph that it captures, which then holds
/// `held`.
void queue(cudaStream_t stream, WorkMaker make,
           std::shared_ptr<void> held = nullptr);
inline void queueAtOnce(cudaStream_t stream, std::function<void()> run) {
  queue(stream, [run] { return Work{run, nullptr}; });
}

/// Does what is ready on the streams of this thread of the host. True where
/// nothing is left.
bool advance();

/// Streams, events, graphs, handles of libraries and allocations that are
/// there.
int64_t openHandles();
/// Counts a handle that is made (1) or destroyed (-1).
void countHandle(int by);

/// What the model has seen that a device or a library does not survive, and
/// cannot be said by an error of the call: it would hang.
std::vector<std::string> takeHangs();
void noteHang(const std::string &what);

/// Whether [address, address + bytes) is in one allocation, or no memory of the
/// device at all.
bool isWhole(const void *address, size_t bytes);
/// A call that fails leaves its error for `cudaGetLastError`, as CUDA's do.
cudaError_t failed(cudaError_t status);

/// Kernel launches since the program began.
int64_t countLaunches();
void noteLaunch();

} // namespace zrt::bench

#endif // ZERO_TEST_DEVICE_BENCH_RUNTIME_H
