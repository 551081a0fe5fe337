// The `zero` operations on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/optimizer/Specs.h"

namespace zrt::cuda {

namespace {

class CopyKernel final : public Kernel {
public:
  CopyKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const std::vector<TensorType> types = bufferTypes(spec);
    expectBuffers(spec, types.size(), 2, "source, destination");
    from = types[0];
    to = types[1];
    expectElements(spec, to, from.elements());
    if (from.type == to.type)
      return;
    expectLane(spec, from.type);
    expectLane(spec, to.type);
  }

  void run(void *const *buffers, void *) override {
    if (from.type != to.type)
      return convert(from.type, buffers[0], to.type, buffers[1],
                     from.elements(), stream);
    if (buffers[0] != buffers[1] && from.bytes())
      check(cudaMemcpyAsync(buffers[1], buffers[0], from.bytes(),
                            cudaMemcpyDeviceToDevice, stream),
            "cudaMemcpyAsync");
  }

private:
  cudaStream_t stream;
  TensorType from, to;
};

class ClearKernel final : public Kernel {
public:
  ClearKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const std::vector<TensorType> types = bufferTypes(spec);
    expectBuffers(spec, types.size(), 1, "destination");
    bytes = types[0].bytes();
  }

  void run(void *const *buffers, void *) override {
    if (bytes)
      check(cudaMemsetAsync(buffers[0], 0, bytes, stream), "cudaMemsetAsync");
  }

private:
  cudaStream_t stream;
  size_t bytes;
};

class AccumulateKernel final : public Kernel {
public:
  AccumulateKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context),
        isOwner(!spec.has("owner") || spec.integer("owner") == context.rank) {
    const std::vector<TensorType> types = bufferTypes(spec);
    expectBuffers(spec, types.size(), 2, "addend, sum");
    from = types[0];
    to = types[1];
    expectElements(spec, to, from.elements());
    expectLane(spec, from.type);
    expectLane(spec, to.type);
    const int accumulation = context.program->training.accumulation;
    if (to.type != DataType::F32 && accumulation > 1)
      refuse(spec, std::string("found a sum of ") +
                       std::to_string(accumulation) + " micro-batches in " +
                       nameOf(to.type) + ", wanted f32");
  }

  void run(void *const *buffers, void *) override {
    if (isOwner)
      accumulate(from.type, buffers[0], to.type, buffers[1], from.elements(),
                 context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  bool isOwner;
  TensorType from, to;
};

/// One scalar, and the control block.
template <bool records> class LossKernel final : public Kernel {
public:
  LossKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context) {
    const std::vector<TensorType> types = bufferTypes(spec);
    expectBuffers(spec, types.size(), 1, "the loss or its gradient");
    expectLane(spec, types[0].type);
    if (types[0].elements() != 1)
      refuse(spec, "found " + std::to_string(types[0].elements()) +
                       " elements, wanted a scalar");
    type = types[0].type;
  }

  void run(void *const *buffers, void *) override {
    if (records)
      recordLoss(type, buffers[0], context.control, context.cuda->stream);
    else
      seedLoss(type, buffers[0], context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  DataType type;
};

class StatisticsKernel final : public Kernel {
public:
  StatisticsKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const std::vector<TensorType> types = bufferTypes(spec);
    expectBuffers(spec, types.size(), 1, "the gradient");
    expectLane(spec, types[0].type);
    arguments = {types[0].type,
                 nullptr,
                 types[0].elements(),
                 partitionOf(spec),
                 spec.integer("first") != 0,
                 spec.integer("exact") != 0,
                 spec.integer("base"),
                 context.control,
                 nullptr};
  }

  size_t workspaceBytes() const override {
    return statisticsWorkspace(arguments.elements);
  }

  void run(void *const *buffers, void *workspace) override {
    arguments.gradient = buffers[0];
    arguments.workspace = workspace;
    gradientStatistics(arguments, stream);
  }

private:
  cudaStream_t stream;
  StatisticsArguments arguments;
};

class GradientScaleKernel final : public Kernel {
public:
  GradientScaleKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), clip(spec.real("clip")),
        divisor(spec.real("divisor", 1)), exact(spec.integer("exact") != 0),
        skip(spec.integer("skip", 1) != 0) {
    expectBuffers(spec, bufferTypes(spec).size(), 0,
                  "all is in the control block");
    if (!(clip >= 0) || !(divisor > 0))
      refuse(spec, "found clip " + std::to_string(clip) + " and divisor " +
                       std::to_string(divisor) +
                       ", wanted clip >= 0 and divisor > 0");
  }

  void run(void *const *, void *) override {
    gradientScale(clip, divisor, exact, skip, context.control,
                  context.cuda->stream);
  }

private:
  KernelContext context;
  double clip, divisor;
  bool exact, skip;
};

template <UpdateRule rule> class UpdateKernel final : public Kernel {
public:
  UpdateKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    arguments = {};
    arguments.rule = rule;
    arguments.partition = partitionOf(spec);
    arguments.beta1 = spec.real("beta1", 0.9);
    arguments.beta2 = spec.real("beta2", 0.999);
    arguments.epsilon = spec.real("epsilon", 1e-8);
    arguments.weightDecay = spec.real("weight_decay");
    arguments.momentum = spec.real("momentum");
    arguments.biasCorrection = spec.integer("bias_correction", 1) != 0;
    arguments.nesterov = spec.integer("nesterov") != 0;
    arguments.control = context.control;
    moments = rule != UpdateRule::Sgd ? 2 : arguments.momentum != 0 ? 1 : 0;
    readTypes(spec);
  }

  void run(void *const *buffers, void *) override {
    arguments.gradient = buffers[0];
    if (isSplit)
      arguments.remainder = static_cast<uint16_t *>(buffers[1]);
    else
      arguments.parameter = static_cast<float *>(buffers[1]);
    if (moments > 0)
      arguments.moment1 = static_cast<float *>(buffers[2]);
    if (moments > 1)
      arguments.moment2 = static_cast<float *>(buffers[3]);
    arguments.compute = hasCompute ? buffers[2 + moments] : nullptr;
    update(arguments, stream);
  }

private:
  void readTypes(const KernelSpec &spec) {
    const std::vector<TensorType> types = bufferTypes(spec);
    const size_t least = 2 + moments;
    if (types.size() != least)
      expectBuffers(spec, types.size(), least + 1,
                    "gradient, f32 parameter (or the lower 16 bits of it), "
                    "moments, and the 16-bit parameter where there is one");
    expectLane(spec, types[0].type);
    arguments.gradientType = types[0].type;
    arguments.elements = types[0].elements();
    for (size_t i = 1; i < types.size(); ++i)
      expectElements(spec, types[i], arguments.elements);
    isSplit = types[1].type == DataType::U16;
    for (size_t i = isSplit ? 2 : 1; i < least; ++i)
      expectType(spec, types[i], DataType::F32,
                 "a parameter that is updated or its moment");
    hasCompute = types.size() > least;
    if (hasCompute) {
      arguments.computeType = types[least].type;
      expectLane(spec, arguments.computeType);
    }
    if (isSplit && (!hasCompute || arguments.computeType != DataType::BF16))
      refuse(spec, "found the lower 16 bits of a master, wanted its bf16 "
                   "parameter as the last buffer");
  }

  cudaStream_t stream;
  UpdateRuleArguments arguments;
  int moments;
  bool hasCompute = false, isSplit = false;
};

class UpdateScaleKernel final : public Kernel {
public:
  UpdateScaleKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const Training &training = context.program->training;
    const LossScale &scale = training.lossScale;
    expectBuffers(spec, bufferTypes(spec).size(), 0,
                  "all is in the control block");
    arguments = {scale.kind == LossScaleKind::Dynamic,
                 scale.consecutiveHysteresis,
                 scale.minimum,
                 scale.factor,
                 scale.window,
                 scale.hysteresis,
                 training.accumulation,
                 context.control};
    if (arguments.dynamic && scale.window < 1)
      refuse(spec, "found a loss scale window of " +
                       std::to_string(scale.window) + ", wanted 1 or more");
  }

  void run(void *const *, void *) override { updateScale(arguments, stream); }

private:
  cudaStream_t stream;
  ScaleArguments arguments;
};

} // namespace

void registerOptimizer(Registry &registry) {
  registry.add("zero.copy", makeKernel<CopyKernel>);
  registry.add("zero.clear", makeKernel<ClearKernel>);
  registry.add("zero.accumulate", makeKernel<AccumulateKernel>);
  registry.add("zero.loss_seed", makeKernel<LossKernel<false>>);
  registry.add("zero.record_loss", makeKernel<LossKernel<true>>);
  registry.add("zero.grad_stats", makeKernel<StatisticsKernel>);
  registry.add("zero.grad_scale", makeKernel<GradientScaleKernel>);
  registry.add("zero.adamw", makeKernel<UpdateKernel<UpdateRule::AdamW>>);
  registry.add("zero.adam", makeKernel<UpdateKernel<UpdateRule::Adam>>);
  registry.add("zero.sgd", makeKernel<UpdateKernel<UpdateRule::Sgd>>);
  registry.add("zero.update_scale", makeKernel<UpdateScaleKernel>);
}

} // namespace zrt::cuda
