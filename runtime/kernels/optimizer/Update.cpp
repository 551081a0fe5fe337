// zero.adamw, zero.adam and zero.sgd.
#include "kernels/optimizer/Loops.h"
#include "kernels/optimizer/Specs.h"

using namespace zrt;

namespace {

template <UpdateRule rule> class UpdateKernel : public Kernel {
public:
  UpdateKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), update(updateSpecOf(spec, rule)) {}

  void run(void *const *buffers, void *) override {
    if (!context.control->finite)
      return;
    const UpdateArguments arguments = {scalarsOf(update.rule, *context.control),
                                       update.bind(buffers),
                                       update.gradientType, update.computeType};
    context.pool->parallelFor(update.elements, kElementsPerThread,
                              [&](int64_t begin, int64_t end) {
                                if (rule == UpdateRule::Sgd)
                                  loops::sgd(arguments, begin, end);
                                else
                                  loops::adam(arguments, begin, end);
                              });
  }

private:
  KernelContext context;
  UpdateSpec update;
};

} // namespace

void zrt::registerUpdateKernels(Registry &registry) {
  registry.add("zero.adamw", makeKernel<UpdateKernel<UpdateRule::AdamW>>);
  registry.add("zero.adam", makeKernel<UpdateKernel<UpdateRule::Adam>>);
  registry.add("zero.sgd", makeKernel<UpdateKernel<UpdateRule::Sgd>>);
}
