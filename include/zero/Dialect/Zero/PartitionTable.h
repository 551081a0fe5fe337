//===- PartitionTable.h - partitions by name and by parameter -------------===//
#ifndef ZERO_DIALECT_ZERO_PARTITIONTABLE_H
#define ZERO_DIALECT_ZERO_PARTITIONTABLE_H

#include "zero/Dialect/Zero/Zero.h"

namespace mlir::zero {

/// The partitions of a module; read when first asked for, then constant time.
class PartitionTable {
public:
  /// The table of the module that `op` is, or is in.
  explicit PartitionTable(Operation *op);

  /// The partition of that name; null where there is none.
  PartitionOp find(FlatSymbolRefAttr partition) const;
  /// The partition that has `parameter`; null where there is none.
  PartitionOp getPartition(StringAttr parameter) const;
  MemberAttr getMember(StringAttr parameter) const;
  /// The segments that hold a parameter at stage 3, padding included; empty
  /// where it is in no partition.
  std::pair<int64_t, int64_t> getSegmentsOf(StringAttr parameter) const;

private:
  void read() const;

  mutable Operation *unread;
  mutable DenseMap<StringAttr, PartitionOp> named, partitions;
  mutable DenseMap<StringAttr, MemberAttr> members;
};

/// The parameters of which every rank keeps a whole copy beside its slices, as
/// `initialize` gathers them; in order.
SmallVector<FlatSymbolRefAttr> getResidentParameters(StepOp step);

/// Bytes of one element as the runtime stores it.
int64_t elementBytes(Type elementType);

/// Whether a single micro-batch's gradient of `type` is stored as it is, so
/// that it can be produced or received in its final place: nothing is added up
/// and nothing converted.
bool storesDirectly(PartitionOp partition, Type type, TrainingAttr training);

/// Elements of a bucket that one rank owns: `count` from `flat` in the group
/// and from `inBucket` in the bucket.
struct OwnerRun {
  int64_t owner, flat, inBucket, count;
};

/// Cuts a bucket of the members' elements in `range` at the owners' boundaries
/// of a contiguous layout; neighbours in the flat space that one rank owns are
/// one run.
SmallVector<OwnerRun> cutAtOwners(PartitionOp partition, ArrayAttr parameters,
                                  std::pair<int64_t, int64_t> range);

} // namespace mlir::zero

#endif // ZERO_DIALECT_ZERO_PARTITIONTABLE_H
