// Matrix products through oneDNN whose sizes are data.
#ifndef ZERO_RUNTIME_KERNELS_HOST_OPENPRODUCT_H
#define ZERO_RUNTIME_KERNELS_HOST_OPENPRODUCT_H

#include "kernels/host/OneDnn.h"

#include <cstdint>

namespace zrt::host {

/// Where a matrix begins, and how far its rows are apart; of a transposed one,
/// its columns.
struct MatrixView {
  const void *data;
  int64_t between;
};

/// c = a b, with sums in f32: prepared once, for sizes that are known when it
/// runs. Each run is of one thread, whose number of threads it sets.
class OpenProduct {
public:
  /// Of elements for which `computesIn` holds. Throws std::invalid_argument
  /// where oneDNN has no code for it.
  OpenProduct(DataType type, bool transposedA, bool transposedB);

  /// c is [m, n] in f32, a of `k` columns; none of them is 0.
  void run(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b,
           float *c, int64_t between) const;

private:
  DataType type;
  bool transposedA, transposedB;
  dnnl::matmul primitive;
  dnnl::stream stream;
};

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_OPENPRODUCT_H
