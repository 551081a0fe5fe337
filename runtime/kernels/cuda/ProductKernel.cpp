#include "kernels/cuda/ProductKernel.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

using namespace zrt;
using namespace zrt::cuda;

/// How many algorithms are compared.
static constexpr int kCandidates = 8;

ProductKernel::ProductKernel(const KernelContext &context,
                             const Product &wanted)
    : product(wanted), blas(*context.cuda, wanted),
      products(context.cuda->products) {
  const auto least = uint32_t(sizeOf(product.shape.type));
  for (uint32_t matrices : {least, BlasProduct::kAlignment})
    for (uint32_t bias : {least, BlasProduct::kAlignment})
      choose({matrices, bias});
}

bool ProductKernel::isEverywhere() const {
  return std::all_of(std::begin(cases), std::end(cases),
                     [](const Case &each) { return each.isThere(); });
}

size_t ProductKernel::workspaceBytes() const {
  // What will be chosen may want as much.
  if (products)
    return BlasProduct::kWorkspace;
  size_t bytes = 0;
  for (const Case &each : cases)
    bytes = std::max(bytes, each.chosen.workspaceSize);
  return bytes;
}

void ProductKernel::admit(void *const *buffers, void *workspace) {
  const Alignment alignment = blas.alignmentOf(buffers);
  if (!caseOf(alignment).isThere())
    throw std::runtime_error("cuBLASLt has no algorithm for operands of " +
                             describe() + " that are not aligned to " +
                             std::to_string(BlasProduct::kAlignment) +
                             " bytes: compile with a larger alignment");
  if (caseOf(alignment).isOpen())
    compare(alignment, buffers, workspace);
}

void ProductKernel::run(void *const *buffers, void *workspace) {
  blas.run(caseOf(blas.alignmentOf(buffers)).chosen, buffers, workspace);
}

void ProductKernel::choose(Alignment alignment) {
  Case &one = caseOf(alignment);
  one.chosen.state = CUBLAS_STATUS_NOT_SUPPORTED;
  std::vector<Algorithm> found =
      blas.algorithmsFor(alignment, products ? kCandidates : 1);
  if (found.empty())
    return;
  one.chosen = found.front();
  if (products && found.size() > 1)
    one.candidates = std::move(found);
}

void ProductKernel::use(Alignment alignment, const std::string &name) {
  Case &one = caseOf(alignment);
  try {
    one.chosen = blas.algorithmNamed(name, alignment);
  } catch (const std::exception &error) {
    products->refuse(blas.describe(alignment), error.what());
  }
  one.candidates.clear();
}

/// Several commands may be this kernel: it is measured on the first one's
/// buffers.
void ProductKernel::compare(Alignment alignment, void *const *buffers,
                            void *workspace) {
  const std::vector<void *> addresses(buffers, buffers + product.buffers);
  std::vector<ProductCandidate> candidates;
  for (const Algorithm &each : caseOf(alignment).candidates)
    candidates.push_back({nameOf(each), [this, each, addresses, workspace] {
                            blas.run(each, addresses.data(), workspace);
                          }});
  products->want(
      blas.describe(alignment), std::move(candidates),
      [this, alignment](const std::string &name) { use(alignment, name); });
}
