#include "kernels/optimizer/Specs.h"

using namespace zrt;

JudgeRule zrt::judgeRuleOf(const KernelSpec &spec) {
  return {spec.real("clip"), spec.real("divisor"), spec.integer("exact") != 0,
          spec.integer("skip") != 0};
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
  std::vector<TensorType> types = bufferTypes(spec);
  size_t least = 2 + states;
  if (types.size() != least)
    expectBuffers(spec, types.size(), least + 1,
                  "gradient, f32 parameter (or the lower 16 bits of it), "
                  "states, and the 16-bit parameter where there is one");
  expectLane(spec, types[0].type);
  shape.gradientType = types[0].type;
  shape.elements = types[0].elements();
  for (size_t i = 1; i < types.size(); ++i)
    expectElements(spec, types[i], shape.elements);
  shape.isSplit = types[1].type == DataType::U16;
  for (size_t i = shape.isSplit ? 2 : 1; i < least; ++i)
    expectType(spec, types[i], DataType::F32,
               "a parameter that is updated or its state");
  shape.hasCompute = types.size() > least;
  shape.computeType = shape.hasCompute ? types[least].type : DataType::F32;
  expectLane(spec, shape.computeType);
  if (shape.isSplit && shape.computeType != DataType::BF16)
    refuse(spec, "found the lower 16 bits of a master, wanted its bf16 "
                 "parameter as the last buffer");
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
