// Sizes of the tensors of a spec, and ranges of their rows.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_TENSORSHAPES_H
#define ZERO_RUNTIME_KERNELS_SHAPES_TENSORSHAPES_H

#include "program/Program.h"

#include <cstdint>
#include <vector>

namespace zrt {

/// The product of dims [begin, end) of `type`.
int64_t product(const TensorType &type, size_t begin, size_t end);

/// A tensor seen as rows of its last dimension.
struct Rows {
  int64_t count = 1;
  int64_t width = 1;
};

/// The rows of `type`, which has a dimension.
Rows rowsOf(const TensorType &type);

/// Rows [first, last) of a result that "rows", or another range, asks for; of
/// `total`, all if it is not there.
struct RowRange {
  int64_t first = 0;
  int64_t last = 0;
};
RowRange rowRange(const KernelSpec &spec, int64_t total,
                  const char *range = "rows");

/// nn.reduce sum of `x` over all but its last dimension.
KernelSpec sumsOverRows(const TensorType &x, const TensorType &sums);

/// The row-major strides of `shape`, in elements.
std::vector<int64_t> stridesOf(const std::vector<int64_t> &shape);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_TENSORSHAPES_H
