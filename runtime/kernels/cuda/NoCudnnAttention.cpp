// In the place of CudnnAttention.cpp where the build has no cuDNN.
#include "kernels/cuda/CudnnAttention.h"

namespace zrt::cuda {

CudnnAttention::~CudnnAttention() = default;

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

std::string cudnnVersion() { return ""; }

} // namespace zrt::cuda
