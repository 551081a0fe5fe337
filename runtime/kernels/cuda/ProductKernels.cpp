// nn.linear and nn.matmul through cuBLASLt, the bias in the epilogue.
//
// cuBLASLt takes columns first, so the row-major product c = a b is computed as
// its transpose: c' = b' a', where the primes cost nothing.
#include "kernels/cuda/Kernels.h"
#include "kernels/host/ProductShape.h"
#include "kernels/optimizer/Specs.h"

#include <algorithm>

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
class Layout {
public:
  Layout(DataType type, int64_t rows, int64_t columns, int64_t batch,
         int64_t between) {
    check(cublasLtMatrixLayoutCreate(&layout, typeOf(type), uint64_t(rows),
                                     uint64_t(columns), between),
          "cublasLtMatrixLayoutCreate");
    const int32_t count = int32_t(batch);
    const int64_t stride = between * columns;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout); }
  Layout(const Layout &) = delete;
  Layout &operator=(const Layout &) = delete;
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

/// The operation: f32 sums, no tf32, so that f32 programs mean f32.
class Description {
public:
  explicit Description(const MatrixShape &shape) {
    check(
        cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA,
        shape.transposedB ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB,
        shape.transposedA ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (!shape.bias)
      return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(shape.type));
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
  ProductKernel(const KernelSpec &spec, const KernelContext &context,
                const MatrixShape &shape)
      : shape(shape), cuda(*context.cuda), rows(rowsOf(shape)),
        description(shape),
        b(shape.type, shape.transposedB ? shape.k : shape.n,
          shape.transposedB ? shape.n : shape.k, shape.batch,
          shape.transposedB ? shape.k : shape.n),
        a(shape.type, shape.transposedA ? rows : shape.k,
          shape.transposedA ? shape.k : rows, shape.batch,
          shape.transposedA ? shape.m : shape.k),
        c(shape.type, shape.n, rows, shape.batch, shape.n) {
    // Chosen now: nothing is searched for in a step. Slices of buckets begin
    // anywhere, so there is one choice for aligned operands and one for others.
    if (!choose(kAlignment, aligned))
      refuse(spec, "cuBLASLt has no algorithm for " + describe());
    choose(uint32_t(sizeOf(shape.type)), unaligned);
  }

  size_t workspaceBytes() const override {
    return std::max(aligned.workspaceSize, unaligned.workspaceSize);
  }

  void admit(void *const *buffers) override {
    if (choiceFor(buffers).state != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLASLt has no algorithm for operands of " +
                               describe() + " that are not aligned to " +
                               std::to_string(kAlignment) +
                               " bytes: compile with a larger alignment");
  }

  void run(void *const *buffers, void *workspace) override {
    if (shape.bias) {
      const void *bias = buffers[2];
      description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    const cublasLtMatmulHeuristicResult_t &choice = choiceFor(buffers);
    const float one = 1, zero = 0;
    void *result = buffers[resultAt()];
    check(cublasLtMatmul(cuda.blas, description, &one, buffers[1], b,
                         leftOf(buffers), a, &zero, result, c, result, c,
                         &choice.algo, workspace, choice.workspaceSize,
                         cuda.stream),
          "cublasLtMatmul");
  }

private:
  static constexpr uint32_t kAlignment = 16;

  std::string describe() const {
    return std::to_string(shape.m) + " x " + std::to_string(shape.k) +
           " times " + std::to_string(shape.k) + " x " +
           std::to_string(shape.n) + " of " + nameOf(shape.type);
  }

  size_t resultAt() const { return shape.bias ? 3 : 2; }

  /// Of some rows only: where they begin.
  const void *leftOf(void *const *buffers) const {
    const int64_t first = shape.firstRow * (shape.transposedA ? 1 : shape.k);
    return static_cast<const char *>(buffers[0]) +
           first * int64_t(sizeOf(shape.type));
  }

  const cublasLtMatmulHeuristicResult_t &choiceFor(void *const *buffers) const {
    uintptr_t addresses = reinterpret_cast<uintptr_t>(leftOf(buffers));
    for (size_t i = 1; i <= resultAt(); ++i)
      addresses |= reinterpret_cast<uintptr_t>(buffers[i]);
    return addresses % kAlignment == 0 ? aligned : unaligned;
  }

  /// Leaves in `found` what to use, and returns whether there is anything.
  bool choose(uint32_t alignment, cublasLtMatmulHeuristicResult_t &found) {
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
    for (auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                         CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(operand, alignment);
    if (shape.bias) // Its alignment is that of its address.
      description.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                      reinterpret_cast<const void *>(uintptr_t(alignment)));
    int count = 0;
    found = {};
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        cuda.blas, description, b, a, c, c, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
      found.state = CUBLAS_STATUS_NOT_SUPPORTED;
    return found.state == CUBLAS_STATUS_SUCCESS;
  }

  static int64_t rowsOf(const MatrixShape &shape) {
    return (shape.lastRow < 0 ? shape.m : shape.lastRow) - shape.firstRow;
  }

  MatrixShape shape;
  CudaContext &cuda;
  int64_t rows; ///< of the result
  Description description;
  Layout b, a, c;
  cublasLtMatmulHeuristicResult_t aligned, unaligned;
};

template <MatrixShape (*shapeOf)(const KernelSpec &)>
std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  const MatrixShape shape = shapeOf(spec);
  expectLane(spec, shape.type);
  return std::make_unique<ProductKernel>(spec, context, shape);
}

} // namespace

void registerProducts(Registry &registry) {
  registry.add("nn.linear", make<host::linearShape>);
  registry.add("nn.matmul", make<host::matmulShape>);
}

} // namespace zrt::cuda
