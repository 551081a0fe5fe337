//===- VerifyAccesses.h - which bytes operations touch ----------*- C++ -*-===//
#ifndef ZERO_LIB_VERIFY_VERIFYACCESSES_H
#define ZERO_LIB_VERIFY_VERIFYACCESSES_H

#include "zero/Verify/Verify.h"

#include "zero/Memory/StatePlan.h"

namespace mlir::zero::verify {

/// Bytes [begin, end) of a memory space that an operation reads or writes.
struct Access {
  MemorySpace space = ArenaKind::Activations;
  int64_t begin = 0, end = 0;
  bool isWrite = false;
  /// The only rank that does; negative: all do.
  int64_t rank = -1;
};

/// The accesses of an operation where it stands, and those that go on until its
/// wait.
struct Accesses {
  SmallVector<Access> atOnce, inFlight;
};

/// Reads accesses off the places that zero-plan-memory has written. A place
/// with a stride counts as the places of all ranks: a rank's own slice lies
/// between those of the others, and what touches them touches it.
class AccessTable {
public:
  explicit AccessTable(const Tables &tables);

  const Accesses &of(Operation &op);

private:
  void collect(Operation &op, Accesses &accesses);
  void collectAccumulate(AccumulateOp op, Accesses &accesses);
  void collectStats(GradStatsOp op, Accesses &accesses);
  void collectUpdate(UpdateOp op, Accesses &accesses);
  void collectStart(AsyncOpInterface op, Accesses &accesses);
  void collectWait(WaitOp wait, Accesses &accesses);
  void collectOwned(PartitionOp partition, ArrayAttr parameters,
                    SmallVectorImpl<Access> &accesses);
  void collectOperands(Operation &op, Accesses &accesses);
  /// Adds the bytes of `place`, where there is one.
  void add(SmallVectorImpl<Access> &accesses, AtAttr place, bool isWrite,
           int64_t rank = -1);
  AtAttr placeOf(Value value);
  AtAttr findPlace(Value value);

  const Tables &tables;
  StatePlaces state;
  DenseMap<Value, AtAttr> places;
  DenseMap<Operation *, Accesses> known;
};

} // namespace mlir::zero::verify

#endif // ZERO_LIB_VERIFY_VERIFYACCESSES_H
