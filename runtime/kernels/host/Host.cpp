#include "kernels/host/Host.h"

#include <stdexcept>

namespace zrt::host {

void refuse(const KernelSpec &spec, const std::string &why) {
  throw std::invalid_argument("kernel '" + spec.name + "': " + why);
}

void wantBuffers(const KernelSpec &spec, size_t operands, size_t results) {
  if (spec.operands.size() == operands && spec.results.size() == results)
    return;
  refuse(spec, "found " + std::to_string(spec.operands.size()) +
                   " operands and " + std::to_string(spec.results.size()) +
                   " results, wanted " + std::to_string(operands) + " and " +
                   std::to_string(results));
}

void wantType(const KernelSpec &spec, const char *what, const TensorType &type,
              DataType element, const std::vector<int64_t> &shape) {
  TensorType wanted{element, shape};
  if (!(type == wanted))
    refuse(spec, std::string(what) + " is " + describe(type) + ", wanted " +
                     describe(wanted));
}

std::string describe(const TensorType &type) {
  std::string text;
  for (int64_t size : type.shape)
    text += std::to_string(size) + "x";
  return text + nameOf(type.type);
}

int64_t product(const TensorType &type, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i)
    result *= type.shape[i];
  return result;
}

Rows rowsOf(const KernelSpec &spec, const TensorType &type) {
  if (type.shape.empty())
    refuse(spec, "the operand is a scalar, wanted at least one dimension");
  return {product(type, 0, type.shape.size() - 1), type.shape.back()};
}

RowRange rowRange(const KernelSpec &spec, int64_t total) {
  auto found = spec.ints.find("rows");
  if (found == spec.ints.end())
    return {0, total};
  const std::vector<int64_t> &rows = found->second;
  if (rows.size() != 2 || rows[0] < 0 || rows[0] >= rows[1] || rows[1] > total)
    refuse(spec,
           "rows are no range of the " + std::to_string(total) + " there are");
  return {rows[0], rows[1]};
}

std::vector<int64_t> stridesOf(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

} // namespace zrt::host
