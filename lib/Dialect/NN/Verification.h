//===- Verification.h - checks of what no signature says ------------------===//
//
// Shapes of operations that have a signature are verified against it.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_DIALECT_NN_VERIFICATION_H
#define ZERO_LIB_DIALECT_NN_VERIFICATION_H

#include "zero/Dialect/NN/NN.h"

#include <string>

namespace mlir::nn::detail {

/// The type of a tensor value; nn's operands and results are ranked tensors.
inline RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// "[4, 16, 64]".
std::string toString(ArrayRef<int64_t> shape);

/// Compares what an operation has with what it should have; reports both.
class Checker {
public:
  explicit Checker(Operation *op) : op(op) {}

  /// Reports an error at the operation; always failure.
  LogicalResult error(const Twine &message) const;

  LogicalResult rank(StringRef name, Value value, int64_t wanted) const;
  LogicalResult shape(StringRef name, Value value,
                      ArrayRef<int64_t> wanted) const;
  LogicalResult element(StringRef name, Value value, Type wanted) const;
  LogicalResult type(StringRef name, Value value,
                     RankedTensorType wanted) const;
  /// `range` is [begin, end] with 0 <= begin < end, of `extent` rows, or what
  /// else they are, if known.
  LogicalResult rows(ArrayRef<int64_t> range,
                     std::optional<int64_t> extent = std::nullopt,
                     StringRef what = "rows") const;
  /// `dims` increases strictly within [0, rank).
  LogicalResult dims(ArrayRef<int64_t> dims, int64_t rank) const;

private:
  Operation *op;
};

} // namespace mlir::nn::detail

#endif // ZERO_LIB_DIALECT_NN_VERIFICATION_H
