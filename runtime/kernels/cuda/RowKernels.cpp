// Norms, softmax and cross entropy on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/host/Host.h"
#include "kernels/optimizer/Specs.h"

namespace zrt::cuda {

using host::at;
using host::Rows;
using host::rowsOf;
using host::wantBuffers;
using host::wantType;

namespace {

std::vector<int64_t> leading(const TensorType &type) {
  return {type.shape.begin(), type.shape.end() - 1};
}

RowsShape shapeOf(const KernelSpec &spec, const TensorType &type) {
  const Rows rows = rowsOf(spec, type);
  expectLane(spec, type.type);
  return {type.type, rows.count, rows.width};
}

template <bool centred> class NormKernel final : public Kernel {
public:
  NormKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream),
        epsilon(static_cast<float>(spec.real("eps"))) {
    wantBuffers(spec, centred ? 3 : 2, centred ? 3 : 2);
    const TensorType &x = spec.operands[0];
    shape = shapeOf(spec, x);
    for (size_t i = 1; i < spec.operands.size(); ++i)
      wantType(spec, "the weight or bias", spec.operands[i], x.type,
               {shape.width});
    wantType(spec, "the result", spec.results[0], x.type, x.shape);
    for (size_t i = 1; i < spec.results.size(); ++i)
      wantType(spec, "the mean or rstd", spec.results[i], DataType::F32,
               leading(x));
  }

  void run(void *const *b, void *) override {
    if (centred)
      norm(shape, epsilon, b[0], b[1], b[2], b[3], at<float>(b, 4),
           at<float>(b, 5), stream);
    else
      norm(shape, epsilon, b[0], b[1], nullptr, b[2], nullptr, at<float>(b, 3),
           stream);
  }

private:
  cudaStream_t stream;
  float epsilon;
  RowsShape shape;
};

template <bool centred> class NormGradKernel final : public Kernel {
public:
  NormGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    wantBuffers(spec, centred ? 5 : 4, centred ? 3 : 2);
    const TensorType &x = spec.operands[1];
    shape = shapeOf(spec, x);
    wantType(spec, "dy", spec.operands[0], x.type, x.shape);
    wantType(spec, "the weight", spec.operands[2], x.type, {shape.width});
    for (size_t i = 3; i < spec.operands.size(); ++i)
      wantType(spec, "the mean or rstd", spec.operands[i], DataType::F32,
               leading(x));
    wantType(spec, "dx", spec.results[0], x.type, x.shape);
    for (size_t i = 1; i < spec.results.size(); ++i)
      wantType(spec, "dw or db", spec.results[i], x.type, {shape.width});
  }

  size_t workspaceBytes() const override {
    return normGradWorkspace(shape, centred);
  }

  void run(void *const *b, void *workspace) override {
    if (centred)
      normGrad(shape, b[0], b[1], b[2], at<float>(b, 3), at<float>(b, 4), b[5],
               b[6], b[7], workspace, stream);
    else
      normGrad(shape, b[0], b[1], b[2], nullptr, at<float>(b, 3), b[4], b[5],
               nullptr, workspace, stream);
  }

private:
  cudaStream_t stream;
  RowsShape shape;
};

class SoftmaxKernel final : public Kernel {
public:
  SoftmaxKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    wantBuffers(spec, 1, 1);
    const TensorType &x = spec.operands[0];
    shape = shapeOf(spec, x);
    wantType(spec, "the result", spec.results[0], x.type, x.shape);
  }
  void run(void *const *b, void *) override {
    softmax(shape, b[0], b[1], stream);
  }

private:
  cudaStream_t stream;
  RowsShape shape;
};

class SoftmaxGradKernel final : public Kernel {
public:
  SoftmaxGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    wantBuffers(spec, 2, 1);
    const TensorType &y = spec.operands[1];
    shape = shapeOf(spec, y);
    wantType(spec, "dy", spec.operands[0], y.type, y.shape);
    wantType(spec, "the result", spec.results[0], y.type, y.shape);
  }
  void run(void *const *b, void *) override {
    softmaxGrad(shape, b[0], b[1], b[2], stream);
  }

private:
  cudaStream_t stream;
  RowsShape shape;
};

constexpr int64_t kIgnoreIndex = -100; // where the spec says nothing

class CrossEntropyKernel final : public Kernel {
public:
  CrossEntropyKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context),
        ignored(int(spec.integer("ignore_index", kIgnoreIndex))) {
    wantBuffers(spec, 2, 2);
    const TensorType &logits = spec.operands[0];
    shape = shapeOf(spec, logits);
    wantType(spec, "targets", spec.operands[1], DataType::I32, leading(logits));
    wantType(spec, "the loss", spec.results[0], DataType::F32, {});
    wantType(spec, "lse", spec.results[1], DataType::F32, leading(logits));
  }

  size_t workspaceBytes() const override {
    return crossEntropyWorkspace(shape.rows);
  }

  void run(void *const *b, void *workspace) override {
    crossEntropy(shape, ignored, b[0], at<int32_t>(b, 1), at<float>(b, 2),
                 at<float>(b, 3), workspace, context.control,
                 context.cuda->stream);
  }

private:
  KernelContext context;
  int ignored;
  RowsShape shape;
};

class CrossEntropyGradKernel final : public Kernel {
public:
  CrossEntropyGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream),
        ignored(int(spec.integer("ignore_index", kIgnoreIndex))) {
    wantBuffers(spec, 4, 1);
    const TensorType &logits = spec.operands[1];
    shape = shapeOf(spec, logits);
    wantType(spec, "dloss", spec.operands[0], DataType::F32, {});
    wantType(spec, "targets", spec.operands[2], DataType::I32, leading(logits));
    wantType(spec, "lse", spec.operands[3], DataType::F32, leading(logits));
    wantType(spec, "the result", spec.results[0], logits.type, logits.shape);
  }

  size_t workspaceBytes() const override {
    return crossEntropyWorkspace(shape.rows);
  }

  void run(void *const *b, void *workspace) override {
    crossEntropyGrad(shape, ignored, at<float>(b, 0), b[1], at<int32_t>(b, 2),
                     at<float>(b, 3), b[4], workspace, stream);
  }

private:
  cudaStream_t stream;
  int ignored;
  RowsShape shape;
};

} // namespace

void registerRows(Registry &registry) {
  registry.add("nn.layer_norm", makeKernel<NormKernel<true>>);
  registry.add("nn.layer_norm_grad", makeKernel<NormGradKernel<true>>);
  registry.add("nn.rms_norm", makeKernel<NormKernel<false>>);
  registry.add("nn.rms_norm_grad", makeKernel<NormGradKernel<false>>);
  registry.add("nn.softmax", makeKernel<SoftmaxKernel>);
  registry.add("nn.softmax_grad", makeKernel<SoftmaxGradKernel>);
  registry.add("nn.cross_entropy", makeKernel<CrossEntropyKernel>);
  registry.add("nn.cross_entropy_grad", makeKernel<CrossEntropyGradKernel>);
}

} // namespace zrt::cuda
