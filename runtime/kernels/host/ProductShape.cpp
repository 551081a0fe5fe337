#include "kernels/host/ProductShape.h"

#include "kernels/host/Host.h"

namespace zrt::host {

MatrixShape linearShape(const KernelSpec &spec) {
  bool bias = spec.integer("bias") != 0;
  wantBuffers(spec, bias ? 3 : 2, 1);
  const TensorType &x = spec.operands[0], &w = spec.operands[1];
  Rows rows = rowsOf(spec, x);
  if (w.shape.size() != 2)
    refuse(spec, "the weight is " + describe(w) + ", wanted two dimensions");
  MatrixShape shape;
  shape.type = x.type;
  shape.transposedB = spec.integer("transposed") != 0;
  shape.bias = bias;
  shape.m = rows.count;
  shape.k = rows.width;
  shape.n = w.shape[shape.transposedB ? 0 : 1];
  wantType(spec, "the weight", w, x.type,
           shape.transposedB ? std::vector<int64_t>{shape.n, shape.k}
                             : std::vector<int64_t>{shape.k, shape.n});
  if (bias)
    wantType(spec, "the bias", spec.operands[2], x.type, {shape.n});
  std::vector<int64_t> result = x.shape;
  result.back() = shape.n;
  wantType(spec, "the result", spec.results[0], x.type, result);
  return shape;
}

MatrixShape matmulShape(const KernelSpec &spec) {
  wantBuffers(spec, 2, 1);
  const TensorType &a = spec.operands[0], &b = spec.operands[1];
  size_t rank = a.shape.size();
  if (rank < 2 || b.shape.size() != rank)
    refuse(spec, "the operands are " + describe(a) + " and " + describe(b) +
                     ", wanted two or more dimensions, as many in each");
  MatrixShape shape;
  shape.type = a.type;
  shape.transposedA = spec.integer("transpose_a") != 0;
  shape.transposedB = spec.integer("transpose_b") != 0;
  shape.batch = product(a, 0, rank - 2);
  shape.m = a.shape[rank - (shape.transposedA ? 1 : 2)];
  shape.k = a.shape[rank - (shape.transposedA ? 2 : 1)];
  shape.n = b.shape[rank - (shape.transposedB ? 2 : 1)];
  std::vector<int64_t> wanted = a.shape;
  wanted[rank - 2] = shape.transposedB ? shape.n : shape.k;
  wanted[rank - 1] = shape.transposedB ? shape.k : shape.n;
  wantType(spec, "the second operand", b, a.type, wanted);
  RowRange rows = rowRange(spec, shape.m);
  if (spec.has("rows") && rank != 2)
    refuse(spec, "rows are given of products with a batch, wanted matrices");
  shape.firstRow = rows.first;
  shape.lastRow = rows.last;
  wanted[rank - 2] = rows.last - rows.first;
  wanted[rank - 1] = shape.n;
  wantType(spec, "the result", spec.results[0], a.type, wanted);
  return shape;
}

} // namespace zrt::host
