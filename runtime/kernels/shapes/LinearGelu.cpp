#include "kernels/shapes/LinearGelu.h"

#include "kernels/shapes/TensorShapes.h"

namespace zrt {

LinearGeluParts linearGeluParts(const KernelSpec &spec) {
  LinearGeluParts parts;
  parts.isGradient = spec.name == "nn.linear_gelu_grad";
  const bool bias = spec.integer("bias") != 0;
  const size_t operands = bias || parts.isGradient ? 3 : 2;
  const size_t results = spec.results.size() == 2 ? 2 : 1;
  parts.product = spec;
  parts.product.name = "nn.linear";
  parts.product.operands.resize(bias ? 3 : 2);
  parts.product.results.resize(1);
  parts.hasSums = parts.isGradient && results == 2;
  if (!parts.isGradient) {
    parts.h = results == 2 ? int(operands) + 1 : -1;
    return parts;
  }
  parts.h = 2;
  if (parts.hasSums)
    parts.sums = sumsOverRows(spec.results[0], spec.results[1]);
  return parts;
}

} // namespace zrt
