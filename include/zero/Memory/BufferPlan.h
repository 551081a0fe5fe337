//===- BufferPlan.h - which values share which memory ---------------------===//
//
// The alias and borrow facts of a region, or of several that run one after the
// other and pass handles on, and places that follow from them.
// Views share their root's buffer; a started collective borrows its operands
// until its wait; gradients are produced at their place in a bucket, or in the
// stored gradient; a result takes the place of a dying operand that its kernel
// may overwrite.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_MEMORY_BUFFERPLAN_H
#define ZERO_MEMORY_BUFFERPLAN_H

#include "zero/Analysis/LastUse.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Memory/Allocation.h"
#include "zero/Memory/StatePlan.h"

namespace mlir::zero {

/// Memory that values share.
struct PlannedBuffer {
  MemorySpace space = ArenaKind::Activations;
  int64_t bytes = 0;
  int64_t alignment = kBufferAlignment;
  /// First and last operation that needs it, by position.
  int64_t begin = 0, end = 0;
  /// Part of another buffer (a bucket), from `parentOffset` on; -1: its own.
  int parent = -1;
  int64_t parentOffset = 0;
  /// Whether a started operation makes it: no kernel's result takes its place,
  /// and it is made nowhere else.
  bool isAsync = false;
  /// A place that is known beforehand (state, inputs, constants), or null.
  AtAttr fixed;
};

/// A value's memory: bytes from the beginning of a buffer. On rank r of `over`,
/// `stride * r` further.
struct Memory {
  int buffer = -1;
  int64_t offset = 0;
  int64_t stride = 0;
  int64_t bytes = 0;
  AxesAttr over; ///< null: over which states are cut
};

/// The buffers of the regions of one line of time (see `getTimelines`).
class BufferPlan {
public:
  /// `constants` gives the place of a constant of the given value.
  BufferPlan(ArrayRef<Block *> line, const Handles &handles,
             const StatePlaces &state, TrainingAttr training,
             function_ref<AtAttr(ElementsAttr)> constants);

  /// Why planning failed, after a diagnostic; success otherwise.
  LogicalResult result() const { return status; }

  /// Chooses offsets in every memory of `getSpaces`.
  void solve();
  /// The most bytes alive at one time: no offsets need less.
  int64_t liveBytes(MemorySpace space) const;
  /// The memory that values and staging buffers share.
  static ArrayRef<MemorySpace> getSpaces();

  /// The places of the buffers that each operation makes, in the order in which
  /// the lowering asks for them; for `zero.at`.
  SmallVector<std::pair<Operation *, SmallVector<AtAttr>>> getPlaces() const;

private:
  void findReads(ArrayRef<Block *> line);
  LogicalResult visit(Operation &op);
  void visitWait(WaitOp wait);
  void visitKernel(Operation &op);
  LogicalResult visitLoad(LoadOp load);
  void visitStash(Operation &op);
  void moveToCommunication(Value value);
  void visitStart(AsyncOpInterface start);
  void visitAccumulate(AccumulateOp accumulate);

  int newBuffer(MemorySpace space, int64_t bytes, Operation *begin);
  int fixedBuffer(AtAttr place);
  Memory whole(int buffer) const;
  int rootOf(int buffer, int64_t &offset) const;
  /// Lets `value` be produced at `offset` of `bucket`; where it cannot, the
  /// lowering copies it there.
  void place(Value value, int bucket, int64_t offset);
  /// The memory of a buffer of `start`, of which `others` come before it.
  Memory makeMemory(const AsyncBuffer &buffer, ArrayRef<Memory> others,
                    Operation *start);
  /// The dying operand whose memory a result of `type` may take, or -1.
  int findDyingInput(Operation &op, Type type);
  /// Keeps the memory of `value` alive through the present operation.
  void extend(Value value);
  void keepAlive(int buffer);

  const Handles &handles;
  const StatePlaces &state;
  TrainingAttr training;
  function_ref<AtAttr(ElementsAttr)> constants;
  LogicalResult status = success();

  SmallVector<PlannedBuffer> buffers;
  DenseMap<Value, Memory> memory;
  /// The tensors of a pending, in order.
  DenseMap<Value, SmallVector<Memory>> pending;
  SmallVector<std::pair<Operation *, SmallVector<Memory>>> made;
  BlockOrder order;
  /// The buffers that a started operation needs until its wait, and that hold
  /// no result: the bucket of a reduction, packed slices.
  DenseMap<Value, SmallVector<int>> inFlight;
  /// The buffers that the wait for a started operation fills.
  DenseMap<Value, SmallVector<int>> madeAtWait;
  /// Last position that reads a root value, and that still borrows it: a
  /// reduction borrows until its wait.
  DenseMap<Value, int64_t> lastRead, borrowedUntil;
  int64_t now = 0;
  int64_t live[MemorySpace::kCount] = {};
};

} // namespace mlir::zero

#endif // ZERO_MEMORY_BUFFERPLAN_H
