// A kernel that is cuDNN's where it has one, else an own one. Which of them is
// known when the program is planned.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_CUDNNCHOICE_H
#define ZERO_RUNTIME_KERNELS_CUDA_CUDNNCHOICE_H

#include "kernels/Registry.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

namespace zrt::cuda {

inline constexpr size_t kCudnnAlignment = 16;

/// "cuDNN 9.19.0", of the library that is loaded; empty where there is none.
std::string cudnnVersion();
/// The file that it is loaded from; empty where there is none.
std::string cudnnPlace();
/// Why there is none.
std::string cudnnRefusal();

/// `Plan` has `workspaceBytes`.
template <typename Plan> class CudnnChoice : public Kernel {
public:
  size_t workspaceBytes() const override {
    // Which of them runs is certain only when addresses are known.
    return std::max(ownWorkspaceBytes(), cudnn ? cudnn->workspaceBytes() : 0);
  }
  void admit(void *const *buffers, void *) override {
    uintptr_t bits = 0;
    for (size_t i = 0; i < bufferCount; ++i)
      bits |= reinterpret_cast<uintptr_t>(buffers[i]);
    if (!cudnn || bits % kCudnnAlignment == 0)
      return;
    cudnn.reset();
    reason = "a buffer is not aligned to " + std::to_string(kCudnnAlignment) +
             " bytes";
    if (const std::string refusal = ownRefusal(); !refusal.empty())
      throw std::runtime_error(refusal);
  }
  std::string choice() const override {
    return cudnn ? cudnnVersion() : "own kernels: " + reason;
  }

protected:
  explicit CudnnChoice(const KernelSpec &spec)
      : bufferCount(spec.operands.size() + spec.results.size()) {}

  virtual size_t ownWorkspaceBytes() const { return 0; }
  /// Why own kernels cannot run either; empty where they can.
  virtual std::string ownRefusal() const { return ""; }

  std::unique_ptr<Plan> cudnn;
  std::string reason; ///< why not

private:
  size_t bufferCount;
};

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_CUDNNCHOICE_H
