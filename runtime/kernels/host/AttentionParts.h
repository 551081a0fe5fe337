// What attention and its gradient share: the shape, copies of operands into
// cache, and the scores of a block of queries.
//
// A worker takes one head at a time. It copies that head's keys and values to
// f32 once, then walks over the queries in blocks: scores of a block are
// [block, S], never [T, S]. Products go through `multiplyTile`, which sums in
// order, so that the bits do not depend on the blocks or on threads.
#ifndef ZERO_RUNTIME_KERNELS_HOST_ATTENTIONPARTS_H
#define ZERO_RUNTIME_KERNELS_HOST_ATTENTIONPARTS_H

#include "kernels/host/Host.h"
#include "kernels/host/SmallProduct.h"

#include <algorithm>

namespace zrt::host {

/// `value` rounded up to whole vectors.
constexpr int64_t wholeLanes(int64_t value) {
  return (value + kLanes - 1) / kLanes * kLanes;
}

/// Sizes and attributes. q [B, T, H, D], k and v [B, S, G, D].
struct AttentionShape {
  int64_t batch, queries, heads, features, keys, groups;
  bool causal, masked;
  float scale;
  int64_t maskStride[4] = {0, 0, 0, 0}; ///< of b, h, t, s; 0 repeats

  /// Reads the operands q, k, v at `first` and the mask, if any, at `mask`.
  AttentionShape(const KernelSpec &spec, size_t first, size_t mask);

  int64_t width() const { return wholeLanes(features); } ///< of a copied row
  int64_t keyWidth() const { return wholeLanes(keys); }
  /// Of a row of scores: one vector more, since powers of two apart collide in
  /// the cache, and since zeros are written past a row's end.
  int64_t scoreStride() const { return keyWidth() + kLanes; }
  /// Queries of a block: scores take some 256 KB.
  int64_t blockQueries() const {
    constexpr int64_t elements = 65536, fewest = 36, most = 96;
    int64_t rows = elements / keyWidth() / kTileRows * kTileRows;
    return std::min(std::clamp(rows, fewest, most), queries);
  }
  /// Keys that query `t` sees.
  int64_t visible(int64_t t) const { return causal ? t + 1 : keys; }

  // Where row (b, t, h) of a [B, T, H, D] tensor begins.
  int64_t queryAt(int64_t b, int64_t t, int64_t h) const {
    return ((b * queries + t) * heads + h) * features;
  }
  int64_t keyAt(int64_t b, int64_t s, int64_t g) const {
    return ((b * keys + s) * groups + g) * features;
  }
};

/// Hands out pieces of a worker's part of the workspace; with no memory, only
/// counts them.
class Scratch {
public:
  explicit Scratch(void *memory) : memory(static_cast<char *>(memory)) {}
  float *take(int64_t floats) {
    size_t offset = used;
    used += padded(floats * sizeof(float));
    return memory ? reinterpret_cast<float *>(memory + offset) : nullptr;
  }
  size_t bytes() const { return used; }

private:
  char *memory;
  size_t used = 0;
};

/// to[r][0..width) = factor * from[r * stride ..], zero past `features`.
template <typename T>
void copyRows(const T *from, int64_t rows, int64_t stride, int64_t features,
              float factor, float *to, int64_t width) {
  for (int64_t r = 0; r < rows; ++r)
    forEachVector(features, [&](Lanes at) {
      store(to + r * width + at.at, at.load(from + r * stride) * factor);
    });
}

/// Transposes rows into panels of kTileColumns of them: panel p holds
/// [features][its rows], one after the other; missing rows are zero. `features`
/// is rounded up to whole vectors in both.
template <typename T>
void copyPanels(const T *from, int64_t rows, int64_t stride, int64_t features,
                float *to) {
  alignas(64) float tile[kLanes * kLanes];
  const int64_t all = wholeLanes(rows), depth = wholeLanes(features);
  for (int64_t first = 0; first < all; first += kTileColumns) {
    const int64_t width = std::min(kTileColumns, all - first);
    for (int64_t j = 0; j < width; j += kLanes) {
      const int64_t row = first + j,
                    some = std::min<int64_t>(kLanes, rows - row);
      if (some < kLanes)
        std::fill(tile, tile + kLanes * kLanes, 0.0f);
      for (int64_t d = 0; d < depth; d += kLanes) {
        copyRows(from + row * stride + d, some, stride,
                 std::min<int64_t>(kLanes, features - d), 1, tile, kLanes);
        transposeTile(tile, kLanes, to + d * width + j, width);
      }
    }
    to += depth * width;
  }
}

/// result[i][s] = sum over d of rows[i][d] * panels[d][s], for the keys that
/// some query of a tile sees.
void multiplyPanels(const AttentionShape &shape, int64_t firstQuery,
                    int64_t count, const float *rows, const float *panels,
                    float *result);

/// Adds the mask to the scores of query (b, h, t).
void addMask(const AttentionShape &shape, const float *mask, int64_t b,
             int64_t h, int64_t t, float *scores);

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_ATTENTIONPARTS_H
