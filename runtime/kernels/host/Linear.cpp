// nn.linear and nn.matmul.
#include "kernels/host/Host.h"
#include "kernels/host/MatrixProduct.h"

namespace zrt::host {

namespace {

class ProductKernel final : public Kernel {
public:
  ProductKernel(const MatrixShape &shape, const KernelContext &context)
      : bias(shape.bias), product(shape, *context.pool) {}

  size_t workspaceBytes() const override { return product.workspaceBytes(); }

  void run(void *const *buffers, void *workspace) override {
    product.run(buffers[0], buffers[1], bias ? buffers[2] : nullptr,
                buffers[bias ? 3 : 2], workspace);
  }

private:
  bool bias;
  MatrixProduct product;
};

template <MatrixShape (*shapeOf)(const KernelSpec &)>
std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  return std::make_unique<ProductKernel>(shapeOf(spec), context);
}

} // namespace

void registerLinear(Registry &registry) {
  registry.add("nn.linear", make<linearShape>);
  registry.add("nn.matmul", make<matmulShape>);
}

} // namespace zrt::host
