//===- UpstreamModels.h - gradients of upstream operations ------*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_UPSTREAMMODELS_H
#define ZERO_DIALECT_NN_UPSTREAMMODELS_H

namespace mlir {
class DialectRegistry;

namespace zero {

/// Gives `arith`, `math` and `tensor` operations DifferentiableOpInterface, as
/// soon as their dialect is loaded; `tensor` wants `nn` to be loaded as well.
///
/// Gradients are of the value's own type and computed in it. At a tie,
/// maximum and minimum give the whole gradient to the first operand; absf has
/// gradient 0 at 0. Comparisons and conversions to or from integers have no
/// gradient: they succeed and leave it null.
void registerUpstreamGradientModels(DialectRegistry &registry);

} // namespace zero
} // namespace mlir

#endif // ZERO_DIALECT_NN_UPSTREAMMODELS_H
