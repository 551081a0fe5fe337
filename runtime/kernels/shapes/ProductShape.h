// The shape of a matrix product, from the spec of its kernel.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_PRODUCTSHAPE_H
#define ZERO_RUNTIME_KERNELS_SHAPES_PRODUCTSHAPE_H

#include "program/Program.h"

namespace zrt {

/// c[i] = a[i] b[i] (+ bias) for i in [0, batch): a is M x K, b is K x N, both
/// dense and row-major, or stored transposed; c is M x N; bias has N elements.
/// Of one product, `c` may be rows [firstRow, lastRow) only.
struct MatrixShape {
  DataType type = DataType::F32;
  int64_t batch = 1;
  int64_t m = 0, n = 0, k = 0;
  int64_t firstRow = 0, lastRow = -1; ///< -1: all
  bool transposedA = false, transposedB = false;
  bool bias = false;
  /// `c` is f32 whatever `type` is, and the product, of all rows and without a
  /// bias, is added to it.
  bool adds = false;
};

/// The shape of nn.linear: x [.., K] times w [K, N], or [N, K] when transposed.
MatrixShape linearShape(const KernelSpec &spec);

/// The shape of nn.matmul: a [batch.., M, K] times b [batch.., K, N].
MatrixShape matmulShape(const KernelSpec &spec);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_PRODUCTSHAPE_H
