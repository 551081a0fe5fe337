// nn.linear and nn.matmul.
#include "kernels/host/Host.h"
#include "kernels/host/MatrixProduct.h"

namespace zrt::host {

namespace {

void wantFloat(const KernelSpec &spec, DataType type) {
  if (type != DataType::F32 && type != DataType::BF16 && type != DataType::F16)
    refuse(spec, std::string("no code for element type ") + nameOf(type) +
                     "; wanted f32, bf16 or f16");
}

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
  MatrixShape shape = shapeOf(spec);
  wantFloat(spec, shape.type);
  return std::make_unique<ProductKernel>(shape, context);
}

} // namespace

void registerLinear(Registry &registry) {
  registry.add("nn.linear", make<linearShape>);
  registry.add("nn.matmul", make<matmulShape>);
}

} // namespace zrt::host
