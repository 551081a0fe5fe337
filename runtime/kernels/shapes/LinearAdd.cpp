#include "kernels/shapes/LinearAdd.h"

namespace zrt {

KernelSpec productOfLinearAdd(const KernelSpec &spec) {
  KernelSpec product = spec;
  product.name = "nn.linear";
  product.operands.erase(product.operands.begin() + kLinearAddend);
  return product;
}

} // namespace zrt
