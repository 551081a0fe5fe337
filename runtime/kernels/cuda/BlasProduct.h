// A matrix product as cuBLASLt sees it, with what follows it in the epilogue.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_BLASPRODUCT_H
#define ZERO_RUNTIME_KERNELS_CUDA_BLASPRODUCT_H

#include "kernels/cuda/Context.h"
#include "kernels/shapes/ProductShape.h"
#include "program/Workspaces.h"

#include <string>
#include <vector>

namespace zrt::cuda {

/// What is done with a product before it is written, or with an operand: sums
/// over the terms of the product.
enum class After { Nothing, Gelu, GeluGrad, LeftSums, RightSums };

/// A product, and where its buffers are among the kernel's; -1: there is none.
struct Product {
  MatrixShape shape;
  After after = After::Nothing;
  int bias = -1;   ///< is added, or, of a gradient, gets the sums
  int h = -1;      ///< what gelu is of: written, or, by the gradient, read
  int addend = -1; ///< a matrix that is added, before anything else
  int left = 0, right = 1;
  int result = 2;
  int buffers = 3;

  cublasLtEpilogue_t epilogue() const;
  int64_t rows() const; ///< of the result
  std::string describe() const;
};

/// A matrix as it lies in memory, columns first, `between` elements apart.
class MatrixLayout {
public:
  MatrixLayout(DataType type, int64_t rows, int64_t columns, int64_t batch,
               int64_t between);
  ~MatrixLayout() { cublasLtMatrixLayoutDestroy(layout); }
  MatrixLayout(const MatrixLayout &) = delete;
  MatrixLayout &operator=(const MatrixLayout &) = delete;
  operator cublasLtMatrixLayout_t() const { return layout; }

private:
  template <typename T>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const T &value);
  cublasLtMatrixLayout_t layout = nullptr;
};

/// The operation: f32 sums, no tf32, so that f32 programs mean f32.
class Description {
public:
  explicit Description(const Product &product);
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

/// Bytes of whose multiples the addresses of matrices, and of the bias, are.
struct Alignment {
  uint32_t matrices, bias;
};

/// An algorithm, and what it needs.
using Algorithm = cublasLtMatmulHeuristicResult_t;
/// The bytes of an algorithm as hexadecimal digits: they mean the same to every
/// process with the same version of cuBLASLt.
std::string nameOf(const Algorithm &algorithm);

/// cuBLASLt takes columns first, so the row-major product c = a b is computed
/// as its transpose: c' = b' a', where the primes cost nothing.
class BlasProduct {
public:
  /// What cuBLASLt may use beside its operands: NVIDIA's advice for Hopper.
  static constexpr size_t kWorkspace = workspace::kProduct;
  /// That fast algorithms want.
  static constexpr uint32_t kAlignment = 16;

  BlasProduct(CudaContext &cuda, const Product &product);

  /// At most `most` algorithms for such addresses, the one that cuBLASLt takes
  /// for the fastest first; none where it has none.
  std::vector<Algorithm> algorithmsFor(Alignment alignment, int most);

  /// What decides which algorithm is the fastest, for people and as a key.
  std::string describe(Alignment alignment) const;
  /// The algorithm of that name, which `nameOf` gave. Throws
  /// std::runtime_error, saying why, where it is none for such addresses.
  Algorithm algorithmNamed(const std::string &name, Alignment alignment);

  /// kAlignment where the addresses have it, else the size of an element.
  Alignment alignmentOf(void *const *buffers) const;

  void run(const Algorithm &algorithm, void *const *buffers, void *workspace);

private:
  void point(cublasLtMatmulDescAttributes_t attribute, const void *address) {
    description.set(attribute, address);
  }
  void pointAtExamples(Alignment alignment);
  const void *leftOf(void *const *buffers) const;

  CudaContext &cuda;
  const Product product;
  const MatrixShape &shape;
  Description description;
  MatrixLayout b, a, c;
};

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_BLASPRODUCT_H
