// The `zero` operations on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/optimizer/Specs.h"

namespace zrt::cuda {

namespace {

class CopyKernel final : public Kernel {
public:
  CopyKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), control(context.control),
        from(spec.operands[0]), to(spec.operands[1]),
        ofUpdate(spec.integer("updated") != 0) {
    if (ofUpdate && from.type != to.type)
      throw std::runtime_error("copies updated parameters from one type to "
                               "another, wanted one type");
  }

  void run(void *const *buffers, void *) override {
    if (ofUpdate)
      return copyUpdated(buffers[0], buffers[1], from.bytes(), control, stream);
    if (from.type != to.type)
      return convert(from.type, buffers[0], to.type, buffers[1],
                     from.elements(), stream);
    if (buffers[0] != buffers[1] && from.bytes())
      check(cudaMemcpyAsync(buffers[1], buffers[0], from.bytes(),
                            cudaMemcpyDefault, stream),
            "cudaMemcpyAsync");
  }

private:
  cudaStream_t stream;
  const Control *control;
  TensorType from, to;
  bool ofUpdate;
};

class ClearKernel final : public Kernel {
public:
  ClearKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), bytes(spec.operands[0].bytes()) {}

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
      : context(context), owns(isOwner(spec, context)), adds(spec.has("add")),
        from(spec.operands[0]), to(spec.operands[1]) {
    checkSum(spec, context);
  }

  void run(void *const *buffers, void *) override {
    if (owns)
      accumulate(from.type, buffers[0], to.type, buffers[1], from.elements(),
                 adds, context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  bool owns, adds;
  TensorType from, to;
};

/// The seed and the loss are the last result and the first operand; the weight
/// is the operand that is left, if any.
template <bool records> class LossKernel final : public Kernel {
public:
  LossKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), weighted(spec.operands.size() > (records ? 1 : 0)),
        type((records ? spec.operands : spec.results)[0].type) {}

  void run(void *const *buffers, void *) override {
    const auto *weight =
        weighted ? static_cast<const float *>(buffers[records]) : nullptr;
    if (records)
      recordLoss(type, buffers[0], weight, context.control,
                 context.cuda->stream);
    else
      seedLoss(type, weight, buffers[weighted], context.control,
               context.cuda->stream);
  }

private:
  KernelContext context;
  bool weighted;
  DataType type;
};

class StatisticsKernel final : public Kernel {
public:
  StatisticsKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const TensorType &gradient = spec.operands[0];
    arguments = {gradient.type,
                 nullptr,
                 countsElements(spec, context) ? gradient.elements() : 0,
                 partitionOf(spec),
                 spec.integer("first") != 0,
                 spec.integer("exact") != 0,
                 spec.integer("finite_only") == 0,
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
      : context(context), rule(judgeRuleOf(spec)) {}

  void run(void *const *, void *) override {
    gradientScale(rule, context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  JudgeRule rule;
};

template <typename Rule> class UpdateKernel final : public Kernel {
public:
  UpdateKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), spec(spec) {}

  void run(void *const *buffers, void *) override {
    const UpdateShape &shape = spec.shape;
    const DeviceUpdate<Rule> arguments = {
        shape.bind(buffers), spec.hyper,        shape.partition,
        shape.gradientType,  shape.computeType, shape.elements,
        context.control};
    update(arguments, context.cuda->stream);
  }

private:
  KernelContext context;
  UpdateSpec<Rule> spec;
};

class UpdateScaleKernel final : public Kernel {
public:
  UpdateScaleKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), rule(scaleRuleOf(spec, context.program->training)) {}

  void run(void *const *, void *) override {
    zrt::cuda::updateScale(rule, context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  ScaleRule rule;
};

} // namespace

void registerOptimizerKernels(Registry &registry) {
  registry.add("zero.copy", makeKernel<CopyKernel>);
  registry.add("zero.clear", makeKernel<ClearKernel>);
  registry.add("zero.accumulate", makeKernel<AccumulateKernel>);
  registry.add("zero.loss_seed", makeKernel<LossKernel<false>>);
  registry.add("zero.record_loss", makeKernel<LossKernel<true>>);
  registry.add("zero.grad_stats", makeKernel<StatisticsKernel>);
  registry.add("zero.grad_scale", makeKernel<GradientScaleKernel>);
#define REGISTER(Rule)                                                         \
  registry.add(rules::Rule::kName, makeKernel<UpdateKernel<rules::Rule>>);
  ZRT_FOR_EACH_UPDATE_RULE(REGISTER)
#undef REGISTER
  registry.add("zero.update_scale", makeKernel<UpdateScaleKernel>);
}

} // namespace zrt::cuda
