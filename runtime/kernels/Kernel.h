// What a kernel is to the executor: prepared once, then run on addresses.
#ifndef ZERO_RUNTIME_KERNELS_KERNEL_H
#define ZERO_RUNTIME_KERNELS_KERNEL_H

#include "program/Control.h"
#include "program/Program.h"

#include <cstddef>
#include <functional>
#include <memory>

namespace zrt {

/// Runs `body(begin, end)` over a partition of [0, extent), on the rank's
/// threads. The partition depends on extent, grain and thread count alone.
class ThreadPool {
public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  int threads() const;
  void parallelFor(int64_t extent, int64_t grain,
                   const std::function<void(int64_t begin, int64_t end)> &body);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// A function that the compiler generated for an elementwise group: computes
/// elements [begin, end) of the outermost extent.
struct GeneratedKernel {
  const char *name;
  void (*run)(void *const *buffers, int64_t begin, int64_t end);
  int64_t extent; ///< elements of the outermost loop
  int64_t grain;  ///< fewest elements worth a thread
};

/// What kernels of one rank share.
struct KernelContext {
  int rank = 0;
  int ranks = 1;
  ThreadPool *pool = nullptr;
  Control *control = nullptr;
  const Program *program = nullptr;
  const GeneratedKernel *generated = nullptr; ///< table for "launch"
  int64_t generatedCount = 0;
};

/// A kernel made for one KernelSpec.
class Kernel {
public:
  virtual ~Kernel();
  /// Bytes of scratch memory that `run` uses; all kernels of a rank share one.
  virtual size_t workspaceBytes() const { return 0; }
  /// `buffers`: the operands' addresses, then the results', in spec order.
  virtual void run(void *const *buffers, void *workspace) = 0;
};

/// Makes the host kernel for `spec`. Throws std::invalid_argument, naming the
/// kernel and the type or attribute that it has no code for.
std::unique_ptr<Kernel> makeHostKernel(const KernelSpec &spec,
                                       const KernelContext &context);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_KERNEL_H
