// What nn.linear_add is made of.
#ifndef ZERO_RUNTIME_KERNELS_HOST_LINEARADD_H
#define ZERO_RUNTIME_KERNELS_HOST_LINEARADD_H

#include "kernels/Kernel.h"

namespace zrt::host {

/// Where among its operands the one is that is added.
inline constexpr int kLinearAddend = 2;

/// nn.linear of the other operands.
KernelSpec productOfLinearAdd(const KernelSpec &spec);

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_LINEARADD_H
