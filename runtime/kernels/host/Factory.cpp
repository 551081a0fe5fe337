#include "kernels/host/Host.h"

namespace zrt {

void registerHostKernels(Registry &registry) {
  host::registerLinear(registry);
  host::registerLinearGelu(registry);
  host::registerAttention(registry);
  host::registerLayerNorm(registry);
  host::registerRmsNorm(registry);
  host::registerSoftmax(registry);
  host::registerCrossEntropy(registry);
  host::registerEmbedding(registry);
  host::registerRotary(registry);
  host::registerDropout(registry);
  host::registerReduce(registry);
  host::registerDataMovement(registry);
  host::registerLaunch(registry);
}

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
