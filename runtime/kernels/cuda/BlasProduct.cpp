#include "kernels/cuda/BlasProduct.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <stdexcept>

using namespace zrt;
using namespace zrt::cuda;

namespace {

cudaDataType_t typeOf(DataType type) {
  return type == DataType::F32    ? CUDA_R_32F
         : type == DataType::BF16 ? CUDA_R_16BF
                                  : CUDA_R_16F;
}

/// What algorithms are asked for with.
class Preference {
public:
  Preference() {
    check(cublasLtMatmulPreferenceCreate(&preference),
          "cublasLtMatmulPreferenceCreate");
  }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference); }
  Preference(const Preference &) = delete;
  Preference &operator=(const Preference &) = delete;
  operator cublasLtMatmulPreference_t() const { return preference; }

  template <typename T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T &value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value,
                                               sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  }

private:
  cublasLtMatmulPreference_t preference = nullptr;
};

} // namespace

cublasLtEpilogue_t Product::epilogue() const {
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
  // Its A is the right operand, see BlasProduct.
  case After::LeftSums:
    return CUBLASLT_EPILOGUE_BGRADB;
  case After::RightSums:
    return CUBLASLT_EPILOGUE_BGRADA;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

int64_t Product::rows() const {
  return (shape.lastRow < 0 ? shape.m : shape.lastRow) - shape.firstRow;
}

std::string Product::describe() const {
  const std::string text =
      std::to_string(shape.m) + " x " + std::to_string(shape.k) + " times " +
      std::to_string(shape.k) + " x " + std::to_string(shape.n) + " of " +
      nameOf(shape.type);
  switch (after) {
  case After::Nothing:
    return text;
  case After::Gelu:
  case After::GeluGrad:
    return text + " with gelu";
  case After::LeftSums:
  case After::RightSums:
    return text + " with sums of an operand";
  }
  return text;
}

MatrixLayout::MatrixLayout(DataType type, int64_t rows, int64_t columns,
                           int64_t batch, int64_t between) {
  check(cublasLtMatrixLayoutCreate(&layout, typeOf(type), uint64_t(rows),
                                   uint64_t(columns), between),
        "cublasLtMatrixLayoutCreate");
  const int32_t count = int32_t(batch);
  const int64_t stride = between * columns;
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
}

template <typename T>
void MatrixLayout::set(cublasLtMatrixLayoutAttribute_t attribute,
                       const T &value) {
  check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value,
                                         sizeof(value)),
        "cublasLtMatrixLayoutSetAttribute");
}

Description::Description(const Product &product) {
  check(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F),
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

BlasProduct::BlasProduct(CudaContext &cuda, const Product &wanted)
    : cuda(cuda), product(wanted), shape(product.shape), description(product),
      b(shape.type, shape.transposedB ? shape.k : shape.n,
        shape.transposedB ? shape.n : shape.k, shape.batch,
        shape.transposedB ? shape.k : shape.n),
      a(shape.type, shape.transposedA ? product.rows() : shape.k,
        shape.transposedA ? shape.k : product.rows(), shape.batch,
        shape.transposedA ? shape.m : shape.k),
      c(shape.adds ? DataType::F32 : shape.type, shape.n, product.rows(),
        shape.batch, shape.n) {}

/// The alignment of what the description points to is that of its address.
void BlasProduct::pointAtExamples(Alignment alignment) {
  const auto example = [](uint32_t address) {
    return reinterpret_cast<const void *>(uintptr_t(address));
  };
  if (product.bias >= 0)
    point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, example(alignment.bias));
  if (product.h >= 0)
    point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER,
          example(alignment.matrices));
}

std::vector<Algorithm> BlasProduct::algorithmsFor(Alignment alignment,
                                                  int most) {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  // Parts of a sum are never rounded to the result's type.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                 uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                       CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                       CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                       CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    preference.set(operand, alignment.matrices);
  pointAtExamples(alignment);
  int count = 0;
  std::vector<Algorithm> found(static_cast<size_t>(most));
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(cuda.blas, description, b, a, c, c,
                                     preference, most, found.data(), &count);
  found.resize(status == CUBLAS_STATUS_SUCCESS ? size_t(count) : 0);
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const Algorithm &each) {
                               return each.state != CUBLAS_STATUS_SUCCESS;
                             }),
              found.end());
  return found;
}

static std::string nameOf(After after, bool hasBias, bool hasH) {
  switch (after) {
  case After::Nothing:
    return hasBias ? ", bias" : "";
  case After::Gelu:
    return std::string(hasBias ? ", bias" : "") + ", gelu" +
           (hasH ? " that keeps its operand" : "");
  case After::GeluGrad:
    return std::string(", gelu's gradient") + (hasBias ? ", sums of rows" : "");
  case After::LeftSums:
    return ", sums of the left operand";
  case After::RightSums:
    return ", sums of the right operand";
  }
  return "";
}

std::string BlasProduct::describe(Alignment alignment) const {
  const auto matrix = [](int64_t rows, int64_t columns, bool transposed) {
    return std::to_string(rows) + " x " + std::to_string(columns) +
           (transposed ? " transposed" : "");
  };
  std::string text;
  if (shape.batch != 1)
    text = std::to_string(shape.batch) + " of ";
  text += matrix(product.rows(), shape.k, shape.transposedA);
  if (product.rows() != shape.m)
    text += " out of " + std::to_string(shape.m) + " rows";
  text += " times " + matrix(shape.k, shape.n, shape.transposedB) + ", " +
          zrt::nameOf(shape.type) + (shape.adds ? " added to f32" : "") +
          (product.addend < 0 ? "" : " added to a matrix") +
          ::nameOf(product.after, product.bias >= 0, product.h >= 0) +
          ", aligned to " + std::to_string(alignment.matrices);
  if (product.bias >= 0)
    text += ", bias to " + std::to_string(alignment.bias);
  return text + ", workspace " + std::to_string(kWorkspace);
}

static_assert(std::is_trivially_copyable_v<cublasLtMatmulAlgo_t>);

std::string zrt::cuda::nameOf(const Algorithm &algorithm) {
  unsigned char bytes[sizeof(algorithm.algo)];
  std::memcpy(bytes, &algorithm.algo, sizeof(bytes));
  std::string name;
  for (unsigned char byte : bytes)
    for (int digit : {byte >> 4, byte & 15})
      name += "0123456789abcdef"[digit];
  return name;
}

/// The bits that `nameOf` wrote.
static cublasLtMatmulAlgo_t algorithmOf(const std::string &name) {
  unsigned char bytes[sizeof(cublasLtMatmulAlgo_t)];
  const bool isHexadecimal =
      std::all_of(name.begin(), name.end(), [](unsigned char digit) {
        return std::isdigit(digit) || (digit >= 'a' && digit <= 'f');
      });
  if (name.size() != 2 * sizeof(bytes) || !isHexadecimal)
    throw std::runtime_error("'" + name + "' is not an algorithm of " +
                             std::to_string(2 * sizeof(bytes)) +
                             " hexadecimal digits");
  for (size_t i = 0; i < sizeof(bytes); ++i)
    bytes[i] = static_cast<unsigned char>(
        std::stoi(name.substr(2 * i, 2), nullptr, 16));
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, bytes, sizeof(bytes));
  return algorithm;
}

Algorithm BlasProduct::algorithmNamed(const std::string &name,
                                      Alignment alignment) {
  const cublasLtMatmulAlgo_t wanted = algorithmOf(name);
  pointAtExamples(alignment);
  Algorithm found = {};
  const cublasStatus_t status = cublasLtMatmulAlgoCheck(
      cuda.blas, description, b, a, c, c, &wanted, &found);
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(
        std::string("cuBLASLt does not take the algorithm: ") +
        cublasLtGetStatusString(status));
  if (found.workspaceSize > kWorkspace)
    throw std::runtime_error("the algorithm wants " +
                             std::to_string(found.workspaceSize) +
                             " bytes of workspace");
  found.algo = wanted;
  found.state = CUBLAS_STATUS_SUCCESS;
  return found;
}

/// Of some rows only: where they begin.
const void *BlasProduct::leftOf(void *const *buffers) const {
  const int64_t first = shape.firstRow * (shape.transposedA ? 1 : shape.k);
  return static_cast<const char *>(buffers[product.left]) +
         first * int64_t(sizeOf(shape.type));
}

Alignment BlasProduct::alignmentOf(void *const *buffers) const {
  uintptr_t matrices = reinterpret_cast<uintptr_t>(leftOf(buffers)), bias = 0;
  for (int i = 0; i < product.buffers; ++i)
    if (i != product.left)
      (i == product.bias ? bias : matrices) |=
          reinterpret_cast<uintptr_t>(buffers[i]);
  const auto least = uint32_t(sizeOf(shape.type));
  return {matrices % kAlignment == 0 ? kAlignment : least,
          bias % kAlignment == 0 ? kAlignment : least};
}

void BlasProduct::run(const Algorithm &algorithm, void *const *buffers,
                      void *workspace) {
  if (product.bias >= 0)
    point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, buffers[product.bias]);
  if (product.h >= 0)
    point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, buffers[product.h]);
  const bool adds = shape.adds || product.addend >= 0;
  const float one = 1, kept = adds ? 1 : 0;
  void *result = buffers[product.result];
  const void *added = product.addend < 0 ? result : buffers[product.addend];
  check(cublasLtMatmul(cuda.blas, description, &one, buffers[product.right], b,
                       leftOf(buffers), a, &kept, added, c, result, c,
                       &algorithm.algo, workspace, algorithm.workspaceSize,
                       cuda.stream),
        "cublasLtMatmul");
}
