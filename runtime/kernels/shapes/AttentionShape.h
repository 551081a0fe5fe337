// The shape of an attention, from the spec of its kernel.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_ATTENTIONSHAPE_H
#define ZERO_RUNTIME_KERNELS_SHAPES_ATTENTIONSHAPE_H

#include "kernels/shapes/DropoutRule.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace zrt {

/// Sizes and attributes. q [B, T, H, D], k and v [B, S, G, D].
struct AttentionShape {
  int64_t batch, queries, heads, features, keys, groups;
  bool causal, masked;
  float scale;
  int64_t maskStride[4] = {0, 0, 0, 0}; ///< of b, h, t, s; 0 repeats
  /// The dropout of weights; none: all are kept.
  std::optional<DropoutRule> dropout;
  /// Whether an operand says which key head of the sample the first one is.
  bool partial;
  /// Indices of buffers: that operand's, the mask's and the first result's.
  size_t firstGroup, mask, results;

  /// Reads the operands q, k, v at `first`, and what may be absent from `rest`
  /// on.
  AttentionShape(const KernelSpec &spec, size_t first, size_t rest);

  /// The place of query `t` of head `h` and key 0 among a sample's weights,
  /// where the first key head is `group` of the sample's.
  int64_t placeOf(int64_t group, int64_t h, int64_t t) const {
    return ((group * (heads / groups) + h) * queries + t) * keys;
  }
  /// Keys that query `t` sees.
  int64_t visible(int64_t t) const { return causal ? t + 1 : keys; }
};

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_ATTENTIONSHAPE_H
