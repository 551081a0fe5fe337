// parallelFor on the OpenMP runtime that oneDNN brings along. Own threads
// would fight with its team for the cores, since both spin before they sleep.
// The entry point below is the stable one that compilers emit calls to.
#include "kernels/Kernel.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>

extern "C" {
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
void __tsan_acquire(void *);
void __tsan_release(void *);
#define ZERO_SEES_THREADS 1
#endif
#endif
}

namespace zrt {

namespace {

struct Job {
  void (*function)(void *, int64_t, int64_t, int);
  void *body;
  int64_t extent;
  int64_t parts;
  std::mutex mutex;
  std::exception_ptr error;
  int64_t errorPart;

  int64_t boundary(int64_t part) const {
    return extent / parts * part + std::min(extent % parts, part);
  }

  void runPart(int64_t part, int worker) {
    try {
      function(body, boundary(part), boundary(part + 1), worker);
    } catch (...) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!error || part < errorPart) {
        error = std::current_exception();
        errorPart = part;
      }
    }
  }
};

/// What this thread has done so far comes before what another does that takes
/// it up: a thread sanitizer sees nothing of how the team waits.
void handOver([[maybe_unused]] Job &job) {
#ifdef ZERO_SEES_THREADS
  __tsan_release(&job);
#endif
}
void takeUp([[maybe_unused]] Job &job) {
#ifdef ZERO_SEES_THREADS
  __tsan_acquire(&job);
#endif
}

/// What each thread of the team runs. The team may be smaller than asked for.
void runThread(void *data) {
  Job &job = *static_cast<Job *>(data);
  takeUp(job);
  int worker = omp_get_thread_num();
  for (int64_t part = worker; part < job.parts; part += omp_get_num_threads())
    job.runPart(part, worker);
  handOver(job);
}

} // namespace

ThreadPool::ThreadPool(int threads) : count(threads) {
  if (threads < 1)
    throw std::invalid_argument("thread pool: " + std::to_string(threads) +
                                " threads asked for, wanted at least 1");
}

int64_t ThreadPool::partsFor(int64_t extent, int64_t grain) const {
  if (extent <= 0)
    return 0;
  int64_t most = extent / std::max<int64_t>(grain, 1);
  return std::clamp<int64_t>(most, 1, count);
}

void ThreadPool::dispatch(int64_t extent, int64_t parts, Function function,
                          void *body) {
  Job job{function, body, extent, parts, {}, nullptr, 0};
  handOver(job);
  GOMP_parallel(runThread, &job, static_cast<unsigned>(parts), 0);
  takeUp(job);
  if (job.error)
    std::rethrow_exception(job.error);
}

} // namespace zrt
