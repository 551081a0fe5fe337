// Matrix products through cuBLASLt.
#include "kernels/cuda/Kernels.h"
#include "kernels/cuda/ProductKernel.h"
#include "kernels/shapes/LinearAdd.h"

namespace zrt::cuda {

namespace {

/// Sums over no terms, which cuBLASLt has no form of: zeros, or the bias.
class EmptyProduct final : public Kernel {
public:
  EmptyProduct(const KernelContext &context, const MatrixShape &shape)
      : stream(context.cuda->stream), bias(shape.bias),
        elementBytes(sizeOf(shape.type)) {
    const int64_t rows =
        shape.batch *
        ((shape.lastRow < 0 ? shape.m : shape.lastRow) - shape.firstRow);
    repeat.elements = rows * shape.n;
    repeat.dims = 2;
    repeat.size[0] = rows;
    repeat.size[1] = repeat.to[0] = shape.n;
    repeat.from[0] = 0;
    repeat.from[1] = repeat.to[1] = 1;
  }

  void run(void *const *buffers, void *) override {
    if (!repeat.elements)
      return;
    if (bias)
      return move(repeat, elementBytes, buffers[2], buffers[3], stream);
    check(
        cudaMemsetAsync(buffers[2], 0, repeat.elements * elementBytes, stream),
        "cudaMemsetAsync");
  }

private:
  cudaStream_t stream;
  bool bias;
  size_t elementBytes;
  StridedMove repeat;
};

template <MatrixShape (*shapeOf)(const KernelSpec &)>
std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  const MatrixShape shape = shapeOf(spec);
  if (shape.batch * shape.m * shape.n * shape.k == 0)
    return std::make_unique<EmptyProduct>(context, shape);
  return makeProduct(spec, context, shape);
}

std::unique_ptr<Kernel> makeProductOf(const KernelSpec &spec,
                                      const KernelContext &context,
                                      const Product &product) {
  auto kernel = std::make_unique<ProductKernel>(context, product);
  if (!kernel->isThere())
    refuse(spec, "cuBLASLt has no algorithm for " + kernel->describe());
  return kernel;
}

std::unique_ptr<Kernel> makeLinearAdd(const KernelSpec &spec,
                                      const KernelContext &context) {
  Product product;
  product.shape = linearShape(productOfLinearAdd(spec));
  if (product.shape.m * product.shape.n * product.shape.k == 0)
    refuse(spec, "is a product of nothing: compile with "
                 "--pipeline=fuse-additions=false");
  product.addend = kLinearAddend;
  product.bias = product.shape.bias ? product.addend + 1 : -1;
  product.result = int(spec.operands.size());
  product.buffers = product.result + 1;
  return makeProductOf(spec, context, product);
}

} // namespace

std::unique_ptr<Kernel> makeProduct(const KernelSpec &spec,
                                    const KernelContext &context,
                                    const MatrixShape &shape) {
  Product product;
  product.shape = shape;
  product.buffers = shape.bias ? 4 : 3;
  product.result = product.buffers - 1;
  product.bias = shape.bias ? 2 : -1;
  return makeProductOf(spec, context, product);
}

void registerProductKernels(Registry &registry) {
  registry.add("nn.linear", make<linearShape>);
  registry.add("nn.linear_add", makeLinearAdd);
  registry.add("nn.matmul", make<matmulShape>);
}

} // namespace zrt::cuda
