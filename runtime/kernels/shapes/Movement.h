// Kernels that only move data, as copies between strided views.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_MOVEMENT_H
#define ZERO_RUNTIME_KERNELS_SHAPES_MOVEMENT_H

#include "program/Program.h"

#include <string>
#include <vector>

namespace zrt {

/// The steps of a kernel that moves elements, in the order of the members.
struct Movement {
  /// A copy of `sizes` elements: strides in elements, a source stride of 0
  /// repeats; buffers by their number; offsets in bytes.
  struct Part {
    std::vector<int64_t> sizes, fromStrides, toStrides;
    size_t elementBytes;
    size_t from, to;
    int64_t fromOffset = 0, toOffset = 0;
  };

  std::string fill;         ///< the element that fills the result; empty: none
  bool copiesWhole = false; ///< buffer 1 goes to buffer 2, which may be it
  std::vector<Part> parts;
};

/// nn.broadcast, nn.transpose, nn.split, and tensor.concat, extract_slice,
/// insert_slice, pad and splat, of specs that fit their rows.
Movement movementOf(const KernelSpec &spec);

/// The names that `movementOf` knows.
std::vector<std::string> movementNames();

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_MOVEMENT_H
