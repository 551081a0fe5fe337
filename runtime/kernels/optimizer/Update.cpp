// The updates of all optimizers: a kernel for each rule.
#include "kernels/optimizer/Loops.h"
#include "kernels/optimizer/Specs.h"

using namespace zrt;

namespace {

template <typename Rule> class UpdateKernel : public Kernel {
public:
  UpdateKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), update(spec) {}

  void run(void *const *buffers, void *) override {
    if (!context.control->finite)
      return;
    const UpdateShape &shape = update.shape;
    const UpdateArguments<Rule> arguments = {
        shape.bind(buffers),
        scalarsOf<Rule>(update.hyper, shape.partition, *context.control),
        shape.gradientType, shape.computeType};
    context.pool->parallelFor(shape.elements, kElementsPerThread,
                              [&](int64_t begin, int64_t end) {
                                loops::update<Rule>(arguments, begin, end);
                              });
  }

private:
  KernelContext context;
  UpdateSpec<Rule> update;
};

} // namespace

void zrt::registerUpdateKernels(Registry &registry) {
#define REGISTER(Rule)                                                         \
  registry.add(rules::Rule::kName, makeKernel<UpdateKernel<rules::Rule>>);
  ZRT_FOR_EACH_UPDATE_RULE(REGISTER)
#undef REGISTER
}
