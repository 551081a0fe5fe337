//===- JoinRotary.h - rotations where a projection is -----------*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_JOINROTARY_H
#define ZERO_DIALECT_NN_JOINROTARY_H

#include "mlir/IR/Operation.h"

namespace mlir::nn {

/// Makes one nn.rotary of those inside `root` that rotate parts of a tensor:
/// of the heads that the parts are, before the tensor is cut.
void joinRotary(Operation *root);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_JOINROTARY_H
