#include "Blas.h"
#include "Block.h"
#include "Runtime.h"

#include "include/cublasLt.h"
#include "include/cuda_fp16.h"

#include "program/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using namespace zrt::bench;

float zrt::bench::halfToFloat(uint16_t bits) { return f16ToF32Portable(bits); }
uint16_t zrt::bench::floatToHalf(float value) {
  return f32ToF16Portable(value);
}

struct cublasLtContext {};

struct cublasLtMatrixLayout {
  cudaDataType_t type;
  int64_t rows, columns, between;
  int32_t batch = 1;
  int64_t stride = 0;

  size_t elementBytes() const { return type == CUDA_R_32F ? 4 : 2; }
  /// From the first element to behind the last.
  size_t bytes() const {
    if (rows * columns * batch == 0)
      return 0;
    const int64_t last =
        (batch - 1) * stride + (columns - 1) * between + rows - 1;
    return size_t(last + 1) * elementBytes();
  }
};

struct cublasLtMatmulDescription {
  int32_t transposesA = CUBLAS_OP_N, transposesB = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t auxBetween = 0;
  cudaDataType_t biasType = CUDA_R_32F;

  bool hasBias() const { return epilogue & CUBLASLT_EPILOGUE_BIAS; }
  bool sumsRows() const { return epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD; }
  bool isGrad() const {
    return epilogue == CUBLASLT_EPILOGUE_DGELU || sumsRows();
  }
  bool sumsA() const { return epilogue == CUBLASLT_EPILOGUE_BGRADA; }
  bool sumsB() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB; }
  bool hasGelu() const { return epilogue & CUBLASLT_EPILOGUE_GELU; }
  bool hasAux() const { return (epilogue & 128) != 0; }
};

struct cublasLtMatmulPreferences {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace {

constexpr uint32_t kVector = 16; // bytes that fast kernels load at once
constexpr uint64_t kMagic = 0x616c676f;

/// Of an algorithm: a magic number, which one it is, and the alignment that it
/// was chosen for.
bool isAlgorithm(const cublasLtMatmulAlgo_t &algo) {
  return algo.data[0] == kMagic && algo.data[1] < uint64_t(kAlgorithms) &&
         algo.data[2] != 0;
}
size_t workspaceOf(int algorithm) { return size_t(4096) << algorithm; }

/// Where `value` has the size of what it is stored to.
template <typename T>
cublasStatus_t store(T &to, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T> cublasStatus_t destroy(T *handle) {
  delete handle;
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

float load(cudaDataType_t type, const void *from, int64_t i) {
  uint16_t bits = 0;
  float value = 0;
  if (type == CUDA_R_32F) {
    std::memcpy(&value, static_cast<const char *>(from) + i * 4, 4);
    return value;
  }
  std::memcpy(&bits, static_cast<const char *>(from) + i * 2, 2);
  return type == CUDA_R_16BF ? zrt::bf16ToF32(bits)
                             : zrt::f16ToF32Portable(bits);
}

void store(cudaDataType_t type, void *to, int64_t i, float value) {
  if (type == CUDA_R_32F) {
    std::memcpy(static_cast<char *>(to) + i * 4, &value, 4);
    return;
  }
  const uint16_t bits = type == CUDA_R_16BF ? zrt::f32ToBf16(value)
                                            : zrt::f32ToF16Portable(value);
  std::memcpy(static_cast<char *>(to) + i * 2, &bits, 2);
}

constexpr float kRoot = 0.7978845608028654f, kCube = 0.044715f;
float gelu(float x) {
  return 0.5f * x * (1 + std::tanh(kRoot * (x + kCube * x * x * x)));
}
float geluGrad(float x) {
  const float t = std::tanh(kRoot * (x + kCube * x * x * x));
  return 0.5f * (1 + t) +
         0.5f * x * (1 - t * t) * kRoot * (1 + 3 * kCube * x * x);
}

/// All elements of a matrix, batches included, as f32.
std::vector<float> valuesOf(const cublasLtMatrixLayout &layout,
                            const void *from) {
  std::vector<float> values(layout.bytes() / layout.elementBytes());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = load(layout.type, from, int64_t(i));
  return values;
}

struct Product {
  cublasLtMatmulDescription how;
  cublasLtMatrixLayout a, b, d;
  const void *left, *right;
  const void *added; ///< null: nothing
  void *result;

  /// Results go by columns: a bias is added to a row of each.
  void run() const {
    const std::vector<float> lefts = valuesOf(a, left),
                             rights = valuesOf(b, right);
    std::vector<float> sums(size_t(d.rows), 0.0f);
    for (int64_t batch = 0; batch < d.batch; ++batch)
      for (int64_t column = 0; column < d.columns; ++column) {
        const std::vector<float> products =
            productsOf(lefts.data() + batch * a.stride,
                       rights.data() + batch * b.stride, column);
        for (int64_t row = 0; row < d.rows; ++row)
          finish(batch, row, column, products[size_t(row)], sums[size_t(row)]);
      }
    if (how.sumsRows())
      storeSums(sums);
    if (how.sumsA())
      storeSums(sumsOverTerms(a, lefts, !how.transposesA));
    if (how.sumsB())
      storeSums(sumsOverTerms(b, rights, how.transposesB));
  }

private:
  /// A column of the product: terms are added in their order.
  std::vector<float> productsOf(const float *lefts, const float *rights,
                                int64_t column) const {
    std::vector<float> products(size_t(d.rows), 0.0f);
    const int64_t terms = how.transposesA ? a.rows : a.columns;
    for (int64_t t = 0; t < terms; ++t) {
      const float factor = rights[how.transposesB ? t * b.between + column
                                                  : column * b.between + t];
      for (int64_t row = 0; row < d.rows; ++row)
        products[size_t(row)] +=
            factor *
            lefts[how.transposesA ? row * a.between + t : t * a.between + row];
    }
    return products;
  }

  void storeSums(const std::vector<float> &sums) const {
    for (size_t i = 0; i < sums.size(); ++i)
      store(how.biasType, how.bias, int64_t(i), sums[i]);
  }

  /// Of an operand whose terms are its columns, or its rows.
  static std::vector<float> sumsOverTerms(const cublasLtMatrixLayout &matrix,
                                          const std::vector<float> &values,
                                          bool termsAreColumns) {
    std::vector<float> sums(
        size_t(termsAreColumns ? matrix.rows : matrix.columns), 0.0f);
    for (int64_t column = 0; column < matrix.columns; ++column)
      for (int64_t row = 0; row < matrix.rows; ++row)
        sums[size_t(termsAreColumns ? row : column)] +=
            values[size_t(column * matrix.between + row)];
    return sums;
  }

  /// The epilogue of an element.
  void finish(int64_t batch, int64_t row, int64_t column, float value,
              float &sum) const {
    const int64_t aux = column * how.auxBetween + row;
    const int64_t at = batch * d.stride + column * d.between + row;
    if (added)
      value += load(d.type, added, at);
    if (how.hasBias())
      value += load(how.biasType, how.bias, row);
    if (how.isGrad())
      value *= geluGrad(load(d.type, how.aux, aux));
    else if (how.hasAux())
      store(d.type, how.aux, aux, value);
    if (how.hasGelu())
      value = gelu(value);
    sum += value;
    store(d.type, result, at, value);
  }
};

bool fits(const cublasLtMatmulDescription &how, const cublasLtMatrixLayout &a,
          const cublasLtMatrixLayout &b, const cublasLtMatrixLayout &d) {
  const auto swapped = [](const cublasLtMatrixLayout &m, bool transposed) {
    return transposed ? std::pair(m.columns, m.rows)
                      : std::pair(m.rows, m.columns);
  };
  const auto [m, k] = swapped(a, how.transposesA);
  const auto [terms, n] = swapped(b, how.transposesB);
  return m == d.rows && n == d.columns && k == terms && a.between >= a.rows &&
         b.between >= b.rows && d.between >= d.rows && a.batch == d.batch &&
         b.batch == d.batch;
}

bool hasAlgorithms(const cublasLtMatmulDescription &how,
                   const cublasLtMatrixLayout &a, const cublasLtMatrixLayout &b,
                   const cublasLtMatrixLayout &d, uint32_t alignment) {
  return !(how.hasGelu() || how.isGrad() || how.sumsA() || how.sumsB()) ||
         (d.type != CUDA_R_32F && alignment >= kVector && a.between % 8 == 0 &&
          b.between % 8 == 0 && d.between % 8 == 0);
}

thread_local int last = -1; ///< algorithm that was queued

} // namespace

int zrt::bench::lastAlgorithm() { return last; }

const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_NOT_SUPPORTED
             ? "CUBLAS_STATUS_NOT_SUPPORTED"
             : "CUBLAS_STATUS_INVALID_VALUE";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = new cublasLtContext;
  countHandle(1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  countHandle(-1);
  return destroy(handle);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t between) {
  *layout =
      new cublasLtMatrixLayout{type, int64_t(rows), int64_t(columns), between};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    return store(layout->batch, value, bytes);
  return store(layout->stride, value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *description,
                                        cublasComputeType_t,
                                        cudaDataType_t scale) {
  if (scale != CUDA_R_32F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *description = new cublasLtMatmulDescription;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return store(description->transposesA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return store(description->transposesB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return store(description->epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return store(description->bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return store(description->aux, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return store(description->auxBetween, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return store(description->biasType, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return destroy(description);
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = new cublasLtMatmulPreferences;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return store(preference->workspace, value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return bytes == sizeof(uint32_t) ? CUBLAS_STATUS_SUCCESS
                                     : CUBLAS_STATUS_INVALID_VALUE;
  return store(
      preference
          ->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
      value, bytes);
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}

size_t cublasLtGetVersion() { return 130000; }

/// As the library: no gelu in f32, nor of 16-bit operands that are not whole
/// vectors.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t description,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t *results, int *count) {
  *count = 0;
  if (!fits(*description, *a, *b, *d))
    return CUBLAS_STATUS_INVALID_VALUE;
  uint32_t alignment = preference->alignment[0];
  for (uint32_t each : preference->alignment)
    alignment = std::min(alignment, each);
  if (!hasAlgorithms(*description, *a, *b, *d, alignment))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < std::min(wanted, kAlgorithms); ++i)
    if (const size_t workspace = workspaceOf(i);
        workspace <= preference->workspace)
      results[(*count)++] = {
          {{kMagic, uint64_t(i), alignment}}, workspace, CUBLAS_STATUS_SUCCESS};
  return *count ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t *algo,
                        cublasLtMatmulHeuristicResult_t *result) {
  if (!fits(*description, *a, *b, *d) || !isAlgorithm(*algo))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!hasAlgorithms(*description, *a, *b, *d, uint32_t(algo->data[2])))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  result->workspaceSize = workspaceOf(int(algo->data[1]));
  result->state = CUBLAS_STATUS_SUCCESS;
  return CUBLAS_STATUS_SUCCESS;
}

/// Operands lie in memory, whole, and as the algorithm wants them.
cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
               const void *alpha, const void *a, cublasLtMatrixLayout_t aLayout,
               const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,
               const void *c, cublasLtMatrixLayout_t, void *d,
               cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, cudaStream_t stream) {
  const float kept = *static_cast<const float *>(beta);
  if (!handle || !isAlgorithm(*algo) ||
      *static_cast<const float *>(alpha) != 1 || (kept != 0 && kept != 1) ||
      !fits(*description, *aLayout, *bLayout, *dLayout))
    return CUBLAS_STATUS_INVALID_VALUE;
  const Product product{*description,
                        *aLayout,
                        *bLayout,
                        *dLayout,
                        a,
                        b,
                        kept != 0 ? c : nullptr,
                        d};
  const auto lies = [&](const void *at, size_t bytes) {
    return isAllocated(at, bytes) &&
           reinterpret_cast<uintptr_t>(at) % algo->data[2] == 0;
  };
  const size_t element = dLayout->elementBytes();
  const bool hasBias = description->hasBias() || description->sumsRows() ||
                       description->sumsA() || description->sumsB();
  const int64_t biases =
      description->sumsB() ? dLayout->columns : dLayout->rows;
  if (!lies(a, aLayout->bytes()) || !lies(b, bLayout->bytes()) ||
      !lies(c, dLayout->bytes()) || !lies(d, dLayout->bytes()) ||
      workspaceBytes < workspaceOf(int(algo->data[1])) ||
      !isAllocated(workspace, workspaceBytes) ||
      (hasBias && !isAllocated(description->bias, size_t(biases) * element)) ||
      (description->hasAux() &&
       !lies(description->aux,
             size_t((dLayout->columns - 1) * description->auxBetween +
                    dLayout->rows) *
                 element)))
    return CUBLAS_STATUS_INVALID_VALUE;
  last = int(algo->data[1]);
  queueAtOnce(stream, [product, workspace, workspaceBytes] {
    std::memset(workspace, 0xcd, workspaceBytes);
    product.run();
  });
  return CUBLAS_STATUS_SUCCESS;
}
