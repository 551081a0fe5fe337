//===- Array.h - values of the interpreter ----------------------*- C++ -*-===//
#ifndef ZERO_INTERPRETER_ARRAY_H
#define ZERO_INTERPRETER_ARRAY_H

#include "mlir/IR/BuiltinTypes.h"

#include <vector>

namespace mlir::zero {

/// A dense row-major array, the value of a ranked static tensor or a scalar
/// (rank 0). Floats of any type are held as f64, integers, booleans and indices
/// as int64; exactly one of the two vectors is used.
struct Array {
  SmallVector<int64_t> shape;
  bool isFloat = true;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  /// Zeros of the shape and kind of `type`: a ranked tensor of static shape or
  /// a float, integer or index type.
  static Array zeros(Type type);

  int64_t size() const {
    return isFloat ? static_cast<int64_t>(reals.size())
                   : static_cast<int64_t>(integers.size());
  }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }

  /// Elements from dimension `first` on: the length of a row that starts there.
  int64_t innerSize(int64_t first) const;

  /// The position of `index`, one entry a dimension.
  int64_t offset(ArrayRef<int64_t> index) const;

  /// Copies element `from` of `source`, of the same kind, to element `to`.
  void copyElement(int64_t to, const Array &source, int64_t from);
};

/// Calls `body` with every index of `shape` in row-major order; once with the
/// empty index where the rank is 0.
void forEachIndex(ArrayRef<int64_t> shape,
                  llvm::function_ref<void(ArrayRef<int64_t>)> body);

} // namespace mlir::zero

#endif // ZERO_INTERPRETER_ARRAY_H
