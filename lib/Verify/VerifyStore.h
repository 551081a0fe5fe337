//===- VerifyStore.h - what a stored gradient holds -------------*- C++ -*-===//
#ifndef ZERO_LIB_VERIFY_VERIFYSTORE_H
#define ZERO_LIB_VERIFY_VERIFYSTORE_H

#include "zero/Verify/Verify.h"

namespace mlir::zero::verify {

/// Over which ranks a stored element is a sum, and who holds it.
enum class Level { Local, Owner, Everywhere };

/// Neighbouring elements of one member or of padding, in one segment, that
/// every operation takes together.
struct Cell {
  int64_t begin = 0, end = 0;
  /// The member, or null for padding.
  FlatSymbolRefAttr parameter;
  int64_t micros = 0;
  Level level = Level::Local;
  /// The micro-batches whose gradient a reduction has taken in.
  int64_t travelled = 0;
  /// Whether the replicas' gradients are in it.
  bool isCombined = false;
  /// Whether the gradients of other stages of a pipeline are in it.
  bool isTied = false;
  Operation *inFlight = nullptr, *checkedBy = nullptr;
};

/// The stored gradient of one partition.
struct Store {
  PartitionOp partition;
  SmallVector<Cell> cells;
  /// Boundaries of segments, each once.
  SmallVector<int64_t> boundaries;

  /// Cells end at segments, at members and at `cuts`.
  Store(PartitionOp partition, ArrayRef<int64_t> cuts);
  MutableArrayRef<Cell> range(int64_t begin, int64_t end);
  /// How many segments that are not empty begin before element `end`.
  size_t countSegments(int64_t end) const;
  LogicalResult verifyComplete(int64_t micros);
};

} // namespace mlir::zero::verify

#endif // ZERO_LIB_VERIFY_VERIFYSTORE_H
