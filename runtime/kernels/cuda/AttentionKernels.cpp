// nn.attention and nn.attention_grad on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/host/AttentionParts.h"
#include "kernels/optimizer/Specs.h"

namespace zrt::cuda {

using host::at;
using host::AttentionShape;
using host::wantBuffers;
using host::wantType;

namespace {

AttentionArguments argumentsOf(const KernelSpec &spec,
                               const AttentionShape &shape, DataType type) {
  expectLane(spec, type);
  if (shape.features > kMostFeatures)
    refuse(spec, "heads of " + std::to_string(shape.features) +
                     " features; wanted at most " +
                     std::to_string(kMostFeatures));
  AttentionArguments a = {};
  a.type = type;
  a.batch = shape.batch;
  a.queries = shape.queries;
  a.heads = shape.heads;
  a.features = shape.features;
  a.keys = shape.keys;
  a.groups = shape.groups;
  a.causal = shape.causal;
  a.scale = shape.scale;
  std::copy(shape.maskStride, shape.maskStride + 4, a.maskStride);
  return a;
}

class AttentionKernel final : public Kernel {
public:
  AttentionKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), masked(spec.integer("mask") != 0) {
    wantBuffers(spec, masked ? 4 : 3, 2);
    const AttentionShape shape(spec, 0, 3);
    const TensorType &q = spec.operands[0];
    wantType(spec, "the result", spec.results[0], q.type, q.shape);
    wantType(spec, "lse", spec.results[1], DataType::F32,
             {shape.batch, shape.heads, shape.queries});
    arguments = argumentsOf(spec, shape, q.type);
  }

  void run(void *const *b, void *) override {
    arguments.q = b[0];
    arguments.k = b[1];
    arguments.v = b[2];
    arguments.mask = masked ? at<float>(b, 3) : nullptr;
    arguments.out = b[masked ? 4 : 3];
    arguments.lse = at<float>(b, masked ? 5 : 4);
    attention(arguments, stream);
  }

private:
  cudaStream_t stream;
  bool masked;
  AttentionArguments arguments;
};

class AttentionGradKernel final : public Kernel {
public:
  AttentionGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), masked(spec.integer("mask") != 0) {
    wantBuffers(spec, masked ? 7 : 6, 3);
    const AttentionShape shape(spec, 1, 6);
    const TensorType &q = spec.operands[1], &k = spec.operands[2];
    wantType(spec, "dout", spec.operands[0], q.type, q.shape);
    wantType(spec, "out", spec.operands[4], q.type, q.shape);
    wantType(spec, "lse", spec.operands[5], DataType::F32,
             {shape.batch, shape.heads, shape.queries});
    wantType(spec, "dq", spec.results[0], q.type, q.shape);
    wantType(spec, "dk", spec.results[1], q.type, k.shape);
    wantType(spec, "dv", spec.results[2], q.type, k.shape);
    arguments = argumentsOf(spec, shape, q.type);
  }

  size_t workspaceBytes() const override {
    return attentionGradWorkspace(arguments);
  }

  void run(void *const *b, void *workspace) override {
    arguments.dout = b[0];
    arguments.q = b[1];
    arguments.k = b[2];
    arguments.v = b[3];
    arguments.out = b[4];
    arguments.lse = at<float>(b, 5);
    arguments.mask = masked ? at<float>(b, 6) : nullptr;
    void *const *results = b + (masked ? 7 : 6);
    arguments.dq = results[0];
    arguments.dk = results[1];
    arguments.dv = results[2];
    arguments.workspace = workspace;
    attentionGrad(arguments, stream);
  }

private:
  cudaStream_t stream;
  bool masked;
  AttentionArguments arguments;
};

} // namespace

void registerAttention(Registry &registry) {
  registry.add("nn.attention", makeKernel<AttentionKernel>);
  registry.add("nn.attention_grad", makeKernel<AttentionGradKernel>);
}

} // namespace zrt::cuda
