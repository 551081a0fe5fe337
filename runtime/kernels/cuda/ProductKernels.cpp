// Matrix products through cuBLASLt, with what follows them in the epilogue:
// bias, gelu, its gradient, and sums of the gradient's rows.
//
// cuBLASLt takes columns first, so the row-major product c = a b is computed as
// its transpose: c' = b' a', where the primes cost nothing.
#include "kernels/cuda/Kernels.h"
#include "kernels/host/LinearGelu.h"
#include "kernels/host/ProductShape.h"

#include <algorithm>
#include <stdexcept>

namespace zrt::cuda {

using host::MatrixShape;

namespace {

/// What cuBLASLt may use beside its operands: NVIDIA's advice for Hopper.
constexpr size_t kWorkspace = size_t(32) << 20;

cudaDataType_t typeOf(DataType type) {
  return type == DataType::F32    ? CUDA_R_32F
         : type == DataType::BF16 ? CUDA_R_16BF
                                  : CUDA_R_16F;
}

/// A matrix as it lies in memory, columns first, `between` elements apart.
class MatrixLayout {
public:
  MatrixLayout(DataType type, int64_t rows, int64_t columns, int64_t batch,
               int64_t between) {
    check(cublasLtMatrixLayoutCreate(&layout, typeOf(type), uint64_t(rows),
                                     uint64_t(columns), between),
          "cublasLtMatrixLayoutCreate");
    const int32_t count = int32_t(batch);
    const int64_t stride = between * columns;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~MatrixLayout() { cublasLtMatrixLayoutDestroy(layout); }
  MatrixLayout(const MatrixLayout &) = delete;
  MatrixLayout &operator=(const MatrixLayout &) = delete;
  operator cublasLtMatrixLayout_t() const { return layout; }

private:
  template <typename T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const T &value) {
    check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value,
                                           sizeof(value)),
          "cublasLtMatrixLayoutSetAttribute");
  }
  cublasLtMatrixLayout_t layout = nullptr;
};

/// How to do without kernels that cuBLASLt does not have.
constexpr const char *kUnfused = "--pipeline=fuse-epilogues=false";

/// What is done with a product before it is written.
enum class After { Nothing, Gelu, GeluGrad };

/// A product, and where its buffers are among the kernel's; -1: there is none.
struct Product {
  MatrixShape shape;
  After after = After::Nothing;
  int bias = -1; ///< is added, or, of the gradient, gets the sums over rows
  int h = -1;    ///< what gelu is of: written, or, by the gradient, read
  int result = 2;
  int buffers = 3;

  cublasLtEpilogue_t epilogue() const {
    switch (after) {
    case After::Nothing:
      return bias < 0 ? CUBLASLT_EPILOGUE_DEFAULT : CUBLASLT_EPILOGUE_BIAS;
    case After::Gelu:
      if (h < 0)
        return bias < 0 ? CUBLASLT_EPILOGUE_GELU : CUBLASLT_EPILOGUE_GELU_BIAS;
      return bias < 0 ? CUBLASLT_EPILOGUE_GELU_AUX
                      : CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case After::GeluGrad:
      return bias < 0 ? CUBLASLT_EPILOGUE_DGELU : CUBLASLT_EPILOGUE_DGELU_BGRAD;
    }
    return CUBLASLT_EPILOGUE_DEFAULT;
  }
};

/// The operation: f32 sums, no tf32, so that f32 programs mean f32.
class Description {
public:
  explicit Description(const Product &product) {
    check(
        cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
    const MatrixShape &shape = product.shape;
    set(CUBLASLT_MATMUL_DESC_TRANSA,
        shape.transposedB ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB,
        shape.transposedA ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, product.epilogue());
    if (product.bias >= 0)
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(shape.type));
    if (product.h >= 0)
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape.n);
  }
  ~Description() { cublasLtMatmulDescDestroy(description); }
  Description(const Description &) = delete;
  Description &operator=(const Description &) = delete;
  operator cublasLtMatmulDesc_t() const { return description; }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T &value) {
    check(cublasLtMatmulDescSetAttribute(description, attribute, &value,
                                         sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }

private:
  cublasLtMatmulDesc_t description = nullptr;
};

class ProductKernel final : public Kernel {
public:
  /// Chooses algorithms: nothing is searched for in a step. Slices of buckets
  /// begin anywhere, so there is one for aligned operands and others for
  /// others.
  ProductKernel(const KernelContext &context, const Product &wanted)
      : product(wanted), shape(product.shape), cuda(*context.cuda),
        rows(rowsOf(shape)), description(product),
        b(shape.type, shape.transposedB ? shape.k : shape.n,
          shape.transposedB ? shape.n : shape.k, shape.batch,
          shape.transposedB ? shape.k : shape.n),
        a(shape.type, shape.transposedA ? rows : shape.k,
          shape.transposedA ? shape.k : rows, shape.batch,
          shape.transposedA ? shape.m : shape.k),
        c(shape.adds ? DataType::F32 : shape.type, shape.n, rows, shape.batch,
          shape.n) {
    const auto least = uint32_t(sizeOf(shape.type));
    for (bool matrices : {false, true})
      for (bool bias : {false, true})
        choices[matrices][bias] =
            choose(matrices ? kAlignment : least, bias ? kAlignment : least);
  }

  /// Whether there is an algorithm for aligned operands at least.
  bool isThere() const {
    return choices[true][true].state == CUBLAS_STATUS_SUCCESS;
  }

  std::string describe() const {
    const std::string text =
        std::to_string(shape.m) + " x " + std::to_string(shape.k) + " times " +
        std::to_string(shape.k) + " x " + std::to_string(shape.n) + " of " +
        nameOf(shape.type);
    return product.after == After::Nothing ? text : text + " with gelu";
  }

  size_t workspaceBytes() const override {
    size_t bytes = 0;
    for (const auto &row : choices)
      for (const auto &choice : row)
        bytes = std::max(bytes, choice.workspaceSize);
    return bytes;
  }

  void admit(void *const *buffers) override {
    if (choiceFor(buffers).state != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error(
          "cuBLASLt has no algorithm for operands of " + describe() +
          " that are not aligned to " + std::to_string(kAlignment) +
          " bytes: compile with " +
          (product.after == After::Nothing ? "a larger alignment" : kUnfused));
  }

  void run(void *const *buffers, void *workspace) override {
    if (product.bias >= 0)
      point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, buffers[product.bias]);
    if (product.h >= 0)
      point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, buffers[product.h]);
    const cublasLtMatmulHeuristicResult_t &choice = choiceFor(buffers);
    const float one = 1, kept = shape.adds ? 1 : 0;
    void *result = buffers[product.result];
    check(cublasLtMatmul(cuda.blas, description, &one, buffers[1], b,
                         leftOf(buffers), a, &kept, result, c, result, c,
                         &choice.algo, workspace, choice.workspaceSize,
                         cuda.stream),
          "cublasLtMatmul");
  }

private:
  static constexpr uint32_t kAlignment = 16;

  void point(cublasLtMatmulDescAttributes_t attribute, const void *address) {
    description.set(attribute, address);
  }

  /// Of some rows only: where they begin.
  const void *leftOf(void *const *buffers) const {
    const int64_t first = shape.firstRow * (shape.transposedA ? 1 : shape.k);
    return static_cast<const char *>(buffers[0]) +
           first * int64_t(sizeOf(shape.type));
  }

  const cublasLtMatmulHeuristicResult_t &choiceFor(void *const *buffers) const {
    uintptr_t matrices = reinterpret_cast<uintptr_t>(leftOf(buffers)), bias = 0;
    for (int i = 1; i < product.buffers; ++i)
      (i == product.bias ? bias : matrices) |=
          reinterpret_cast<uintptr_t>(buffers[i]);
    return choices[matrices % kAlignment == 0][bias % kAlignment == 0];
  }

  /// What to use for addresses at multiples of `alignment` and
  /// `biasAlignment`; its state says whether there is anything.
  cublasLtMatmulHeuristicResult_t choose(uint32_t alignment,
                                         uint32_t biasAlignment) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference),
          "cublasLtMatmulPreferenceCreate");
    auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                   const auto &value) {
      check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value,
                                                 sizeof(value)),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    // Parts of a sum are never rounded to the result's type.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    for (auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(operand, alignment);
    // The alignment of these is that of their address.
    const auto example = [](uint32_t address) {
      return reinterpret_cast<const void *>(uintptr_t(address));
    };
    if (product.bias >= 0)
      point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, example(biasAlignment));
    if (product.h >= 0)
      point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, example(alignment));
    int count = 0;
    cublasLtMatmulHeuristicResult_t found = {};
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        cuda.blas, description, b, a, c, c, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
      found.state = CUBLAS_STATUS_NOT_SUPPORTED;
    return found;
  }

  static int64_t rowsOf(const MatrixShape &shape) {
    return (shape.lastRow < 0 ? shape.m : shape.lastRow) - shape.firstRow;
  }

  const Product product;
  const MatrixShape &shape;
  CudaContext &cuda;
  int64_t rows; ///< of the result
  Description description;
  MatrixLayout b, a, c;
  /// By whether the matrices, and the bias, are aligned.
  cublasLtMatmulHeuristicResult_t choices[2][2];
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

/// A product and then sums over its rows, where no algorithm does both.
class SummedProduct final : public Kernel {
public:
  SummedProduct(std::unique_ptr<Kernel> product, std::unique_ptr<Kernel> sums,
                int result)
      : product(std::move(product)), sums(std::move(sums)), result(result) {}

  size_t workspaceBytes() const override {
    return std::max(product->workspaceBytes(), sums->workspaceBytes());
  }
  void admit(void *const *buffers) override { product->admit(buffers); }
  void run(void *const *buffers, void *workspace) override {
    product->run(buffers, workspace);
    sums->run(buffers + result, workspace);
  }

private:
  std::unique_ptr<Kernel> product, sums;
  int result; ///< the sums are the buffer after it
};

template <MatrixShape (*shapeOf)(const KernelSpec &)>
std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  const MatrixShape shape = shapeOf(spec);
  if (shape.batch * shape.m * shape.n * shape.k == 0)
    return std::make_unique<EmptyProduct>(context, shape);
  return makeProduct(spec, context, shape);
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
  auto kernel = std::make_unique<ProductKernel>(context, product);
  if (kernel->isThere())
    return kernel;
  if (parts.hasSums) {
    product.bias = -1;
    kernel = std::make_unique<ProductKernel>(context, product);
  }
  if (!kernel->isThere())
    refuse(spec, "cuBLASLt has no algorithm for " + kernel->describe() +
                     ": compile with " + kUnfused);
  return std::make_unique<SummedProduct>(
      std::move(kernel), makeCudaKernel(parts.sums, context), product.result);
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
