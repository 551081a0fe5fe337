// What cuDNN has convolutions for.
#include "kernels/cuda/CudnnConvolution.h"
#include "CudnnDevices.h"

#include <gtest/gtest.h>

using namespace zrt;
using namespace zrt::cuda;
using namespace zrt::test;

namespace {

using Sizes = std::vector<int64_t>;

struct Window {
  int64_t size, stride = 1, padding = 0, dilation = 1;
};

/// `samples` images of `channels` to `features` ones, with the same window in
/// each dimension of `plane`.
ConvolutionProblem problem(int64_t samples, int64_t channels, int64_t features,
                           const Sizes &plane, Window window,
                           int64_t groups = 1) {
  ConvolutionProblem p;
  p.images = {samples, channels};
  p.weights = {features, channels / groups};
  p.results = {samples, features};
  for (int64_t size : plane) {
    p.images.push_back(size);
    p.weights.push_back(window.size);
    const int64_t span = (window.size - 1) * window.dilation + 1;
    p.results.push_back((size + 2 * window.padding - span) / window.stride + 1);
  }
  p.strides = Sizes(plane.size(), window.stride);
  p.padding = Sizes(plane.size(), window.padding);
  p.dilations = Sizes(plane.size(), window.dilation);
  return p;
}

/// The convolution and both gradients, each as it may be and bitwise equal
/// every time.
void expectKernels(ConvolutionProblem p) {
  for (const Device &device : kDevices)
    for (auto kind : {ConvolutionProblem::Results, ConvolutionProblem::Images,
                      ConvolutionProblem::Weights})
      for (DataType type : {DataType::BF16, DataType::F16})
        for (bool deterministic : {false, true}) {
          SCOPED_TRACE(std::string(device.name) + ", kind " +
                       std::to_string(kind) +
                       (deterministic ? ", deterministic" : ""));
          p.kind = kind;
          p.type = type;
          p.deterministic = deterministic;
          std::string reason;
          EXPECT_TRUE(cudnnHasConvolution(p, device.architecture,
                                          device.properties(), reason))
              << reason;
        }
}

TEST(CudnnConvolution, IsThereForResNet) {
  expectKernels(problem(32, 3, 64, {224, 224}, {7, 2, 3}));
  expectKernels(problem(32, 64, 64, {56, 56}, {3, 1, 1}));
  expectKernels(problem(32, 64, 128, {56, 56}, {1, 2}));
}

TEST(CudnnConvolution, TakesDilationAndGroups) {
  expectKernels(problem(8, 64, 64, {28, 28}, {3, 1, 2, 2}));
  expectKernels(problem(8, 64, 64, {28, 28}, {3, 1, 1}, 8));
  expectKernels(problem(8, 64, 64, {28, 28}, {3, 1, 1}, 64));
}

TEST(CudnnConvolution, TakesLinesAndVolumes) {
  expectKernels(problem(8, 80, 384, {3000}, {3, 1, 1})); // Whisper's
  expectKernels(problem(2, 16, 32, {16, 32, 32}, {3, 1, 1}));
}

TEST(CudnnConvolution, MakesItsKernels) {
  ConvolutionProblem p = problem(32, 64, 64, {56, 56}, {3, 1, 1});
  for (const Device &device : kDevices)
    for (auto kind : {ConvolutionProblem::Results, ConvolutionProblem::Images,
                      ConvolutionProblem::Weights}) {
      p.kind = kind;
      std::string reason;
      size_t bytes = 0;
      EXPECT_TRUE(cudnnHasConvolution(p, device.architecture,
                                      device.properties(), reason, &bytes))
          << reason;
      EXPECT_LE(bytes, size_t(256) << 20) << device.name << " kind " << kind;
    }
}

TEST(CudnnConvolution, SaysWhyItTakesNotAll) {
  // A result of another size than the windows give.
  ConvolutionProblem p = problem(8, 16, 16, {8, 8}, {3, 1, 1});
  p.results[2] = 7;
  std::string reason;
  EXPECT_FALSE(cudnnHasConvolution(p, kDevices[0].architecture,
                                   kDevices[0].properties(), reason));
  EXPECT_NE(reason.find("cuDNN: "), std::string::npos) << reason;
}

TEST(CudnnConvolution, LeavesF32ToOwnKernels) {
  ConvolutionProblem p = problem(8, 16, 16, {8, 8}, {3, 1, 1});
  p.type = DataType::F32;
  std::string reason;
  EXPECT_FALSE(cudnnHasConvolution(p, kDevices[0].architecture,
                                   kDevices[0].properties(), reason));
  EXPECT_NE(reason.find("f32"), std::string::npos) << reason;
}

} // namespace
