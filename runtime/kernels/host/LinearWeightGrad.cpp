// nn.linear_weight_grad: the kernels of its parts, bitwise equal to the
// operations that it stands for.
#include "kernels/shapes/LinearWeightGrad.h"

#include "kernels/host/Host.h"

#include <algorithm>

namespace zrt::host {

namespace {

class LinearWeightGrad final : public Kernel {
public:
  LinearWeightGrad(const KernelSpec &spec, const KernelContext &context)
      : parts(linearWeightGradParts(spec)),
        product(makeHostKernel(parts.product, context)),
        sums(makeHostKernel(parts.sums, context)) {}

  size_t workspaceBytes() const override {
    return std::max(product->workspaceBytes(), sums->workspaceBytes());
  }

  void run(void *const *buffers, void *workspace) override {
    void *const ofProduct[] = {buffers[parts.left], buffers[parts.right],
                               buffers[2]};
    product->run(ofProduct, workspace);
    void *const ofSums[] = {buffers[0], buffers[3]};
    sums->run(ofSums, workspace);
  }

private:
  const LinearWeightGradParts parts;
  const std::unique_ptr<Kernel> product, sums;
};

std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  return std::make_unique<LinearWeightGrad>(spec, context);
}

} // namespace

void registerLinearWeightGrad(Registry &registry) {
  registry.add("nn.linear_weight_grad", make);
}

} // namespace zrt::host
