//===- Constants.h - constants that gradients are built with ----*- C++ -*-===//
#ifndef ZERO_LIB_DIALECT_NN_CONSTANTS_H
#define ZERO_LIB_DIALECT_NN_CONSTANTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::nn::detail {

/// A tensor of floats, all of them `value`.
inline Value splat(OpBuilder &builder, Location loc, RankedTensorType type,
                   double value) {
  TypedAttr element = builder.getFloatAttr(type.getElementType(), value);
  return arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(DenseElementsAttr::get(type, element)));
}

} // namespace mlir::nn::detail

#endif // ZERO_LIB_DIALECT_NN_CONSTANTS_H
