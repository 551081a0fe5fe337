//===- FuseCrossEntropy.h - losses without whole logits ---------*- C++ -*-===//
#ifndef ZERO_DIALECT_NN_FUSECROSSENTROPY_H
#define ZERO_DIALECT_NN_FUSECROSSENTROPY_H

#include "mlir/IR/Operation.h"

namespace mlir::nn {

/// Makes one operation of each cross entropy inside `root`, the product that
/// gives its logits and their gradients, which computes as many rows of logits
/// at a time as have at most `chunkBytes`, and at least 64. A loss whose logits
/// stay whole gets a remark that says why.
void fuseCrossEntropy(Operation *root, int64_t chunkBytes);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_FUSECROSSENTROPY_H
