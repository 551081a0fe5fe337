// zero.update_scale: the end of an update.
#include "kernels/optimizer/Specs.h"

#include <algorithm>

using namespace zrt;

namespace {

/// DeepSpeed's rule for the scale, but applied after the scale's last use:
/// the gradients of a growth step are divided by the scale they were
/// multiplied by.
class UpdateScale : public Kernel {
public:
  UpdateScale(const KernelSpec &spec, const KernelContext &context)
      : control(*context.control), scale(context.program->training.lossScale),
        accumulation(context.program->training.accumulation) {
    expectBuffers(spec, bufferTypes(spec).size(), 0,
                  "all is in the control block");
    if (scale.kind == LossScaleKind::Dynamic && scale.window < 1)
      refuse(spec, "found a loss scale window of " +
                       std::to_string(scale.window) + ", wanted 1 or more");
  }

  void run(void *const *, void *) override {
    bool overflow = !control.finite;
    ++(overflow ? control.skipped : control.steps);
    if (scale.kind == LossScaleKind::Dynamic)
      overflow ? shrink() : grow();
    control.lossSeed = control.scale / static_cast<float>(accumulation);
  }

private:
  void shrink() {
    if (scale.hysteresis == 1 || control.hysteresis == 1) {
      if (control.scale == static_cast<float>(scale.minimum))
        control.fatal = 1;
      else
        control.scale = static_cast<float>(
            std::max(control.scale / scale.factor, scale.minimum));
    } else {
      --control.hysteresis;
    }
    control.lastOverflow = control.iteration++;
  }

  void grow() {
    if (scale.consecutiveHysteresis)
      control.hysteresis = static_cast<int32_t>(scale.hysteresis);
    int64_t stable = control.iteration - control.lastOverflow - 1;
    if (stable > 0 && stable % scale.window == 0) {
      control.hysteresis = static_cast<int32_t>(scale.hysteresis);
      control.scale = static_cast<float>(control.scale * scale.factor);
    }
    ++control.iteration;
  }

  Control &control;
  LossScale scale;
  int accumulation;
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
