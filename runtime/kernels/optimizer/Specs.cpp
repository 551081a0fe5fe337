#include "kernels/optimizer/Specs.h"

using namespace zrt;

JudgeRule zrt::judgeRuleOf(const KernelSpec &spec) {
  return {spec.real("clip"), spec.real("divisor"), spec.integer("exact") != 0,
          spec.integer("skip") != 0, spec.integer("micro_batches")};
}

ScaleRule zrt::scaleRuleOf(const KernelSpec &spec, const Training &training) {
  const LossScale &scale = training.lossScale;
  bool isDynamic = scale.kind == LossScaleKind::Dynamic;
  if (isDynamic && scale.window < 1)
    refuse(spec, "found a loss scale window of " +
                     std::to_string(scale.window) + ", wanted 1 or more");
  return {isDynamic,
          scale.consecutiveHysteresis,
          scale.minimum,
          scale.factor,
          scale.window,
          scale.hysteresis,
          training.accumulation};
}

UpdateShape zrt::updateShapeOf(const KernelSpec &spec, int states) {
  UpdateShape shape = {};
  shape.partition = partitionOf(spec);
  shape.states = states;
  const std::vector<TensorType> &types = spec.operands;
  const size_t least = 2 + states;
  shape.gradientType = types[0].type;
  shape.elements = types[0].elements();
  shape.isSplit = types[1].type == DataType::U16;
  shape.hasCompute = types.size() > least;
  shape.computeType = shape.hasCompute ? types[least].type : DataType::F32;
  return shape;
}

UpdateBuffers UpdateShape::bind(void *const *buffers) const {
  UpdateBuffers bound = {};
  bound.gradient = buffers[0];
  if (isSplit)
    bound.remainder = static_cast<uint16_t *>(buffers[1]);
  else
    bound.parameter = static_cast<float *>(buffers[1]);
  for (int k = 0; k < states; ++k)
    bound.states[k] = static_cast<float *>(buffers[2 + k]);
  if (hasCompute)
    bound.compute = buffers[2 + states];
  return bound;
}
