#include "kernels/host/AttentionParts.h"

namespace zrt::host {

AttentionShape::AttentionShape(const KernelSpec &spec, size_t first,
                               size_t mask) {
  const TensorType &q = spec.operands[first], &k = spec.operands[first + 1],
                   &v = spec.operands[first + 2];
  if (q.shape.size() != 4 || k.shape.size() != 4)
    refuse(spec, "q is " + describe(q) + " and k is " + describe(k) +
                     ", wanted four dimensions in each");
  batch = q.shape[0];
  queries = q.shape[1];
  heads = q.shape[2];
  features = q.shape[3];
  keys = k.shape[1];
  groups = k.shape[2];
  causal = spec.integer("causal") != 0;
  masked = spec.integer("mask") != 0;
  scale = static_cast<float>(spec.real("scale", 1));
  wantType(spec, "k", k, q.type, {batch, keys, groups, features});
  wantType(spec, "v", v, q.type, k.shape);
  if (groups == 0 || heads % groups)
    refuse(spec, std::to_string(heads) + " query heads do not share " +
                     std::to_string(groups) + " key heads evenly");
  if (causal && keys != queries)
    refuse(spec, "causal with " + std::to_string(queries) + " queries and " +
                     std::to_string(keys) + " keys, wanted equal numbers");
  if (!masked)
    return;
  const TensorType &m = spec.operands.at(mask);
  const int64_t full[4] = {batch, heads, queries, keys};
  std::vector<int64_t> strides = stridesOf(m.shape);
  size_t rank = m.shape.size(), skipped = 4 - rank;
  bool fits = (rank == 2 || rank == 4) && m.type == DataType::F32;
  for (size_t i = 0; fits && i < rank; ++i) {
    int64_t wanted = full[skipped + i];
    fits = m.shape[i] == wanted || (rank == 4 && m.shape[i] == 1);
    maskStride[skipped + i] = m.shape[i] == 1 ? 0 : strides[i];
  }
  if (!fits)
    refuse(spec, "the mask is " + describe(m) +
                     ", wanted f32 of [T, S], or of [B, H, T, S] with any of "
                     "them 1");
}

void multiplyPanels(const AttentionShape &shape, int64_t firstQuery,
                    int64_t count, const float *rows, const float *panels,
                    float *result) {
  const int64_t all = shape.keyWidth(), stride = shape.scoreStride();
  const int64_t last = shape.visible(firstQuery + count - 1);
  for (int64_t s = 0; s < last; s += kTileColumns) {
    const int64_t width = std::min(kTileColumns, all - s);
    for (int64_t i = 0; i < count; i += kTileRows) {
      const int64_t some = std::min(kTileRows, count - i);
      if (shape.visible(firstQuery + i + some - 1) <= s)
        continue;
      multiplyTile(some, width, shape.features,
                   {rows + i * shape.width(), shape.width(), 1}, panels, width,
                   result + i * stride + s, stride, false);
    }
    panels += shape.width() * width;
  }
}

void addMask(const AttentionShape &shape, const float *mask, int64_t b,
             int64_t h, int64_t t, float *scores) {
  const int64_t *stride = shape.maskStride;
  const float *row = mask + b * stride[0] + h * stride[1] + t * stride[2];
  for (int64_t s = 0; s < shape.visible(t); ++s)
    scores[s] += row[s * stride[3]];
}

} // namespace zrt::host
