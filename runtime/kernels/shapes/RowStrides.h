// Where the rows of a tensor of four dimensions are.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_ROWSTRIDES_H
#define ZERO_RUNTIME_KERNELS_SHAPES_ROWSTRIDES_H

#include <cstdint>

namespace zrt {

struct TensorType;

/// Elements between neighbours of [B, T, H, D]: from a batch, a token or a head
/// to the next. A row of D lies in one piece.
struct RowStrides {
  int64_t batch = 0, token = 0, head = 0;

  /// Of `type`, which has four dimensions.
  static RowStrides of(const TensorType &type);
  static RowStrides dense(int64_t tokens, int64_t heads, int64_t features) {
    return {tokens * heads * features, heads * features, features};
  }
  constexpr int64_t at(int64_t b, int64_t t, int64_t h) const {
    return b * batch + t * token + h * head;
  }
};

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_ROWSTRIDES_H
