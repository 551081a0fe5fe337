// From a kernel's name to the code that makes it.
#ifndef ZERO_RUNTIME_KERNELS_REGISTRY_H
#define ZERO_RUNTIME_KERNELS_REGISTRY_H

#include "kernels/Kernel.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zrt {

/// Makes a kernel for `spec`, or throws std::invalid_argument where it has no
/// code for a type, shape or attribute of it.
using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelSpec &spec,
                                                  const KernelContext &context);

/// The kernels of one device by `KernelSpec::name`. Filled by explicit calls of
/// registration functions: a static initialiser would be dropped with its
/// object file when it comes from a static library.
class Registry {
public:
  /// Adds `name`. Throws std::logic_error where it is there already.
  void add(const std::string &name, KernelFactory factory);

  /// Makes the kernel for `spec`. Throws std::invalid_argument, naming the
  /// kernel, where none has that name or the factory refuses the spec.
  std::unique_ptr<Kernel> make(const KernelSpec &spec,
                               const KernelContext &context) const;

  /// All names, sorted.
  std::vector<std::string> names() const;

private:
  std::map<std::string, KernelFactory> factories;
};

/// The host kernels of the `nn` operations, of tensor data movement, and
/// "launch".
void registerHostKernels(Registry &registry);

/// The host kernels of the `zero` operations: accumulation, loss, gradient
/// statistics, optimizers, scaler.
void registerOptimizerKernels(Registry &registry);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_REGISTRY_H
