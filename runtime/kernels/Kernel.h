// What a kernel is to the executor: prepared once, then run on addresses.
#ifndef ZERO_RUNTIME_KERNELS_KERNEL_H
#define ZERO_RUNTIME_KERNELS_KERNEL_H

#include "program/Control.h"
#include "program/Program.h"

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace zrt {

/// The threads of one rank. They are the OpenMP team of the thread that calls
/// `parallelFor`, which should be the same one each time.
class ThreadPool {
public:
  /// Throws std::invalid_argument when `threads` < 1.
  explicit ThreadPool(int threads);
  int threads() const { return count; }

  /// Runs `body(begin, end)` over a partition of [0, extent) into at most
  /// `threads()` ranges of at least `grain` elements (but for the whole). The
  /// partition depends on extent, grain and thread count alone. Rethrows the
  /// first exception of the lowest range. Allocates nothing.
  template <typename Body>
  void parallelFor(int64_t extent, int64_t grain, Body &&body) {
    auto call = [&body](int64_t begin, int64_t end, int) { body(begin, end); };
    parallelForWorkers(extent, grain, call);
  }

  /// Runs `body(begin, end, worker)` as `parallelFor` does: no two concurrent
  /// calls have the same worker, and 0 <= worker < threads().
  template <typename Body>
  void parallelForWorkers(int64_t extent, int64_t grain, Body &&body) {
    int64_t parts = partsFor(extent, grain);
    if (parts == 1)
      body(int64_t(0), extent, 0);
    else if (parts > 1)
      dispatch(extent, parts, trampoline<std::remove_reference_t<Body>>, &body);
  }

private:
  using Function = void (*)(void *body, int64_t begin, int64_t end, int worker);
  template <typename Body>
  static void trampoline(void *body, int64_t begin, int64_t end, int worker) {
    (*static_cast<Body *>(body))(begin, end, worker);
  }
  int64_t partsFor(int64_t extent, int64_t grain) const;
  void dispatch(int64_t extent, int64_t parts, Function function, void *body);

  int count;
};

/// A function that the compiler generated for an elementwise group: computes
/// elements [begin, end) of the outermost extent.
struct GeneratedKernel {
  const char *name;
  void (*run)(void *const *buffers, int64_t begin, int64_t end);
  int64_t extent; ///< elements of the outermost loop
  int64_t grain;  ///< fewest elements worth a thread
};

struct CudaContext;

/// The resources that the kernels of one rank share.
struct KernelContext {
  int rank = 0;
  int64_t sampleIndex = 0; ///< among the ranks that have samples of their own
  int64_t sampleRanks = 1; ///< how many these are
  ThreadPool *pool = nullptr;
  Control *control = nullptr;
  const Program *program = nullptr;
  const GeneratedKernel *generated = nullptr; ///< table for "launch"
  int64_t generatedCount = 0;
  CudaContext *cuda = nullptr; ///< of a CUDA device; null on the host
};

/// A kernel made for one KernelSpec.
class Kernel {
public:
  virtual ~Kernel();
  /// Bytes of scratch memory that `run` uses; all kernels of a rank share one.
  virtual size_t workspaceBytes() const { return 0; }
  /// Called for each command that is this kernel, when the program is planned,
  /// with the addresses that `run` will get. Throws std::runtime_error where it
  /// could not run on them.
  virtual void admit(void *const *buffers, void *workspace) {
    (void)buffers, (void)workspace;
  }
  /// Which of several codes this kernel runs, and why, for people; empty where
  /// there is one.
  virtual std::string choice() const { return {}; }
  /// `buffers`: the operands' addresses, then the results', in spec order.
  virtual void run(void *const *buffers, void *workspace) = 0;
};

/// Buffer number `index` of those that `run` gets.
template <typename T> T *at(void *const *buffers, size_t index) {
  return static_cast<T *>(buffers[index]);
}

/// Makes the host kernel for `spec`. Throws std::invalid_argument, naming the
/// kernel and the type or attribute that it has no code for.
std::unique_ptr<Kernel> makeHostKernel(const KernelSpec &spec,
                                       const KernelContext &context);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_KERNEL_H
