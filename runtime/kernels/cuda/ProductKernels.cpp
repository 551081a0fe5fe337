// Matrix products through cuBLASLt, with what follows them in the epilogue:
// bias, gelu, its gradient, and sums of the gradient's rows.
#include "kernels/cuda/BlasProduct.h"
#include "kernels/cuda/Kernels.h"
#include "kernels/cuda/ProductChoices.h"
#include "kernels/host/LinearGelu.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace zrt::cuda {

using host::MatrixShape;

namespace {

/// How to do without kernels that cuBLASLt does not have.
constexpr const char *kUnfused = "--pipeline=fuse-epilogues=false";

/// How many algorithms are compared.
constexpr int kCandidates = 8;

class ProductKernel final : public Kernel {
public:
  /// Chooses algorithms: nothing is searched for in a step. Slices of buckets
  /// begin anywhere, so there is one for aligned operands and others for
  /// others.
  ProductKernel(const KernelContext &context, const Product &wanted)
      : product(wanted), blas(*context.cuda, wanted),
        products(context.cuda->products) {
    const auto least = uint32_t(sizeOf(product.shape.type));
    for (uint32_t matrices : {least, BlasProduct::kAlignment})
      for (uint32_t bias : {least, BlasProduct::kAlignment})
        choose({matrices, bias});
  }

  /// Whether there is an algorithm for aligned operands at least.
  bool isThere() const { return cases[kCases - 1].isThere(); }
  std::string describe() const { return product.describe(); }
  /// Names the product on such addresses.
  std::string describe(void *const *buffers) const {
    return blas.describe(blas.alignmentOf(buffers));
  }
  /// Of what the addresses are aligned to: in [0, kCases).
  int numberOf(void *const *buffers) const {
    return numberOf(blas.alignmentOf(buffers));
  }
  static constexpr int kCases = 4;

  size_t workspaceBytes() const override {
    // What will be chosen may want as much.
    if (products)
      return BlasProduct::kWorkspace;
    size_t bytes = 0;
    for (const Case &each : cases)
      bytes = std::max(bytes, each.chosen.workspaceSize);
    return bytes;
  }

  void admit(void *const *buffers, void *workspace) override {
    const Alignment alignment = blas.alignmentOf(buffers);
    if (!caseOf(alignment).isThere())
      throw std::runtime_error(
          "cuBLASLt has no algorithm for operands of " + describe() +
          " that are not aligned to " +
          std::to_string(BlasProduct::kAlignment) + " bytes: compile with " +
          (product.after == After::Nothing ? "a larger alignment" : kUnfused));
    if (caseOf(alignment).isOpen())
      compare(alignment, buffers, workspace);
  }

  void run(void *const *buffers, void *workspace) override {
    blas.run(caseOf(blas.alignmentOf(buffers)).chosen, buffers, workspace);
  }

private:
  /// Addresses of one alignment.
  struct Case {
    Algorithm chosen = {};             ///< where there is one
    std::vector<Algorithm> candidates; ///< none: it is chosen for good

    bool isThere() const { return chosen.state == CUBLAS_STATUS_SUCCESS; }
    bool isOpen() const { return !candidates.empty(); }
  };

  static int numberOf(Alignment alignment) {
    return 2 * (alignment.matrices == BlasProduct::kAlignment) +
           (alignment.bias == BlasProduct::kAlignment);
  }
  Case &caseOf(Alignment alignment) { return cases[numberOf(alignment)]; }

  void choose(Alignment alignment) {
    Case &one = caseOf(alignment);
    one.chosen.state = CUBLAS_STATUS_NOT_SUPPORTED;
    std::vector<Algorithm> found =
        blas.algorithmsFor(alignment, products ? kCandidates : 1);
    if (found.empty())
      return;
    one.chosen = found.front();
    if (products && found.size() > 1)
      one.candidates = std::move(found);
  }

  void use(Alignment alignment, const std::string &name) {
    Case &one = caseOf(alignment);
    try {
      one.chosen = blas.algorithmNamed(name, alignment);
    } catch (const std::exception &error) {
      products->refuse(blas.describe(alignment), error.what());
    }
    one.candidates.clear();
  }

  /// Several commands may be this kernel: it is measured on the first one's
  /// buffers.
  void compare(Alignment alignment, void *const *buffers, void *workspace) {
    const std::vector<void *> addresses(buffers, buffers + product.buffers);
    std::vector<ProductCandidate> candidates;
    for (const Algorithm &each : caseOf(alignment).candidates)
      candidates.push_back({nameOf(each), [this, each, addresses, workspace] {
                              blas.run(each, addresses.data(), workspace);
                            }});
    products->want(
        blas.describe(alignment), std::move(candidates),
        [this, alignment](const std::string &name) { use(alignment, name); });
  }

  const Product product;
  BlasProduct blas;
  ProductChoices *products; ///< null: cuBLASLt's first algorithm is taken
  Case cases[kCases];       ///< of them all, the last is of aligned addresses
};

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

/// A product and then sums over its rows, where no algorithm does both, or none
/// does both faster.
class SummedProduct final : public Kernel {
public:
  SummedProduct(std::unique_ptr<Kernel> product, std::unique_ptr<Kernel> sums,
                int result)
      : product(std::move(product)), sums(std::move(sums)), result(result) {}

  size_t workspaceBytes() const override {
    return std::max(product->workspaceBytes(), sums->workspaceBytes());
  }
  void admit(void *const *buffers, void *workspace) override {
    product->admit(buffers, workspace);
  }
  void run(void *const *buffers, void *workspace) override {
    product->run(buffers, workspace);
    sums->run(buffers + result, workspace);
  }

private:
  std::unique_ptr<Kernel> product, sums;
  int result; ///< the sums are the buffer after it
};

/// The faster one of a product whose epilogue has the sums over its rows, and
/// of a product and a kernel of the sums.
class FasterProduct final : public Kernel {
public:
  /// \pre `products` is what the context of both has.
  FasterProduct(std::unique_ptr<ProductKernel> fused,
                std::unique_ptr<Kernel> separate, ProductChoices &products,
                int buffers)
      : fused(std::move(fused)), separate(std::move(separate)),
        products(products), buffers(buffers) {}

  size_t workspaceBytes() const override {
    return std::max(fused->workspaceBytes(), separate->workspaceBytes());
  }

  /// Both products come first, so that what is measured are the algorithms that
  /// were chosen for them.
  void admit(void *const *addresses, void *workspace) override {
    fused->admit(addresses, workspace);
    separate->admit(addresses, workspace);
    const int number = fused->numberOf(addresses);
    if (!std::exchange(isAsked[number], true))
      compare(number, std::vector<void *>(addresses, addresses + buffers),
              workspace);
  }

  void run(void *const *addresses, void *workspace) override {
    Kernel &kernel =
        isSeparate[fused->numberOf(addresses)] ? *separate : *fused;
    kernel.run(addresses, workspace);
  }

private:
  static constexpr const char *kFused = "fused", *kSeparate = "separate";

  void compare(int number, const std::vector<void *> &addresses,
               void *workspace) {
    const auto runs = [&](Kernel &kernel) {
      return [&kernel, addresses, workspace] {
        kernel.run(addresses.data(), workspace);
      };
    };
    const std::string name =
        "sums fused or separate of " + fused->describe(addresses.data());
    products.want(name, {{kFused, runs(*fused)}, {kSeparate, runs(*separate)}},
                  [this, number, name](const std::string &choice) {
                    if (choice != kFused && choice != kSeparate)
                      products.refuse(name, "'" + choice + "' is neither '" +
                                                kFused + "' nor '" + kSeparate +
                                                "'");
                    isSeparate[number] = choice == kSeparate;
                  });
  }

  std::unique_ptr<ProductKernel> fused;
  std::unique_ptr<Kernel> separate;
  ProductChoices &products;
  const int buffers;
  /// By the number of what the addresses are aligned to.
  bool isAsked[ProductKernel::kCases] = {},
       isSeparate[ProductKernel::kCases] = {};
};

template <MatrixShape (*shapeOf)(const KernelSpec &)>
std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  const MatrixShape shape = shapeOf(spec);
  if (shape.batch * shape.m * shape.n * shape.k == 0)
    return std::make_unique<EmptyProduct>(context, shape);
  return makeProduct(spec, context, shape);
}

/// A product with the sums over its rows, in its epilogue where there is an
/// algorithm for it that is faster.
std::unique_ptr<Kernel> withSums(std::unique_ptr<ProductKernel> fused,
                                 std::unique_ptr<ProductKernel> alone,
                                 const host::LinearGeluParts &parts,
                                 const Product &product,
                                 const KernelContext &context) {
  auto separate = std::make_unique<SummedProduct>(
      std::move(alone), makeCudaKernel(parts.sums, context), product.result);
  if (!fused->isThere())
    return separate;
  return std::make_unique<FasterProduct>(std::move(fused), std::move(separate),
                                         *context.cuda->products,
                                         product.buffers);
}

std::unique_ptr<Kernel> makeLinearGelu(const KernelSpec &spec,
                                       const KernelContext &context) {
  const host::LinearGeluParts parts = host::linearGeluParts(spec);
  Product product;
  product.shape = host::linearShape(parts.product);
  if (product.shape.m * product.shape.n * product.shape.k == 0)
    refuse(spec,
           std::string("is a product of nothing: compile with ") + kUnfused);
  product.after = parts.isGradient ? After::GeluGrad : After::Gelu;
  product.result = int(spec.operands.size());
  product.buffers = product.result + int(spec.results.size());
  product.h = parts.h;
  if (parts.hasSums)
    product.bias = product.result + 1;
  else if (product.shape.bias)
    product.bias = 2;
  auto fused = std::make_unique<ProductKernel>(context, product);
  ProductChoices *products = context.cuda->products;
  if (fused->isThere() && !(parts.hasSums && products))
    return fused;
  if (parts.hasSums) {
    product.bias = -1;
    auto alone = std::make_unique<ProductKernel>(context, product);
    if (alone->isThere())
      return withSums(std::move(fused), std::move(alone), parts, product,
                      context);
    if (fused->isThere())
      return fused;
  }
  refuse(spec, "cuBLASLt has no algorithm for " + fused->describe() +
                   ": compile with " + kUnfused);
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
  auto kernel = std::make_unique<ProductKernel>(context, product);
  if (!kernel->isThere())
    refuse(spec, "cuBLASLt has no algorithm for " + kernel->describe());
  return kernel;
}

void registerProductKernels(Registry &registry) {
  registry.add("nn.linear", make<host::linearShape>);
  registry.add("nn.linear_gelu", makeLinearGelu);
  registry.add("nn.linear_gelu_grad", makeLinearGelu);
  registry.add("nn.matmul", make<host::matmulShape>);
}

} // namespace zrt::cuda
