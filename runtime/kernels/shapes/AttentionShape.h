// The shape of an attention, from the spec of its kernel.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_ATTENTIONSHAPE_H
#define ZERO_RUNTIME_KERNELS_SHAPES_ATTENTIONSHAPE_H

#include "program/Program.h"

#include <cstddef>
#include <cstdint>

namespace zrt {

/// Sizes and attributes. q [B, T, H, D], k and v [B, S, G, D].
struct AttentionShape {
  int64_t batch, queries, heads, features, keys, groups;
  bool causal, masked;
  float scale;
  int64_t maskStride[4] = {0, 0, 0, 0}; ///< of b, h, t, s; 0 repeats

  /// Reads the operands q, k, v at `first` and the mask, if any, at `mask`.
  AttentionShape(const KernelSpec &spec, size_t first, size_t mask);

  /// Keys that query `t` sees.
  int64_t visible(int64_t t) const { return causal ? t + 1 : keys; }
};

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_ATTENTIONSHAPE_H
