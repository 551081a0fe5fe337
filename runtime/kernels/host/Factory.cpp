#include "kernels/Registry.h"

namespace zrt {

namespace host {
void registerFamilies(Registry &registry);
} // namespace host

void registerHostKernels(Registry &registry) {
  host::registerFamilies(registry);
  registerOptimizerKernels(registry);
  registerLinkedKernels(Processor::Host, registry);
}

std::unique_ptr<Kernel> makeHostKernel(const KernelSpec &spec,
                                       const KernelContext &context) {
  static const Registry registry = [] {
    Registry all;
    registerHostKernels(all);
    return all;
  }();
  return registry.make(spec, context);
}

} // namespace zrt
