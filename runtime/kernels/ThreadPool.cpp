// Persistent workers that spin for a short while before they sleep.
#include "kernels/Kernel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace zrt {

namespace {

/// Turns of the waiting loop before a thread sleeps: some 20 microseconds,
/// longer than the gap between two kernels of a step.
constexpr int kSpins = 2000;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Bounds of part `index` of `parts` over [0, extent).
int64_t boundary(int64_t extent, int64_t parts, int64_t index) {
  return extent / parts * index + std::min(extent % parts, index);
}

} // namespace

struct ThreadPool::Impl {
  using Body = std::function<void(int64_t, int64_t)>;

  explicit Impl(int threads) {
    for (int i = 1; i < threads; ++i)
      workers.emplace_back([this, i] { work(i); });
  }

  ~Impl() {
    stopping = true;
    publish();
    for (std::thread &worker : workers)
      worker.join();
  }

  /// Makes the current job visible to the workers.
  void publish() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      epoch.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
  }

  void work(int index) {
    uint64_t seen = 0;
    while (true) {
      for (int i = 0;
           i < kSpins && epoch.load(std::memory_order_acquire) == seen; ++i)
        relax();
      if (epoch.load(std::memory_order_acquire) == seen) {
        std::unique_lock<std::mutex> lock(mutex);
        wake.wait(lock, [&] {
          return epoch.load(std::memory_order_acquire) != seen;
        });
      }
      ++seen;
      if (stopping)
        return;
      if (index < parts)
        (*body)(boundary(extent, parts, index),
                boundary(extent, parts, index + 1));
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        std::lock_guard<std::mutex> lock(mutex);
        done.notify_one();
      }
    }
  }

  void run(int64_t newExtent, int64_t newParts, const Body &newBody) {
    body = &newBody;
    extent = newExtent;
    parts = newParts;
    pending.store(static_cast<int>(workers.size()), std::memory_order_relaxed);
    publish();
    newBody(0, boundary(extent, parts, 1));
    for (int i = 0; i < kSpins && pending.load(std::memory_order_acquire); ++i)
      relax();
    if (pending.load(std::memory_order_acquire)) {
      std::unique_lock<std::mutex> lock(mutex);
      done.wait(lock,
                [&] { return pending.load(std::memory_order_acquire) == 0; });
    }
  }

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake, done;
  std::atomic<uint64_t> epoch{0};
  std::atomic<int> pending{0};
  std::atomic<bool> stopping{false};
  const Body *body = nullptr;
  int64_t extent = 0, parts = 0;
};

ThreadPool::ThreadPool(int threads)
    : impl(std::make_unique<Impl>(std::max(threads, 1))) {}

ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const {
  return static_cast<int>(impl->workers.size()) + 1;
}

void ThreadPool::parallelFor(
    int64_t extent, int64_t grain,
    const std::function<void(int64_t begin, int64_t end)> &body) {
  if (extent <= 0)
    return;
  int64_t most = std::max<int64_t>(extent / std::max<int64_t>(grain, 1), 1);
  int64_t parts = std::min<int64_t>(threads(), most);
  if (parts == 1)
    return body(0, extent);
  impl->run(extent, parts, body);
}

} // namespace zrt
