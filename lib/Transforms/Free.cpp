//===- Free.cpp - say where gathered parameters and gradients die ---------===//

#include "zero/Analysis/LastUse.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FREE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct Free : public zero::impl::FreeBase<Free> {
  using FreeBase::FreeBase;
  void runOnOperation() override;
};
} // namespace

/// Values that ZeRO made whole for a while: what a started operation gives in
/// memory of its own, such as gathered parameters, and what it has taken in,
/// such as gradients; in order of definition. What a carried operation reads
/// goes with it.
static llvm::SetVector<Value> findMortal(Block &block, const Handles &handles,
                                         const PartitionTable &partitions,
                                         TrainingAttr training) {
  llvm::SetVector<Value> mortal;
  for (auto wait : block.getOps<WaitOp>()) {
    auto start = wait.getPending().getDefiningOp<AsyncOpInterface>();
    if (!start)
      continue;
    for (const AsyncBuffer &buffer : start.getBuffers(partitions, training))
      if (buffer.isFreed)
        mortal.insert(wait.getResult(buffer.result));
    for (Value operand : start->getOperands())
      if (Operation *producer = getRoot(operand).getDefiningOp();
          producer && isa<RankedTensorType>(operand.getType()) &&
          !isa<LoadOp>(producer) &&
          !producer->hasTrait<OpTrait::ConstantLike>())
        mortal.insert(getRoot(operand));
  }
  for (auto start : block.getOps<AsyncOpInterface>()) {
    Operation *wait = handles.findWait(start);
    if (!wait || wait->getBlock() == &block)
      continue;
    for (Value operand : start->getOperands())
      mortal.remove(getRoot(operand));
  }
  return mortal;
}

static void freeIn(Block &block, const Handles &handles,
                   const PartitionTable &partitions, TrainingAttr training) {
  BlockOrder order(block);
  DenseMap<Value, Operation *> lastUses =
      findLastUses({&block}, order, handles);
  llvm::MapVector<Operation *, SmallVector<Value>> dying;
  for (Value value : findMortal(block, handles, partitions, training)) {
    Operation *last = lastUses.lookup(value);
    if (!last)
      last = value.getDefiningOp();
    if (!last->hasTrait<OpTrait::IsTerminator>())
      dying[last].push_back(value);
  }
  for (auto &[last, values] : dying) {
    OpBuilder builder(&block, std::next(Block::iterator(last)));
    FreeOp::create(builder, last->getLoc(), values);
  }
}

void Free::runOnOperation() {
  FailureOr<StepOp> schedule = getConfiguredSchedule(getOperation());
  if (failed(schedule))
    return signalPassFailure();
  StepOp step = *schedule;
  Handles handles(step);
  PartitionTable partitions(step);
  for (Operation &region : step.getBody().front())
    freeIn(region.getRegion(0).front(), handles, partitions,
           *step.getTraining());
}
