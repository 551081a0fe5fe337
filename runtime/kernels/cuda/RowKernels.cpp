// Norms, softmax and cross entropy on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/shapes/TensorShapes.h"
#include "program/Loss.h"

namespace zrt::cuda {

namespace {

RowsShape shapeOf(const TensorType &type) {
  const Rows rows = rowsOf(type);
  return {type.type, rows.count, rows.width};
}

LossClasses classesOf(const KernelSpec &spec, const RowsShape &logits) {
  return {int(spec.integer("ignore_index", kIgnoreIndex)),
          int(spec.integer("classes", logits.width)), spec.integer("sum") != 0};
}

/// `adds`: of a sum, which is the last result.
template <bool centred, bool adds> class NormKernel final : public Kernel {
public:
  NormKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream),
        epsilon(static_cast<float>(spec.real("eps"))),
        shape(shapeOf(spec.operands[0])) {}

  void run(void *const *b, void *) override {
    void *const *w = b + 1 + adds;
    const void *residual = adds ? b[1] : nullptr;
    if (centred)
      norm(shape, epsilon, b[0], residual, w[0], w[1], w[2], at<float>(w, 3),
           at<float>(w, 4), adds ? w[5] : nullptr, stream);
    else
      norm(shape, epsilon, b[0], residual, w[0], nullptr, w[1], nullptr,
           at<float>(w, 2), adds ? w[3] : nullptr, stream);
  }

private:
  cudaStream_t stream;
  float epsilon;
  RowsShape shape;
};

/// `adds`: the second operand is added to dx.
template <bool centred, bool adds> class NormGradKernel final : public Kernel {
public:
  NormGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), shape(shapeOf(spec.operands[0])) {}

  size_t workspaceBytes() const override {
    return normGradWorkspace(shape, centred);
  }

  void run(void *const *b, void *workspace) override {
    void *const *x = b + 1 + adds;
    const void *dsum = adds ? b[1] : nullptr;
    if (centred)
      normGrad(shape, b[0], dsum, x[0], x[1], at<float>(x, 2), at<float>(x, 3),
               x[4], x[5], x[6], workspace, stream);
    else
      normGrad(shape, b[0], dsum, x[0], x[1], nullptr, at<float>(x, 2), x[3],
               x[4], nullptr, workspace, stream);
  }

private:
  cudaStream_t stream;
  RowsShape shape;
};

class SoftmaxKernel final : public Kernel {
public:
  SoftmaxKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), shape(shapeOf(spec.operands[0])) {}
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
      : stream(context.cuda->stream), shape(shapeOf(spec.operands[1])) {}
  void run(void *const *b, void *) override {
    softmaxGrad(shape, b[0], b[1], b[2], stream);
  }

private:
  cudaStream_t stream;
  RowsShape shape;
};

/// Of a range of the classes, its first is an operand.
class CrossEntropyKernel final : public Kernel {
public:
  CrossEntropyKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), shape(shapeOf(spec.operands[0])),
        classes(classesOf(spec, shape)), isPartial(spec.operands.size() > 2) {}

  size_t workspaceBytes() const override {
    return crossEntropyWorkspace(shape.rows);
  }

  void run(void *const *b, void *workspace) override {
    LossClasses range = classes;
    if (isPartial)
      range.first = at<int32_t>(b, 2);
    float *const *results = reinterpret_cast<float *const *>(b) + 2 + isPartial;
    crossEntropy(shape, range, b[0], at<int32_t>(b, 1), results[0], results[1],
                 workspace, context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  RowsShape shape;
  LossClasses classes;
  bool isPartial;
};

class CrossEntropyGradKernel final : public Kernel {
public:
  CrossEntropyGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), shape(shapeOf(spec.operands[1])),
        classes(classesOf(spec, shape)) {}

  size_t workspaceBytes() const override {
    return crossEntropyWorkspace(shape.rows);
  }

  void run(void *const *b, void *workspace) override {
    crossEntropyGrad(shape, classes, at<float>(b, 0), /*dlse=*/nullptr, b[1],
                     at<int32_t>(b, 2), at<float>(b, 3), b[4], workspace,
                     stream);
  }

private:
  cudaStream_t stream;
  RowsShape shape;
  LossClasses classes;
};

class PartialCrossEntropyGradKernel final : public Kernel {
public:
  PartialCrossEntropyGradKernel(const KernelSpec &spec,
                                const KernelContext &context)
      : stream(context.cuda->stream), shape(shapeOf(spec.operands[2])),
        classes(classesOf(spec, shape)) {}

  size_t workspaceBytes() const override {
    return crossEntropyWorkspace(shape.rows);
  }

  void run(void *const *b, void *workspace) override {
    LossClasses range = classes;
    range.first = at<int32_t>(b, 4);
    crossEntropyGrad(shape, range, at<float>(b, 0), at<float>(b, 1), b[2],
                     at<int32_t>(b, 3), at<float>(b, 5), b[6], workspace,
                     stream);
  }

private:
  cudaStream_t stream;
  RowsShape shape;
  LossClasses classes;
};

template <bool adds>
void registerNorms(Registry &registry, const std::string &prefix) {
  registry.add(prefix + "layer_norm", makeKernel<NormKernel<true, adds>>);
  registry.add(prefix + "layer_norm_grad",
               makeKernel<NormGradKernel<true, adds>>);
  registry.add(prefix + "rms_norm", makeKernel<NormKernel<false, adds>>);
  registry.add(prefix + "rms_norm_grad",
               makeKernel<NormGradKernel<false, adds>>);
}

} // namespace

void registerRowKernels(Registry &registry) {
  registerNorms<false>(registry, "nn.");
  registerNorms<true>(registry, "nn.add_");
  registry.add("nn.softmax", makeKernel<SoftmaxKernel>);
  registry.add("nn.softmax_grad", makeKernel<SoftmaxGradKernel>);
  registry.add("nn.cross_entropy", makeKernel<CrossEntropyKernel>);
  registry.add("nn.cross_entropy_grad", makeKernel<CrossEntropyGradKernel>);
  registry.add("nn.partial_cross_entropy", makeKernel<CrossEntropyKernel>);
  registry.add("nn.partial_cross_entropy_grad",
               makeKernel<PartialCrossEntropyGradKernel>);
}

} // namespace zrt::cuda
