// nn.linear and nn.matmul.
#include "kernels/host/Host.h"
#include "kernels/host/MatrixProduct.h"

namespace zrt::host {

namespace {

/// Shape of x [.., K] times w [K, N], or [N, K] when transposed.
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

/// Shape of a [batch.., M, K] times b [batch.., K, N].
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

void wantFloat(const KernelSpec &spec, DataType type) {
  if (type != DataType::F32 && type != DataType::BF16 && type != DataType::F16)
    refuse(spec, std::string("no code for element type ") + nameOf(type) +
                     "; wanted f32, bf16 or f16");
}

class ProductKernel final : public Kernel {
public:
  ProductKernel(const MatrixShape &shape, const KernelContext &context)
      : bias(shape.bias), product(shape, *context.pool) {}

  size_t workspaceBytes() const override { return product.workspaceBytes(); }

  void run(void *const *buffers, void *workspace) override {
    product.run(buffers[0], buffers[1], bias ? buffers[2] : nullptr,
                buffers[bias ? 3 : 2], workspace);
  }

private:
  bool bias;
  MatrixProduct product;
};

template <MatrixShape (*shapeOf)(const KernelSpec &)>
std::unique_ptr<Kernel> make(const KernelSpec &spec,
                             const KernelContext &context) {
  MatrixShape shape = shapeOf(spec);
  wantFloat(spec, shape.type);
  return std::make_unique<ProductKernel>(shape, context);
}

} // namespace

void registerLinear(Registry &registry) {
  registry.add("nn.linear", make<linearShape>);
  registry.add("nn.matmul", make<matmulShape>);
}

} // namespace zrt::host
