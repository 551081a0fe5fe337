#include "kernels/host/AttentionParts.h"

zrt::RowStrides zrt::RowStrides::of(const TensorType &type) {
  const std::vector<int64_t> &s = type.strides;
  return s.empty() ? dense(type.shape[1], type.shape[2], type.shape[3])
                   : RowStrides{s[0], s[1], s[2]};
}

namespace zrt::host {

AttentionShape::AttentionShape(const KernelSpec &spec, size_t first,
                               size_t mask) {
  const TensorType &q = spec.operands[first], &k = spec.operands[first + 1];
  batch = q.shape[0];
  queries = q.shape[1];
  heads = q.shape[2];
  features = q.shape[3];
  keys = k.shape[1];
  groups = k.shape[2];
  causal = spec.integer("causal") != 0;
  masked = spec.integer("mask") != 0;
  scale = static_cast<float>(spec.real("scale", 1));
  if (!masked)
    return;
  // [T, S], or [B, H, T, S] with any of them 1.
  const TensorType &m = spec.operands[mask];
  const std::vector<int64_t> strides = stridesOf(m.shape);
  const size_t rank = m.shape.size(), skipped = 4 - rank;
  for (size_t i = 0; i < rank; ++i)
    maskStride[skipped + i] = m.shape[i] == 1 ? 0 : strides[i];
}

template <Word word>
void multiplyPanels(const AttentionShape &shape, int64_t firstQuery,
                    int64_t count, const float *rows, const float *panels,
                    float *result) {
  const int64_t all = shape.keyWidth(), stride = shape.scoreStride();
  const int64_t rowWidth = shape.wordWidth<word>();
  const int64_t last = shape.visible(firstQuery + count - 1);
  for (int64_t s = 0; s < last; s += kTileColumns) {
    const int64_t width = std::min(kTileColumns, all - s);
    for (int64_t i = 0; i < count; i += kTileRows) {
      const int64_t some = std::min(kTileRows, count - i);
      if (shape.visible(firstQuery + i + some - 1) <= s)
        continue;
      multiplyTile<word>(some, width, shape.words<word>(),
                         {rows + i * rowWidth, rowWidth, 1}, panels, width,
                         result + i * stride + s, stride, false);
    }
    panels += rowWidth * width;
  }
}

template void multiplyPanels<Word::Float>(const AttentionShape &, int64_t,
                                          int64_t, const float *, const float *,
                                          float *);
#ifdef __AVX512BF16__
template void multiplyPanels<Word::Pair>(const AttentionShape &, int64_t,
                                         int64_t, const float *, const float *,
                                         float *);
#endif

void addMask(const AttentionShape &shape, const float *mask, int64_t b,
             int64_t h, int64_t t, float *scores) {
  const int64_t *stride = shape.maskStride;
  const float *row = mask + b * stride[0] + h * stride[1] + t * stride[2];
  for (int64_t s = 0; s < shape.visible(t); ++s)
    scores[s] += row[s * stride[3]];
}

} // namespace zrt::host
