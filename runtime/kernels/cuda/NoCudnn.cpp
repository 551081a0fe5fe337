// In the place of the files of cuDNN where the build has none.
#include "kernels/cuda/CudnnAttention.h"
#include "kernels/cuda/CudnnConvolution.h"

namespace zrt::cuda {

CudnnAttention::~CudnnAttention() = default;
CudnnConvolution::~CudnnConvolution() = default;

namespace {
constexpr const char *kAbsent = "built without cuDNN";
} // namespace

std::unique_ptr<CudnnAttention> planCudnnAttention(const AttentionProblem &,
                                                   CudaContext &,
                                                   std::string &reason) {
  reason = kAbsent;
  return nullptr;
}

bool cudnnHasAttention(const AttentionProblem &, int, const std::string &,
                       std::string &reason, size_t *) {
  reason = kAbsent;
  return false;
}

std::unique_ptr<CudnnConvolution>
planCudnnConvolution(const ConvolutionProblem &, CudaContext &,
                     std::string &reason) {
  reason = kAbsent;
  return nullptr;
}

bool cudnnHasConvolution(const ConvolutionProblem &, int, const std::string &,
                         std::string &reason, size_t *) {
  reason = kAbsent;
  return false;
}

std::string cudnnVersion() { return ""; }
std::string cudnnPlace() { return ""; }
std::string cudnnRefusal() { return kAbsent; }

} // namespace zrt::cuda
