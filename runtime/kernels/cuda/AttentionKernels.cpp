// Attention and its gradient on a device, of all heads or some: cuDNN's kernels
// where it has some, else own ones. Which of them is known when the program is
// planned.
#include "kernels/cuda/CudnnAttention.h"
#include "kernels/cuda/Kernels.h"
#include "kernels/shapes/AttentionShape.h"

namespace zrt::cuda {

namespace {

AttentionArguments argumentsOf(const KernelSpec &spec,
                               const KernelContext &context,
                               const AttentionShape &shape) {
  if (shape.features > kMostFeatures)
    refuse(spec, "heads of " + std::to_string(shape.features) +
                     " features; wanted at most " +
                     std::to_string(kMostFeatures));
  AttentionArguments a = {};
  a.type = spec.operands[0].type;
  a.batch = shape.batch;
  a.queries = shape.queries;
  a.heads = shape.heads;
  a.features = shape.features;
  a.keys = shape.keys;
  a.groups = shape.groups;
  a.causal = shape.causal;
  a.scale = shape.scale;
  std::copy(shape.maskStride, shape.maskStride + 4, a.maskStride);
  a.drops = shape.dropout.has_value();
  if (a.drops)
    a.draws = drawsOf(*shape.dropout, context, shape.batch);
  return a;
}

/// What the forward and the gradient share.
class EitherAttention : public CudnnChoice<CudnnAttention> {
protected:
  EitherAttention(const KernelSpec &spec, const KernelContext &context,
                  bool gradient)
      : CudnnChoice(spec), stream(context.cuda->stream),
        shape(spec, gradient ? 1 : 0, gradient ? 6 : 3),
        arguments(argumentsOf(spec, context, shape)), gradient(gradient),
        context(context) {}

  /// Once `arguments` has the shape. Refuses one that no kernel takes.
  void choose(const KernelSpec &spec) {
    AttentionProblem problem;
    problem.shape = arguments;
    problem.masked = shape.masked;
    problem.gradient = gradient;
    problem.deterministic =
        context.program && context.program->training.deterministic;
    cudnn = planCudnnAttention(problem, *context.cuda, reason);
    const std::string refusal = ownRefusal();
    mendsCudnn = cudnn && gradient && shape.masked && refusal.empty();
    if (!cudnn && !refusal.empty())
      refuse(spec, refusal);
  }

  /// Queues what was chosen, once `arguments` has the other addresses.
  void queue(void *const *b, void *workspace) {
    arguments.firstGroup =
        shape.partial ? at<int32_t>(b, shape.firstGroup) : nullptr;
    arguments.mask = shape.masked ? at<float>(b, shape.mask) : nullptr;
    if (cudnn)
      cudnn->run(arguments, workspace);
    arguments.workspace = workspace;
    if (gradient && (!cudnn || mendsCudnn))
      attentionGrad(arguments, stream, /*onlyIfNeeded=*/cudnn != nullptr);
    else if (!cudnn)
      attention(arguments, stream);
  }

  std::string choice() const override {
    const bool isUnmended = cudnn && gradient && shape.masked && !mendsCudnn;
    return CudnnChoice::choice() +
           (isUnmended ? ", whose gradients are wrong where a mask hides all "
                         "keys of a query by finite numbers: own kernels, "
                         "which would mend them, have no room"
                       : "");
  }

  cudaStream_t stream;
  AttentionShape shape;
  AttentionArguments arguments;

private:
  size_t ownWorkspaceBytes() const override {
    return gradient ? attentionGradWorkspace(arguments) : 0;
  }

  std::string ownRefusal() const override {
    const std::string refusal = attentionRefusal(arguments, gradient);
    return refusal.empty() ? "" : refusal + " (cuDNN: " + reason + ")";
  }

  bool gradient;
  /// Whether own kernels follow cuDNN's, which take probabilities from `lse`
  /// alone: only the values of a mask tell whether that may be done.
  bool mendsCudnn = false;
  const KernelContext context;
};

class AttentionKernel final : public EitherAttention {
public:
  AttentionKernel(const KernelSpec &spec, const KernelContext &context)
      : EitherAttention(spec, context, /*gradient=*/false) {
    arguments.qRows = RowStrides::of(spec.operands[0]);
    arguments.kRows = RowStrides::of(spec.operands[1]);
    arguments.vRows = RowStrides::of(spec.operands[2]);
    arguments.outRows = RowStrides::of(spec.results[0]);
    choose(spec);
  }

  void run(void *const *b, void *workspace) override {
    arguments.q = b[0];
    arguments.k = b[1];
    arguments.v = b[2];
    arguments.out = b[shape.results];
    arguments.lse = at<float>(b, shape.results + 1);
    queue(b, workspace);
  }
};

class AttentionGradKernel final : public EitherAttention {
public:
  AttentionGradKernel(const KernelSpec &spec, const KernelContext &context)
      : EitherAttention(spec, context, /*gradient=*/true) {
    arguments.doutRows = RowStrides::of(spec.operands[0]);
    arguments.qRows = RowStrides::of(spec.operands[1]);
    arguments.kRows = RowStrides::of(spec.operands[2]);
    arguments.vRows = RowStrides::of(spec.operands[3]);
    arguments.outRows = RowStrides::of(spec.operands[4]);
    arguments.dqRows = RowStrides::of(spec.results[0]);
    arguments.dkRows = RowStrides::of(spec.results[1]);
    arguments.dvRows = RowStrides::of(spec.results[2]);
    choose(spec);
  }

  void run(void *const *b, void *workspace) override {
    arguments.dout = b[0];
    arguments.q = b[1];
    arguments.k = b[2];
    arguments.v = b[3];
    arguments.out = b[4];
    arguments.lse = at<float>(b, 5);
    arguments.dq = b[shape.results];
    arguments.dk = b[shape.results + 1];
    arguments.dv = b[shape.results + 2];
    queue(b, workspace);
  }
};

} // namespace

std::string attentionText() {
  const std::string version = cudnnVersion();
  return version.empty()
             ? "own kernels: " + cudnnRefusal()
             : version + ", " + cudnnPlace() +
                   ", for 16-bit types where it has a kernel, else own "
                   "kernels; a run says which";
}

void registerAttentionKernels(Registry &registry) {
  registry.add("nn.attention", makeKernel<AttentionKernel>);
  registry.add("nn.attention_grad", makeKernel<AttentionGradKernel>);
  registry.add("nn.partial_attention", makeKernel<AttentionKernel>);
  registry.add("nn.partial_attention_grad", makeKernel<AttentionGradKernel>);
}

} // namespace zrt::cuda
