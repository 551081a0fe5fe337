// A product by cuBLASLt, with what its epilogue does, and the algorithms that
// compute it.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_PRODUCTKERNEL_H
#define ZERO_RUNTIME_KERNELS_CUDA_PRODUCTKERNEL_H

#include "kernels/Kernel.h"
#include "kernels/cuda/BlasProduct.h"
#include "kernels/cuda/ProductChoices.h"

#include <string>
#include <vector>

namespace zrt::cuda {

class ProductKernel final : public Kernel {
public:
  /// Chooses algorithms: nothing is searched for in a step. Slices of buckets
  /// begin anywhere, so there is one for aligned operands and others for
  /// others.
  ProductKernel(const KernelContext &context, const Product &wanted);

  /// Whether there is an algorithm for aligned operands at least.
  bool isThere() const { return isThere(kCases - 1); }
  /// Whether there is one for such addresses, or for all.
  bool isThere(int number) const { return cases[number].isThere(); }
  bool isEverywhere() const;
  std::string describe() const { return product.describe(); }
  /// Names the product on such addresses.
  std::string describe(void *const *buffers) const {
    return blas.describe(blas.alignmentOf(buffers));
  }
  /// Of what the addresses are aligned to: in [0, kCases).
  int numberOf(void *const *buffers) const {
    return numberOf(blas.alignmentOf(buffers));
  }
  static constexpr int kCases = 4;

  size_t workspaceBytes() const override;
  /// Throws std::runtime_error where there is no algorithm for the addresses.
  void admit(void *const *buffers, void *workspace) override;
  void run(void *const *buffers, void *workspace) override;

private:
  /// Addresses of one alignment.
  struct Case {
    Algorithm chosen = {};             ///< where there is one
    std::vector<Algorithm> candidates; ///< none: it is chosen for good

    bool isThere() const { return chosen.state == CUBLAS_STATUS_SUCCESS; }
    bool isOpen() const { return !candidates.empty(); }
  };

  static int numberOf(Alignment alignment) {
    return 2 * (alignment.matrices == BlasProduct::kAlignment) +
           (alignment.bias == BlasProduct::kAlignment);
  }
  Case &caseOf(Alignment alignment) { return cases[numberOf(alignment)]; }

  void choose(Alignment alignment);
  void use(Alignment alignment, const std::string &name);
  void compare(Alignment alignment, void *const *buffers, void *workspace);

  const Product product;
  BlasProduct blas;
  ProductChoices *products; ///< null: cuBLASLt's first algorithm is taken
  Case cases[kCases];       ///< of them all, the last is of aligned addresses
};

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_PRODUCTKERNEL_H
