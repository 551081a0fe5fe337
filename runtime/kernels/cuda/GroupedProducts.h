// Products of groups of rows in 16 bits, as functions that queue them on a
// stream.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_GROUPEDPRODUCTS_H
#define ZERO_RUNTIME_KERNELS_CUDA_GROUPEDPRODUCTS_H

#include "program/Program.h"

#include <cuda_runtime_api.h>

namespace zrt {
struct Control;
} // namespace zrt

namespace zrt::cuda {

/// What is multiplied: rows by their group's matrix, by the transpose of what
/// is stored of it, or the rows of a group by each other, which gives the
/// gradient of its matrix.
enum class GroupedForm { Plain, Transposed, Gradient };

struct GroupedShape {
  GroupedForm form;
  int64_t rows, groups;         ///< of the left operand, and of its rows
  int64_t width, columns;       ///< of the left operand, and of the result
  int64_t firstGroup, matrices; ///< that a gradient is of
};

/// Addresses are the device's.
struct GroupedBuffers {
  const void *left, *right;
  const int32_t *offsets;
  void *result;
  Control *control;
};

/// Blocks that a product takes, of which a device has at most kMostBlocks.
int64_t groupedProductBlocks(const GroupedShape &shape);
inline constexpr int64_t kMostBlocks = 0x7fffffff;

/// Of bf16 or f16, on tensor cores.
void groupedProducts(const GroupedShape &shape, DataType type,
                     const GroupedBuffers &buffers, cudaStream_t stream);

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_GROUPEDPRODUCTS_H
