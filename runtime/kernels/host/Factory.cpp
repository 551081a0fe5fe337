#include "kernels/Registry.h"

namespace zrt {

std::unique_ptr<Kernel> makeHostKernel(const KernelSpec &spec,
                                       const KernelContext &context) {
  static const Registry registry = [] {
    Registry all;
    registerHostKernels(all);
    registerOptimizerKernels(all);
    return all;
  }();
  return registry.make(spec, context);
}

} // namespace zrt
