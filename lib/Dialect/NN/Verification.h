//===- Verification.h - checks that nn verifiers share --------------------===//
//
// Types and sizes are verified here rather than inferred by upstream's trait,
// whose errors do not say which tensor is wrong.
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

/// `shape` with `last` appended.
SmallVector<int64_t> append(ArrayRef<int64_t> shape, int64_t last);

/// The type of per-row statistics of `tensor`: its leading dimensions.
RankedTensorType rowStatistics(RankedTensorType tensor);

/// The statistic of shape `shape` for a computation on `tensor`.
RankedTensorType statistics(RankedTensorType tensor, ArrayRef<int64_t> shape);

/// Compares what an operation has with what it should have; reports both.
class Checker {
public:
  explicit Checker(Operation *op) : op(op) {}

  /// Reports an error at the operation; always failure.
  LogicalResult error(const Twine &message) const;

  LogicalResult rank(StringRef name, Value value, int64_t wanted) const;
  LogicalResult minimumRank(StringRef name, Value value, int64_t wanted) const;
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
  /// `found`, if there is one, is from `least` to `most`.
  LogicalResult count(StringRef name, std::optional<uint64_t> found,
                      int64_t least, int64_t most) const;
  /// `dims` increases strictly within [0, rank).
  LogicalResult dims(ArrayRef<int64_t> dims, int64_t rank) const;

private:
  Operation *op;
};

} // namespace mlir::nn::detail

#endif // ZERO_LIB_DIALECT_NN_VERIFICATION_H
