#include "kernels/host/OpenProduct.h"

#include <stdexcept>
#include <string>

namespace zrt::host {

namespace {

/// A matrix in the memory of others. The C++ interface would allocate.
class Matrix {
public:
  Matrix(DataType type, int64_t rows, int64_t columns, int64_t row,
         int64_t column, const void *data) {
    const dnnl_dims_t dims = {rows, columns}, strides = {row, column};
    dnnl_memory_desc_t description;
    checkDnnl(dnnl_memory_desc_init_by_strides(
        &description, 2, dims, dnnl::memory::convert_to_c(dnnlType(type)),
        strides));
    checkDnnl(dnnl_memory_create(&memory, &description, dnnlEngine().get(),
                                 const_cast<void *>(data)));
  }
  ~Matrix() { dnnl_memory_destroy(memory); }
  Matrix(const Matrix &) = delete;
  Matrix &operator=(const Matrix &) = delete;
  operator dnnl_memory_t() const { return memory; }

private:
  dnnl_memory_t memory = nullptr;
};

dnnl::memory::desc anyMatrix(DataType type, bool transposed) {
  constexpr int64_t any = DNNL_RUNTIME_DIM_VAL;
  using Dims = dnnl::memory::dims;
  return {{any, any}, dnnlType(type), transposed ? Dims{1, any} : Dims{any, 1}};
}

} // namespace

OpenProduct::OpenProduct(DataType type, bool transposedA, bool transposedB)
    : type(type), transposedA(transposedA), transposedB(transposedB),
      stream(dnnlEngine()) {
  OneThread scope;
  try {
    primitive = dnnl::matmul(
        {{anyMatrix(type, transposedA), anyMatrix(type, transposedB),
          anyMatrix(DataType::F32, false)},
         dnnlEngine()});
  } catch (const dnnl::error &error) {
    throw std::invalid_argument(std::string("matrix product: oneDNN refuses ") +
                                nameOf(type) +
                                " matrices of any size: " + error.what());
  }
}

void OpenProduct::run(int64_t m, int64_t n, int64_t k, MatrixView a,
                      MatrixView b, float *c, int64_t between) const {
  OneThread scope;
  const Matrix left(type, m, k, transposedA ? 1 : a.between,
                    transposedA ? a.between : 1, a.data);
  const Matrix right(type, k, n, transposedB ? 1 : b.between,
                     transposedB ? b.between : 1, b.data);
  const Matrix result(DataType::F32, m, n, between, 1, c);
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}};
  checkDnnl(
      dnnl_primitive_execute(primitive.get(), stream.get(), 3, arguments));
}

} // namespace zrt::host
