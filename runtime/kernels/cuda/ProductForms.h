// Several ways to compute a product and what follows it, of which the fastest
// is taken.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_PRODUCTFORMS_H
#define ZERO_RUNTIME_KERNELS_CUDA_PRODUCTFORMS_H

#include "kernels/Kernel.h"
#include "kernels/cuda/ProductChoices.h"
#include "kernels/cuda/ProductKernel.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zrt::cuda {

/// A product, and kernels after it that do what its epilogue does not.
class ProductForm {
public:
  ProductForm(const char *name, const KernelContext &context,
              const Product &product);

  /// Adds what runs after all that was added, on the buffers of the whole.
  void then(std::function<void(void *const *buffers)> launch);
  /// The same of a kernel that takes these of the buffers.
  void then(std::unique_ptr<Kernel> kernel, std::vector<int> buffers);

  const char *name() const { return formName; }
  ProductKernel &product() { return kernel; }
  /// Whether there is an algorithm for such addresses.
  bool isThere(void *const *buffers) const {
    return kernel.isThere(kernel.numberOf(buffers));
  }
  size_t workspaceBytes() const { return bytes; }
  void run(void *const *buffers, void *workspace);

private:
  using Step = std::function<void(void *const *buffers, void *workspace)>;

  const char *formName;
  ProductKernel kernel;
  std::vector<Step> steps;
  size_t bytes;
};

/// The first form that there is, or with choices the fastest one.
class ProductForms final : public Kernel {
public:
  /// `buffers`: how many it gets.
  ProductForms(const KernelContext &context, size_t buffers)
      : products(context.cuda->products), buffers(buffers) {}

  /// Adds the next one, from the most fused one on. Whether another one could
  /// be of use.
  bool add(std::unique_ptr<ProductForm> form);
  bool isThere() const { return !forms.empty(); }

  size_t workspaceBytes() const override;
  /// Products come first, so that forms are compared with the algorithms that
  /// were chosen for them.
  void admit(void *const *addresses, void *workspace) override;
  void run(void *const *addresses, void *workspace) override;

private:
  ProductForm &firstOf(void *const *addresses);
  int numberOf(void *const *addresses) const;
  void compare(ProductForm *&chosen, const std::vector<ProductForm *> &there,
               const std::vector<void *> &addresses, void *workspace);

  std::vector<std::unique_ptr<ProductForm>> forms;
  ProductChoices *products; ///< null: nothing is compared
  const size_t buffers;
  /// By the number of what the addresses are aligned to; a map's values stay
  /// where they are.
  std::map<int, ProductForm *> chosen;
};

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_PRODUCTFORMS_H
