// The shape of a gather or scatter, from the spec of its kernel.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_INDEXSHAPE_H
#define ZERO_RUNTIME_KERNELS_SHAPES_INDEXSHAPE_H

#include "kernels/shapes/TensorShapes.h"

namespace zrt {

/// Element (o, k, i) of the part, which is what is gathered or scattered,
/// stands for element (o, position, i) of the whole; its position is (o, k, i %
/// idInner) of the ids. All are dense.
struct IndexShape {
  int64_t outer = 1;    ///< dimensions before `dim`
  int64_t size = 0;     ///< of `dim` in the whole
  int64_t count = 0;    ///< of `dim` in the part
  int64_t inner = 1;    ///< dimensions after `dim`
  int64_t idInner = 1;  ///< `inner`, or 1 where ids are those of rows
  int64_t firstRow = 0; ///< which position the first row of the whole has
  bool isBlock = false; ///< of rows: positions elsewhere are passed over
  DataType type;

  IndexShape(const KernelSpec &spec, const TensorType &whole,
             const TensorType &part, const TensorType &ids)
      : type(whole.type) {
    const auto dim = static_cast<size_t>(spec.integer("dim"));
    outer = product(whole, 0, dim);
    size = whole.shape[dim];
    count = part.shape[dim];
    inner = product(whole, dim + 1, whole.shape.size());
    idInner = ids.shape.size() == whole.shape.size() ? inner : 1;
    isBlock = spec.has("rows");
    firstRow = rowRange(spec, size).first;
  }

  int64_t ids() const { return outer * count * idInner; }
  bool byRows() const { return idInner == 1; }
};

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_INDEXSHAPE_H
