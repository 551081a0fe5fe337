#include "kernels/shapes/RowStrides.h"

#include "program/Program.h"

namespace zrt {

RowStrides RowStrides::of(const TensorType &type) {
  const std::vector<int64_t> &s = type.strides;
  return s.empty() ? dense(type.shape[1], type.shape[2], type.shape[3])
                   : RowStrides{s[0], s[1], s[2]};
}

} // namespace zrt
