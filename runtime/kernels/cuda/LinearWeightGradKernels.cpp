// The gradients of a weight and of a bias: sums in the epilogue of cuBLASLt's
// product, or by a kernel after it, whichever is faster.
#include "kernels/cuda/Kernels.h"
#include "kernels/cuda/ProductForms.h"
#include "kernels/shapes/LinearWeightGrad.h"

namespace zrt::cuda {

namespace {

constexpr int kWeight = 2, kBias = 3; ///< buffers of the results

std::unique_ptr<ProductForm> makeForm(const LinearWeightGradParts &parts,
                                      const KernelContext &context,
                                      bool isFused) {
  Product product;
  product.shape = matmulShape(parts.product);
  product.left = parts.left;
  product.right = parts.right;
  product.result = kWeight;
  product.buffers = isFused ? 4 : 3;
  if (isFused) {
    product.after = parts.left == 0 ? After::LeftSums : After::RightSums;
    product.bias = kBias;
  }
  auto form = std::make_unique<ProductForm>(isFused ? "fused" : "separate",
                                            context, product);
  if (!isFused)
    form->then(makeCudaKernel(parts.sums, context), {0, kBias});
  return form;
}

std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  const LinearWeightGradParts parts = linearWeightGradParts(spec);
  const MatrixShape shape = matmulShape(parts.product);
  if (shape.m * shape.n * shape.k == 0)
    refuse(spec, "is a product of nothing: compile with "
                 "--pipeline=fuse-epilogues=false");
  auto kernel = std::make_unique<ProductForms>(context, kBias + 1);
  for (bool isFused : {true, false})
    if (!kernel->add(makeForm(parts, context, isFused)))
      break;
  if (!kernel->isThere())
    refuse(spec, "cuBLASLt has no algorithm for its product");
  return kernel;
}

} // namespace

void registerLinearWeightGradKernels(Registry &registry) {
  registry.add("nn.linear_weight_grad", make);
}

} // namespace zrt::cuda
