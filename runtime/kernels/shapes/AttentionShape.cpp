#include "kernels/shapes/AttentionShape.h"

#include "kernels/shapes/TensorShapes.h"

namespace zrt {

AttentionShape::AttentionShape(const KernelSpec &spec, size_t first,
                               size_t rest) {
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
  if (spec.has("dropout"))
    dropout.emplace(spec, "dropout");
  partial = spec.operands.size() > rest + masked;
  firstGroup = rest;
  mask = rest + partial;
  results = mask + masked;
  if (!masked)
    return;
  // [T, S], or [B, H, T, S] with any of them 1.
  const TensorType &m = spec.operands[mask];
  const std::vector<int64_t> strides = stridesOf(m.shape);
  const size_t rank = m.shape.size(), skipped = 4 - rank;
  for (size_t i = 0; i < rank; ++i)
    maskStride[skipped + i] = m.shape[i] == 1 ? 0 : strides[i];
}

} // namespace zrt
