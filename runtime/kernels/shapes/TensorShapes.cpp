#include "kernels/shapes/TensorShapes.h"

#include <numeric>

namespace zrt {

int64_t product(const TensorType &type, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i)
    result *= type.shape[i];
  return result;
}

Rows rowsOf(const TensorType &type) {
  return {product(type, 0, type.shape.size() - 1), type.shape.back()};
}

RowRange rowRange(const KernelSpec &spec, int64_t total, const char *range) {
  auto rows = spec.ints.find(range);
  if (rows == spec.ints.end())
    return {0, total};
  return {rows->second[0], rows->second[1]};
}

KernelSpec sumsOverRows(const TensorType &x, const TensorType &sums) {
  std::vector<int64_t> dims(x.shape.size() - 1);
  std::iota(dims.begin(), dims.end(), 0);
  KernelSpec spec;
  spec.name = "nn.reduce";
  spec.operands = {x};
  spec.results = {sums};
  spec.ints = {{"kind", {static_cast<int64_t>(ReduceKind::Sum)}},
               {"dims", dims}};
  return spec;
}

std::vector<int64_t> stridesOf(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

} // namespace zrt
