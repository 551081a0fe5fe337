// cuDNN's convolutions. Tensors are dense, in the order of their dimensions;
// the number of groups follows from the channels of images and weights.
#include "kernels/cuda/CudnnConvolution.h"

#include "kernels/cuda/CudnnGraph.h"
#include "program/Workspaces.h"

namespace zrt::cuda {

using namespace dnn;

CudnnConvolution::~CudnnConvolution() = default;

namespace {

using Sizes = std::vector<int64_t>;

/// cuDNN has two spatial dimensions or three: a line becomes a plane of one
/// row.
Sizes atLeastTwo(Sizes sizes, size_t spatial, int64_t filling) {
  if (spatial == 1)
    sizes.insert(sizes.end() - 1, filling);
  return sizes;
}

class Convolution final : public CudnnConvolution, public Graph {
public:
  Convolution(const ConvolutionProblem &problem, const AbsentDevice *device)
      : Graph(problem.type, device), spatial(problem.strides.size()) {
    const Tensor_attributes images = tensor(Images, "images", problem.images),
                            weights =
                                tensor(Weights, "weights", problem.weights),
                            results =
                                tensor(Results, "results", problem.results);
    switch (problem.kind) {
    case ConvolutionProblem::Results:
      leave(graph.conv_fprop(
                graph.tensor(images), graph.tensor(weights),
                attributes<fe::graph::Conv_fprop_attributes>(problem)),
            results);
      break;
    case ConvolutionProblem::Images:
      leave(graph.conv_dgrad(
                graph.tensor(results), graph.tensor(weights),
                attributes<fe::graph::Conv_dgrad_attributes>(problem)),
            images);
      break;
    case ConvolutionProblem::Weights:
      leave(graph.conv_wgrad(
                graph.tensor(results), graph.tensor(images),
                attributes<fe::graph::Conv_wgrad_attributes>(problem)),
            weights);
      break;
    }
  }

  /// Its fastest kernels may ask for several times the tensors.
  static constexpr int64_t kMostWorkspace = workspace::kConvolution;
  size_t workspaceBytes() const override { return Graph::workspaceBytes(); }

  void run(void *images, void *weights, void *results,
           void *workspace) override {
    addresses = {{Images, images}, {Weights, weights}, {Results, results}};
    execute(workspace);
  }

private:
  enum Uid : int64_t { Images = 1, Weights, Results };

  Tensor_attributes tensor(Uid uid, const char *name, const Sizes &shape) {
    const Sizes sizes = atLeastTwo(shape, spatial, 1);
    Sizes strides(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i > 0; --i)
      strides[i - 1] = strides[i] * sizes[i];
    return Tensor_attributes()
        .set_uid(uid)
        .set_name(name)
        .set_dim(sizes)
        .set_stride(strides);
  }

  template <typename Attributes>
  Attributes attributes(const ConvolutionProblem &problem) const {
    return Attributes()
        .set_name("nn.conv")
        .set_padding(atLeastTwo(problem.padding, spatial, 0))
        .set_stride(atLeastTwo(problem.strides, spatial, 1))
        .set_dilation(atLeastTwo(problem.dilations, spatial, 1));
  }

  size_t spatial;
};

} // namespace

std::unique_ptr<CudnnConvolution>
planCudnnConvolution(const ConvolutionProblem &problem, CudaContext &context,
                     std::string &reason) {
  if (!mayTake(problem.type, reason))
    return nullptr;
  return plan<Convolution>(problem, context, reason);
}

bool cudnnHasConvolution(const ConvolutionProblem &problem, int architecture,
                         const std::string &properties, std::string &reason,
                         size_t *workspaceBytes) {
  return mayTake(problem.type, reason) &&
         hasKernel<Convolution>(problem, {architecture, properties}, reason,
                                workspaceBytes);
}

} // namespace zrt::cuda
