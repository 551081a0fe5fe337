//===- StatePlan.h - where parameters, gradients and moments lie ----------===//
//
// The memory that outlives a step: sizes and places follow from the partitions
// alone. Also the places of a step's inputs.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_MEMORY_STATEPLAN_H
#define ZERO_MEMORY_STATEPLAN_H

#include "zero/Dialect/Zero/PartitionTable.h"

namespace mlir::zero {

/// Hands out places of the arenas that are filled once, one after the other.
class ArenaCursor {
public:
  AtAttr take(MLIRContext *context, MemorySpace space, int64_t bytes);

private:
  int64_t next[MemorySpace::kCount] = {};
};

/// Places of all that a partition keeps, as its attributes.
struct PartitionPlaces {
  /// The places of `parameters` and, if the partition is trained, of
  /// `gradients` and `errors`.
  DictionaryAttr at;
  /// The partition's states, with the place of each range; null where it is not
  /// trained.
  ArrayAttr states;
};
PartitionPlaces planPartition(PartitionOp partition, ArenaCursor &cursor);

/// The places of parameters and states after planning. Built once a module;
/// look-ups are constant time.
class StatePlaces : public PartitionTable {
public:
  explicit StatePlaces(ModuleOp module);

  /// The whole copy that `zero.load` reads; null where the parameter is
  /// sharded and has no resident copy.
  AtAttr getWhole(StringAttr parameter) const;
  /// The place of elements [begin, end) of the stored gradient (`whole`), or of
  /// a rank's slice of the segment [begin, end).
  AtAttr getGradient(PartitionOp partition, int64_t begin, int64_t end,
                     bool slice) const;
  /// The place of elements [begin, end) of an optimizer's state, or of a rank's
  /// slice of the segment [begin, end). They lie in one of its ranges.
  AtAttr getState(PartitionOp partition, StateAttr state, int64_t begin,
                  int64_t end, bool slice) const;
  /// The place of a rank's slice of the segment [begin, end) of a state that
  /// is stored whole or sharded.
  AtAttr getSlice(PartitionOp partition, AtAttr state, bool sharded,
                  int64_t elementBytes, int64_t begin, int64_t end) const;
  /// The offset, in bytes among a rank's parameters, of its packed slice of the
  /// member at `begin` of a quantized partition.
  int64_t getPackedOffset(PartitionOp partition, int64_t begin) const;
  /// The place of `buffer` in a state or a resident copy; null for other
  /// memory.
  AtAttr getPlace(const AsyncBuffer &buffer) const;
  /// The place after planning of `buffer`, one of `op`: from `zero.at`, or from
  /// the states. Null where there is none.
  AtAttr getPlace(Operation *op, const AsyncBuffer &buffer) const;
  /// The place of each of `buffers`, those of `op`.
  SmallVector<AtAttr> getPlaces(Operation *op,
                                ArrayRef<AsyncBuffer> buffers) const;

private:
  DenseMap<StringAttr, AtAttr> residents;
  /// By quantized partition, the offsets of its members; filled when asked for.
  mutable DenseMap<Operation *, DenseMap<int64_t, int64_t>> packedOffsets;
};

/// All places of `op`, of results or of what it starts.
SmallVector<AtAttr> listPlaces(Operation *op);

/// Elements [offset, offset + elements) of what is at `place`, of `type`.
AtAttr getPart(AtAttr place, Type type, int64_t offset, int64_t elements);

} // namespace mlir::zero

#endif // ZERO_MEMORY_STATEPLAN_H
