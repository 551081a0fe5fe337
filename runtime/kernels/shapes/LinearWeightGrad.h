// What nn.linear_weight_grad is made of.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_LINEARWEIGHTGRAD_H
#define ZERO_RUNTIME_KERNELS_SHAPES_LINEARWEIGHTGRAD_H

#include "program/Program.h"

namespace zrt {

struct LinearWeightGradParts {
  /// nn.matmul, of two operands in whichever order, with the first result.
  KernelSpec product;
  int left, right; ///< where its operands are among the buffers
  /// nn.reduce of the first operand, with the second result.
  KernelSpec sums;
};

LinearWeightGradParts linearWeightGradParts(const KernelSpec &spec);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_LINEARWEIGHTGRAD_H
