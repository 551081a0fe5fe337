// zero.loss_seed and zero.record_loss.
#include "kernels/optimizer/Loops.h"
#include "kernels/optimizer/Rules.h"
#include "kernels/optimizer/Specs.h"

using namespace zrt;

namespace {

/// The weight of the micro-batch is the operand of the seed, and the one after
/// the loss.
class LossSeedKernel : public Kernel {
public:
  LossSeedKernel(const KernelSpec &spec, const KernelContext &context)
      : control(*context.control), weighted(!spec.operands.empty()),
        type(spec.results[0].type) {}
  void run(void *const *buffers, void *) override {
    float seed = control.lossSeed;
    if (weighted)
      seed *= *static_cast<const float *>(buffers[0]);
    loops::convert(DataType::F32, &seed, type, buffers[weighted], 0, 1);
  }

private:
  Control &control;
  bool weighted;
  DataType type;
};

class RecordLossKernel : public Kernel {
public:
  RecordLossKernel(const KernelSpec &spec, const KernelContext &context)
      : control(*context.control), weighted(spec.operands.size() > 1),
        type(spec.operands[0].type) {}
  void run(void *const *buffers, void *) override {
    float loss;
    loops::convert(type, buffers[0], DataType::F32, &loss, 0, 1);
    recordLoss(control, loss,
               weighted ? static_cast<const float *>(buffers[1]) : nullptr);
  }

private:
  Control &control;
  bool weighted;
  DataType type;
};

} // namespace

void zrt::registerLossKernels(Registry &registry) {
  registry.add("zero.loss_seed", makeKernel<LossSeedKernel>);
  registry.add("zero.record_loss", makeKernel<RecordLossKernel>);
}
