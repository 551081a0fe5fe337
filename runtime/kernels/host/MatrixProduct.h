// Matrix products through oneDNN, cut into blocks that follow from the shape.
#ifndef ZERO_RUNTIME_KERNELS_HOST_MATRIXPRODUCT_H
#define ZERO_RUNTIME_KERNELS_HOST_MATRIXPRODUCT_H

#include "kernels/Kernel.h"
#include "kernels/shapes/ProductShape.h"

#include <memory>

namespace zrt::host {

/// A prepared product. oneDNN splits long sums over its threads, so that bits
/// would follow from their number; here each block of the result is made by one
/// thread with a primitive prepared for one. Some rows of a product are cut as
/// the whole is, so that they are bitwise equal to its rows; further rows of a
/// block are computed and dropped.
class MatrixProduct {
public:
  /// Throws std::invalid_argument where oneDNN has no code for `shape`.
  MatrixProduct(MatrixShape shape, ThreadPool &pool);
  ~MatrixProduct();

  size_t workspaceBytes() const;

  /// `bias` is read only where the shape has one. Allocates nothing here; what
  /// oneDNN allocates for itself does not grow.
  void run(const void *a, const void *b, const void *bias, void *c,
           void *workspace);

private:
  void runWithoutTerms(const void *bias, void *c) const;

  struct Impl;
  MatrixShape shape;
  std::unique_ptr<Impl> impl; ///< null where there is nothing to multiply
};

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_MATRIXPRODUCT_H
