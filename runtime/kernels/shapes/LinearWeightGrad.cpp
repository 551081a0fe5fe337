#include "kernels/shapes/LinearWeightGrad.h"

#include "kernels/shapes/TensorShapes.h"

namespace zrt {

static TensorType asMatrix(const TensorType &type) {
  const Rows rows = rowsOf(type);
  return {type.type, {rows.count, rows.width}};
}

LinearWeightGradParts linearWeightGradParts(const KernelSpec &spec) {
  LinearWeightGradParts parts;
  const bool transposed = spec.integer("transposed") != 0;
  parts.left = transposed ? 0 : 1;
  parts.right = 1 - parts.left;
  parts.product.name = "nn.matmul";
  for (int operand : {parts.left, parts.right})
    parts.product.operands.push_back(asMatrix(spec.operands[size_t(operand)]));
  parts.product.results = {spec.results[0]};
  parts.product.ints = {{"transpose_a", {1}}, {"transpose_b", {0}}};
  parts.sums = sumsOverRows(spec.operands[0], spec.results[1]);
  return parts;
}

} // namespace zrt
