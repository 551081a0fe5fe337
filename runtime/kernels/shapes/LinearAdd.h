// What nn.linear_add is made of.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_LINEARADD_H
#define ZERO_RUNTIME_KERNELS_SHAPES_LINEARADD_H

#include "program/Program.h"

namespace zrt {

/// The index of the operand that is added.
inline constexpr int kLinearAddend = 2;

/// nn.linear of the other operands.
KernelSpec productOfLinearAdd(const KernelSpec &spec);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_LINEARADD_H
