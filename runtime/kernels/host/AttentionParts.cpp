#include "kernels/host/AttentionParts.h"

namespace zrt::host {

template <Word word>
void multiplyPanels(const AttentionBlocks &shape, int64_t firstQuery,
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

template void multiplyPanels<Word::Float>(const AttentionBlocks &, int64_t,
                                          int64_t, const float *, const float *,
                                          float *);
#ifdef __AVX512BF16__
template void multiplyPanels<Word::Pair>(const AttentionBlocks &, int64_t,
                                         int64_t, const float *, const float *,
                                         float *);
#endif

void addMask(const AttentionBlocks &shape, const float *mask, int64_t b,
             int64_t h, int64_t t, float *scores) {
  const int64_t *stride = shape.maskStride;
  const float *row = mask + b * stride[0] + h * stride[1] + t * stride[2];
  for (int64_t s = 0; s < shape.visible(t); ++s)
    scores[s] += row[s * stride[3]];
}

} // namespace zrt::host
