// What the CUDA kernels share besides their context.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_KERNELS_H
#define ZERO_RUNTIME_KERNELS_CUDA_KERNELS_H

#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Launchers.h"
#include "kernels/shapes/DropoutRule.h"
#include "kernels/shapes/ProductShape.h"

namespace zrt::cuda {

/// Memory of the device that a kernel fills once, when it is made.
class Table {
public:
  explicit Table(const std::vector<float> &values);
  ~Table();
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;
  const float *data() const { return static_cast<const float *>(memory); }

private:
  void *memory = nullptr;
};

/// What a kernel draws that has `samples` samples of a rank's micro-batch.
inline Draws drawsOf(const DropoutRule &rule, const KernelContext &context,
                     int64_t samples) {
  return {rule.id,
          rule.threshold,
          rule.scale,
          int(context.sampleIndex),
          int(context.sampleRanks),
          samples,
          context.control};
}

/// A product that is not empty, for `spec`, which is named where there is no
/// code for it: buffers are the operands, a bias if the shape has one, and c.
std::unique_ptr<Kernel> makeProduct(const KernelSpec &spec,
                                    const KernelContext &context,
                                    const MatrixShape &shape);

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_KERNELS_H
