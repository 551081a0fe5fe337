// What attention and its gradient share: blocks, copies of operands into cache,
// and the scores of a block of queries.
//
// A worker takes one head at a time. It copies that head's keys and values
// once, then walks over the queries in blocks: scores of a block are [block,
// S], never [T, S]. Products go through `multiplyTile`, which sums in order, so
// that results are bitwise equal for any blocks and threads. Operands of
// products are f32, or pairs of bf16 where operands are bf16 and the CPU
// multiplies pairs; then probabilities and gradients of scores are rounded for
// the products that they are in. A vector of pairs is written `Vector`, too:
// its bits are no numbers.
#ifndef ZERO_RUNTIME_KERNELS_HOST_ATTENTIONPARTS_H
#define ZERO_RUNTIME_KERNELS_HOST_ATTENTIONPARTS_H

#include "kernels/host/DropoutDraws.h"
#include "kernels/host/SmallProduct.h"
#include "kernels/shapes/AttentionShape.h"
#include "kernels/shapes/RowStrides.h"

#include <algorithm>

namespace zrt::host {

/// `value` rounded up to whole vectors.
constexpr int64_t wholeLanes(int64_t value) {
  return (value + kLanes - 1) / kLanes * kLanes;
}

template <Word word>
inline constexpr int64_t elementsOf = word == Word::Pair ? 2 : 1;
/// Steps of a depth of so many elements.
template <Word word> constexpr int64_t stepsOf(int64_t elements) {
  return (elements + elementsOf<word> - 1) / elementsOf<word>;
}

/// The blocks in which the host computes an attention.
struct AttentionBlocks : AttentionShape {
  using AttentionShape::AttentionShape;

  int64_t width() const { return wholeLanes(features); } ///< of a copied row
  /// Words of a row of queries or keys as an operand, and with whole vectors.
  template <Word word> int64_t words() const {
    return features / elementsOf<word>;
  }
  template <Word word> int64_t wordWidth() const {
    return wholeLanes(words<word>());
  }
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

/// to[r][0..width) = change(from[r * stride ..]), `change` of zero past
/// `features`.
template <typename T, typename Change>
void copyRows(const T *from, int64_t rows, int64_t stride, int64_t features,
              float *to, int64_t width, Change change) {
  for (int64_t r = 0; r < rows; ++r)
    forEachVector(features, [&](Lanes at) {
      store(to + r * width + at.at, change(at.load(from + r * stride)));
    });
}
/// Copies rows without a factor, so that pairs stay as they are.
template <typename T>
void copyRows(const T *from, int64_t rows, int64_t stride, int64_t features,
              float *to, int64_t width) {
  copyRows(from, rows, stride, features, to, width,
           [](Vector value) { return value; });
}

/// row *= factor.
inline void scaleRow(float *row, int64_t count, float factor) {
  forEachVector(count, [&](Lanes at) { at.store(row, at.load(row) * factor); });
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
                 std::min<int64_t>(kLanes, features - d), tile, kLanes);
        transposeTile(tile, kLanes, to + d * width + j, width);
      }
    }
    to += depth * width;
  }
}

/// Rows of bf16 as rows of pairs: half as many words.
inline const float *pairsOf(const BFloat16 *rows) {
  return reinterpret_cast<const float *>(rows);
}

/// Lane by lane, rounded to bf16, as pairs.
ZERO_INLINE Vector pairUp(Vector first, Vector second) {
  WordVector words = bfloat16Bits(first) | bfloat16Bits(second) << 16;
  return vectorOf(words);
}

/// to[r / 2][d] = rows r and r + 1 of from, as pairs; the one behind the last
/// is zero.
inline void pairRows(const BFloat16 *from, int64_t rows, int64_t stride,
                     int64_t features, float *to, int64_t width) {
  for (int64_t r = 0; r < rows; r += 2)
    forEachVector(features, [&](Lanes at) {
      const BFloat16 *row = from + r * stride;
      Vector next = r + 1 < rows ? at.load(row + stride) : splat(0);
      store(to + r / 2 * width + at.at, pairUp(at.load(row), next));
    });
}

/// A row rounded to bf16, neighbours as pairs; `to` may be the row itself.
/// `count` is a multiple of 16.
inline void packRow(const float *row, int64_t count, float *to) {
  for (int64_t i = 0; i < count; i += kLanes)
    store(reinterpret_cast<BFloat16 *>(to) + i, load(row + i));
}

/// A head's keys, or values, as an operand whose columns are its rows.
template <Word word, typename T>
void copyOperandPanels(const AttentionBlocks &shape, const T *from,
                       int64_t stride, float *to) {
  if constexpr (word == Word::Pair)
    copyPanels(pairsOf(from), shape.keys, stride / 2, shape.words<word>(), to);
  else
    copyPanels(from, shape.keys, stride, shape.features, to);
}
/// `rows` rows as a left operand, times `factor` where words are floats.
template <Word word, typename T>
void copyOperandRows(const AttentionBlocks &shape, const T *from, int64_t rows,
                     int64_t stride, float factor, float *to) {
  if constexpr (word == Word::Pair)
    return copyRows(pairsOf(from), rows, stride / 2, shape.words<word>(), to,
                    shape.wordWidth<word>());
  copyRows(from, rows, stride, shape.features, to, shape.width(),
           [factor](Vector value) { return value * factor; });
}
/// `rows` rows as a right operand whose depth they are.
template <Word word, typename T>
void copyDepthRows(const AttentionBlocks &shape, const T *from, int64_t rows,
                   int64_t stride, float *to) {
  if constexpr (word == Word::Pair)
    pairRows(from, rows, stride, shape.features, to, shape.width());
  else
    copyRows(from, rows, stride, shape.features, to, shape.width());
}

/// result[i][s] = sum over d of rows[i][d] * panels[d][s], for the keys that
/// some query of a tile sees.
template <Word word>
void multiplyPanels(const AttentionBlocks &shape, int64_t firstQuery,
                    int64_t count, const float *rows, const float *panels,
                    float *result);

/// A kernel by the type of its first operand, and by how it multiplies: pairs
/// lie along the features of a head.
template <template <typename, Word> class K> struct ByWords {
  template <typename T> using Floats = K<T, Word::Float>;
};
template <template <typename, Word> class K>
std::unique_ptr<Kernel> makeForWords(const KernelSpec &spec,
                                     const KernelContext &context) {
  const TensorType &operand = spec.operands[0];
  if constexpr (kHasPairs)
    if (operand.type == DataType::BF16 && operand.shape.back() % 2 == 0)
      return std::make_unique<K<BFloat16, Word::Pair>>(spec, context);
  return makeForType<ByWords<K>::template Floats>(operand.type, spec, context);
}

/// What one run drops of the weights.
class WeightDropout {
public:
  WeightDropout(const AttentionBlocks &shape, const KernelContext &context) {
    if (shape.dropout)
      draws.emplace(*shape.dropout, context, shape.batch);
  }

  /// Reads which heads these are. Whether anything is dropped in this run.
  bool begin(const AttentionBlocks &shape, void *const *buffers) {
    group = shape.partial ? *at<int32_t>(buffers, shape.firstGroup) : 0;
    return draws && !draws->areOff();
  }

  /// Calls `use` as `DropoutDraws::forEach` does, for the keys that query
  /// (b, h, t) sees.
  template <typename Use>
  void forEach(const AttentionBlocks &shape, int64_t b, int64_t h, int64_t t,
               Use use) const {
    draws->forEach(b, shape.placeOf(group, h, t), shape.visible(t), use);
  }

private:
  std::optional<DropoutDraws> draws;
  int64_t group = 0;
};

/// Adds the mask to the scores of query (b, h, t).
void addMask(const AttentionBlocks &shape, const float *mask, int64_t b,
             int64_t h, int64_t t, float *scores);

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_ATTENTIONPARTS_H
