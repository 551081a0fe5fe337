//===- Types.h - types of nn's operands and results -------------*- C++ -*-===//
#ifndef ZERO_LIB_DIALECT_NN_TYPES_H
#define ZERO_LIB_DIALECT_NN_TYPES_H

#include "zero/Dialect/NN/NN.h"

namespace mlir::nn::detail {

/// The type of a tensor value; nn's operands and results are ranked tensors.
inline RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

} // namespace mlir::nn::detail

#endif // ZERO_LIB_DIALECT_NN_TYPES_H
