//===- Verification.h - checks that nn verifiers share --------------------===//
//
// Result types are inferred, and verified, by one function an operation:
// `inferReturnTypes` checks the operands and computes the results' types. The
// `Checker` says what was found and what was wanted.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_DIALECT_NN_VERIFICATION_H
#define ZERO_LIB_DIALECT_NN_VERIFICATION_H

#include "zero/Dialect/NN/NN.h"

#include <optional>
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

/// Reports what is wrong with an operation that may not exist yet.
class Checker {
public:
  Checker(StringRef operation, std::optional<Location> location)
      : operation(operation), location(location) {}

  /// Reports an error at the operation; always failure.
  LogicalResult error(const Twine &message) const;

  LogicalResult rank(StringRef name, Value value, int64_t wanted) const;
  LogicalResult minimumRank(StringRef name, Value value, int64_t wanted) const;
  LogicalResult shape(StringRef name, Value value,
                      ArrayRef<int64_t> wanted) const;
  LogicalResult element(StringRef name, Value value, Type wanted) const;
  LogicalResult type(StringRef name, Value value,
                     RankedTensorType wanted) const;
  /// `dims` increases strictly within [0, rank).
  LogicalResult dims(ArrayRef<int64_t> dims, int64_t rank) const;

private:
  StringRef operation;
  std::optional<Location> location;
};

} // namespace mlir::nn::detail

#endif // ZERO_LIB_DIALECT_NN_VERIFICATION_H
