// Attention through cuDNN, where it is in the build and takes the shape.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_CUDNNATTENTION_H
#define ZERO_RUNTIME_KERNELS_CUDA_CUDNNATTENTION_H

#include "kernels/cuda/Context.h"
#include "kernels/cuda/CudnnChoice.h"
#include "kernels/cuda/Launchers.h"

#include <memory>
#include <string>

namespace zrt::cuda {

/// What is asked of cuDNN: attention, or its gradient.
struct AttentionProblem {
  AttentionArguments shape; ///< addresses do not count
  bool masked = false;
  bool gradient = false;
  bool deterministic = false; ///< the gradient is bitwise equal every time
};

/// A kernel that cuDNN chose for one problem.
class CudnnAttention {
public:
  virtual ~CudnnAttention();
  virtual size_t workspaceBytes() const = 0;
  /// Queues the kernel on the stream of the context that it was planned for.
  /// Every address is a multiple of `kCudnnAlignment`. Throws
  /// std::runtime_error with cuDNN's text.
  virtual void run(const AttentionArguments &arguments, void *workspace) = 0;
};
/// Chooses a kernel. Null where there is none, and why in `reason`: no cuDNN,
/// or a type or shape that it has no kernel for.
std::unique_ptr<CudnnAttention>
planCudnnAttention(const AttentionProblem &problem, CudaContext &context,
                   std::string &reason);

/// Whether there is one, for a device that need not be here: `architecture` is
/// 90 for sm_90, `properties` what cuDNN writes down of a device, in JSON. With
/// `workspaceBytes` it is compiled too, and loaded by the driver.
bool cudnnHasAttention(const AttentionProblem &problem, int architecture,
                       const std::string &properties, std::string &reason,
                       size_t *workspaceBytes = nullptr);

/// Who computes attention, as far as is known before there is a shape.
std::string attentionText();

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_CUDNNATTENTION_H
