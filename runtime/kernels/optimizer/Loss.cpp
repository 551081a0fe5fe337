// zero.loss_seed and zero.record_loss.
#include "kernels/optimizer/Loops.h"
#include "kernels/optimizer/Specs.h"

using namespace zrt;

namespace {

/// One scalar buffer.
class ScalarKernel : public Kernel {
public:
  ScalarKernel(const KernelSpec &spec, const KernelContext &context)
      : control(*context.control), type(bufferTypes(spec)[0].type) {}

protected:
  Control &control;
  DataType type;
};

class LossSeedKernel : public ScalarKernel {
public:
  using ScalarKernel::ScalarKernel;
  void run(void *const *buffers, void *) override {
    loops::convert(DataType::F32, &control.lossSeed, type, buffers[0], 0, 1);
  }
};

class RecordLossKernel : public ScalarKernel {
public:
  using ScalarKernel::ScalarKernel;
  void run(void *const *buffers, void *) override {
    float loss;
    loops::convert(type, buffers[0], DataType::F32, &loss, 0, 1);
    if (control.microIndex == 0)
      control.lossSum = 0;
    control.lossSum += loss;
  }
};

} // namespace

void zrt::registerLossKernels(Registry &registry) {
  registry.add("zero.loss_seed", makeKernel<LossSeedKernel>);
  registry.add("zero.record_loss", makeKernel<RecordLossKernel>);
}
