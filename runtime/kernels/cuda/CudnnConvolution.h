// Convolution through cuDNN, where it is in the build and takes the shape.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_CUDNNCONVOLUTION_H
#define ZERO_RUNTIME_KERNELS_CUDA_CUDNNCONVOLUTION_H

#include "kernels/cuda/Context.h"
#include "program/DataType.h"

#include <memory>
#include <string>
#include <vector>

namespace zrt::cuda {

/// What is asked of cuDNN: of a convolution of images with weights its results,
/// or from two of the three the gradient of the third.
struct ConvolutionProblem {
  enum Kind { Results, Images, Weights } kind = Results;
  DataType type = DataType::BF16;
  std::vector<int64_t> images;  ///< [samples, channels, spatial..]
  std::vector<int64_t> weights; ///< [features, channels / groups, taps..]
  std::vector<int64_t> results; ///< [samples, features, spatial..]
  std::vector<int64_t> strides, padding, dilations; ///< of spatial dimensions
  bool deterministic = false; ///< bitwise equal results every time
};

/// A kernel that cuDNN chose for one problem.
class CudnnConvolution {
public:
  virtual ~CudnnConvolution();
  virtual size_t workspaceBytes() const = 0;
  /// Queues the kernel on the stream of the context that it was planned for:
  /// one of the three is written. Every address is a multiple of
  /// `kCudnnAlignment`. Throws std::runtime_error with cuDNN's text.
  virtual void run(void *images, void *weights, void *results,
                   void *workspace) = 0;
};

/// Chooses a kernel. Null where there is none, and why in `reason`.
std::unique_ptr<CudnnConvolution>
planCudnnConvolution(const ConvolutionProblem &problem, CudaContext &context,
                     std::string &reason);

/// Whether there is one, for a device that need not be here: as
/// `cudnnHasAttention`.
bool cudnnHasConvolution(const ConvolutionProblem &problem, int architecture,
                         const std::string &properties, std::string &reason,
                         size_t *workspaceBytes = nullptr);

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_CUDNNCONVOLUTION_H
