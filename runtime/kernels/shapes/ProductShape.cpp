#include "kernels/shapes/ProductShape.h"

#include "kernels/shapes/TensorShapes.h"

namespace zrt {

MatrixShape linearShape(const KernelSpec &spec) {
  const TensorType &x = spec.operands[0], &w = spec.operands[1];
  const Rows rows = rowsOf(x);
  MatrixShape shape;
  shape.type = x.type;
  shape.transposedB = spec.integer("transposed") != 0;
  shape.bias = spec.integer("bias") != 0;
  shape.m = rows.count;
  shape.k = rows.width;
  shape.n = w.shape[shape.transposedB ? 0 : 1];
  return shape;
}

MatrixShape matmulShape(const KernelSpec &spec) {
  const TensorType &a = spec.operands[0], &b = spec.operands[1];
  const size_t rank = a.shape.size();
  MatrixShape shape;
  shape.type = a.type;
  shape.transposedA = spec.integer("transpose_a") != 0;
  shape.transposedB = spec.integer("transpose_b") != 0;
  shape.batch = product(a, 0, rank - 2);
  shape.m = a.shape[rank - (shape.transposedA ? 1 : 2)];
  shape.k = a.shape[rank - (shape.transposedA ? 2 : 1)];
  shape.n = b.shape[rank - (shape.transposedB ? 2 : 1)];
  const RowRange rows = rowRange(spec, shape.m);
  shape.firstRow = rows.first;
  shape.lastRow = rows.last;
  return shape;
}

} // namespace zrt
