// From a kernel's name to the code that makes it.
#ifndef ZERO_RUNTIME_KERNELS_REGISTRY_H
#define ZERO_RUNTIME_KERNELS_REGISTRY_H

#include "kernels/Kernel.h"
#include "program/KernelSchema.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zrt {

/// Makes a kernel for `spec`, which fits the schema of its name. Throws
/// std::invalid_argument where it has no code for what the schema allows.
using KernelFactory = std::unique_ptr<Kernel> (*)(const KernelSpec &spec,
                                                  const KernelContext &context);

/// The kernels of one processor by `KernelSpec::name`. Ours are registered by
/// functions of which the build writes the list: a static object would be
/// dropped with its object file when that comes from a static library.
class Registry {
public:
  /// Adds `name`. Throws std::logic_error where it is there already.
  void add(const std::string &name, KernelFactory factory);

  /// Makes the kernel for `spec`, which is compared with its schema here and
  /// nowhere else. Throws std::invalid_argument, naming the kernel, where none
  /// has that name, the spec does not fit, or the factory refuses it.
  std::unique_ptr<Kernel> make(const KernelSpec &spec,
                               const KernelContext &context) const;

  /// All names, sorted.
  std::vector<std::string> names() const;

private:
  std::map<std::string, KernelFactory> factories;
};

/// The processors that kernels run on.
enum class Processor { Host, Cuda };

/// Adds a kernel to a processor: a static object of a file that is linked into
/// the executable, for operations of dialects that are not ours. Their schema
/// is a static `KernelSchemas` beside it.
class KernelRegistration {
public:
  KernelRegistration(Processor processor, const char *name,
                     KernelFactory factory);
};

/// Adds the kernels of all `KernelRegistration`s for `processor`.
void registerLinkedKernels(Processor processor, Registry &registry);

/// The factory of a kernel whose constructor takes spec and context.
template <typename K>
std::unique_ptr<Kernel> makeKernel(const KernelSpec &spec,
                                   const KernelContext &context) {
  return std::make_unique<K>(spec, context);
}

/// Throws std::invalid_argument: "kernel 'nn.linear': " and `why`.
[[noreturn]] void refuse(const KernelSpec &spec, const std::string &why);

/// All host kernels: ours, and those that are linked in.
void registerHostKernels(Registry &registry);

/// The host kernels of the `zero` operations: accumulation, loss, gradient
/// statistics, optimizers, scaler.
void registerOptimizerKernels(Registry &registry);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_REGISTRY_H
