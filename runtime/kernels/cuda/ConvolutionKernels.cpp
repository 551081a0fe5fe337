// nn.conv, nn.conv_transpose and nn.conv_weight_grad on a device: cuDNN's
// kernels where it has some, else own ones.
#include "kernels/cuda/Convolution.h"
#include "kernels/cuda/CudnnChoice.h"
#include "kernels/cuda/CudnnConvolution.h"
#include "kernels/cuda/Kernels.h"

namespace zrt::cuda {

namespace {

using Kind = ConvolutionProblem::Kind;

/// Which of a kernel's tensors are what: places among operands and results.
struct Roles {
  size_t images, weights, results;
};

constexpr Roles rolesOf(Kind kind) {
  switch (kind) {
  case Kind::Results:
    return {0, 1, 2};
  case Kind::Images:
    return {2, 1, 0};
  case Kind::Weights:
    return {1, 2, 0};
  }
  return {};
}

const TensorType &tensorAt(const KernelSpec &spec, size_t place) {
  return place < 2 ? spec.operands[place] : spec.results[0];
}

/// Writes what `kind` says from the two others.
template <Kind kind>
class ConvolutionKernel final : public CudnnChoice<CudnnConvolution> {
public:
  ConvolutionKernel(const KernelSpec &spec, const KernelContext &context)
      : CudnnChoice(spec), stream(context.cuda->stream),
        shape(convolutionOf(spec, tensorAt(spec, kRoles.images),
                            tensorAt(spec, kRoles.weights),
                            tensorAt(spec, kRoles.results))),
        elements(spec.results[0].elements()) {
    const bool isBlock = kind == Kind::Weights && spec.has("rows");
    if (isBlock)
      firstRow = spec.ints.at("rows")[0];
    if (isBlock)
      reason = "a block of rows of a gradient";
    else
      cudnn =
          planCudnnConvolution(problemOf(spec, context), *context.cuda, reason);
  }

  void run(void *const *b, void *workspace) override {
    void *const images = b[kRoles.images], *const weights = b[kRoles.weights],
                *const results = b[kRoles.results];
    if (cudnn)
      return cudnn->run(images, weights, results, workspace);
    if (kind == Kind::Results)
      convolution(shape, images, weights, results, elements, stream);
    else if (kind == Kind::Images)
      convolutionImages(shape, results, weights, images, elements, stream);
    else
      convolutionWeights(shape, results, images, weights, firstRow, elements,
                         stream);
  }

private:
  static constexpr Roles kRoles = rolesOf(kind);

  static ConvolutionProblem problemOf(const KernelSpec &spec,
                                      const KernelContext &context) {
    ConvolutionProblem problem;
    problem.kind = kind;
    problem.type = spec.operands[0].type;
    problem.images = tensorAt(spec, kRoles.images).shape;
    problem.weights = tensorAt(spec, kRoles.weights).shape;
    problem.results = tensorAt(spec, kRoles.results).shape;
    problem.strides = spec.ints.at("strides");
    problem.padding = spec.ints.at("padding");
    problem.dilations = spec.ints.at("dilations");
    problem.deterministic =
        context.program && context.program->training.deterministic;
    return problem;
  }

  cudaStream_t stream;
  ConvolutionShape shape;
  int64_t elements;
  int64_t firstRow = 0;
};

} // namespace

void registerConvolutionKernels(Registry &registry) {
  registry.add("nn.conv", makeKernel<ConvolutionKernel<Kind::Results>>);
  registry.add("nn.conv_transpose",
               makeKernel<ConvolutionKernel<Kind::Images>>);
  registry.add("nn.conv_weight_grad",
               makeKernel<ConvolutionKernel<Kind::Weights>>);
}

} // namespace zrt::cuda
