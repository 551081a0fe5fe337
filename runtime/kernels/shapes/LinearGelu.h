// What nn.linear_gelu and nn.linear_gelu_grad are made of.
#ifndef ZERO_RUNTIME_KERNELS_SHAPES_LINEARGELU_H
#define ZERO_RUNTIME_KERNELS_SHAPES_LINEARGELU_H

#include "program/Program.h"

namespace zrt {

/// A product with gelu behind it: y = gelu(product), or, of the gradient,
/// dh = product * gelu'(h).
struct LinearGeluParts {
  bool isGradient;
  /// As nn.linear, with the first result.
  KernelSpec product;
  /// The buffer of h; -1: nothing reads h, which only the forward may say.
  int h;
  /// nn.reduce of dh, where the gradient has the sums as a second result.
  KernelSpec sums;
  bool hasSums;
};

LinearGeluParts linearGeluParts(const KernelSpec &spec);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_SHAPES_LINEARGELU_H
