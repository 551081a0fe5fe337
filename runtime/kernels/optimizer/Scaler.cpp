// zero.update_scale: the end of an update.
#include "kernels/optimizer/Specs.h"

using namespace zrt;

namespace {

class UpdateScale : public Kernel {
public:
  UpdateScale(const KernelSpec &spec, const KernelContext &context)
      : control(*context.control),
        rule(scaleRuleOf(spec, context.program->training)) {}

  void run(void *const *, void *) override { updateScale(rule, control); }

private:
  Control &control;
  ScaleRule rule;
};

} // namespace

void zrt::registerScalerKernel(Registry &registry) {
  registry.add("zero.update_scale", makeKernel<UpdateScale>);
}

void zrt::registerOptimizerKernels(Registry &registry) {
  registerCopyKernels(registry);
  registerLossKernels(registry);
  registerStatisticsKernels(registry);
  registerUpdateKernels(registry);
  registerScalerKernel(registry);
}
