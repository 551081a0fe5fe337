//===- VerifyLifetimes.cpp - frees: none too early, none missing ----------===//

#include "zero/Verify/Verify.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {
class Lifetimes : public Tracker {
public:
  explicit Lifetimes(const Tables &tables) : tables(tables) {}
  void enter() override {
    freed.clear();
    borrowed.clear();
    due.clear();
  }
  LogicalResult visit(Operation &op) override;
  LogicalResult leave() override;

private:
  LogicalResult visitUses(Operation &op);
  LogicalResult visitFree(FreeOp free);
  void visitStart(Operation &op);
  void visitWait(WaitOp wait);

  const Tables &tables;
  DenseMap<Value, Operation *> freed;
  /// The operations in flight that read a value.
  DenseMap<Value, llvm::SmallSetVector<Operation *, 2>> borrowed;
  /// Values that must be freed in this region, each with the operation that is
  /// the reason.
  llvm::MapVector<Value, Operation *> due;
};
} // namespace

LogicalResult Lifetimes::visitUses(Operation &op) {
  WalkResult walk = op.walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      auto found = freed.find(getRoot(operand));
      if (found == freed.end())
        continue;
      InFlightDiagnostic error =
          isa<FreeOp>(op)
              ? op.emitOpError("frees a value that is freed already")
              : op.emitOpError("uses a value that was freed");
      error.attachNote(found->second->getLoc()) << "freed here";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult Lifetimes::visitFree(FreeOp free) {
  for (Value value : free.getValues()) {
    Value root = getRoot(value);
    Operation *producer = root.getDefiningOp();
    if (!producer || isa<LoadOp>(producer) ||
        producer->hasTrait<OpTrait::ConstantLike>())
      return free.emitOpError("frees memory that outlives the region");
    if (auto starts = borrowed.lookup(root); !starts.empty()) {
      InFlightDiagnostic error = free.emitOpError(
          "frees a value that an operation in flight still reads");
      error.attachNote(starts.front()->getLoc())
          << "started here and not waited for";
      return error;
    }
    if (!freed.try_emplace(root, free).second)
      return free.emitOpError("frees one value twice");
  }
  return success();
}

void Lifetimes::visitStart(Operation &op) {
  if (isa<AsyncOpInterface>(op))
    for (Value operand : op.getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        borrowed[getRoot(operand)].insert(&op);
}

void Lifetimes::visitWait(WaitOp wait) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      tables.handles.findStart(wait.getPending()));
  if (!start)
    return;
  for (const AsyncBuffer &buffer : tables.getBuffers(start))
    if (buffer.isFreed)
      due[wait.getResult(buffer.result)] = wait;
  // What a carried operation reads goes with it.
  if (start->getBlock() != wait->getBlock())
    return;
  for (Value operand : start->getOperands()) {
    Value root = getRoot(operand);
    if (auto known = borrowed.find(root); known != borrowed.end())
      known->second.remove(start);
    Operation *producer = root.getDefiningOp();
    if (producer && isa<RankedTensorType>(operand.getType()) &&
        !isa<LoadOp>(producer) && !producer->hasTrait<OpTrait::ConstantLike>())
      due[root] = start;
  }
}

LogicalResult Lifetimes::visit(Operation &op) {
  if (failed(visitUses(op)))
    return failure();
  if (auto free = dyn_cast<FreeOp>(op))
    return visitFree(free);
  if (auto wait = dyn_cast<WaitOp>(op))
    visitWait(wait);
  visitStart(op);
  return success();
}

LogicalResult Lifetimes::leave() {
  if (due.empty())
    return success();
  Operation &last = now.region->getRegion(0).front().back();
  llvm::DenseSet<Value> yielded;
  if (last.hasTrait<OpTrait::IsTerminator>())
    for (Value operand : last.getOperands())
      yielded.insert(getRoot(operand));
  for (auto [value, cause] : due) {
    // What a carried operation reads goes with it.
    if (freed.count(value) || yielded.contains(value) ||
        !borrowed.lookup(value).empty())
      continue;
    if (isa<WaitOp>(cause))
      return cause->emitOpError(isa_and_present<CollectiveOpInterface>(
                                    tables.handles.findStartOf(value))
                                    ? "gathers a parameter"
                                    : "gives a copy")
             << " that is never freed";
    InFlightDiagnostic error =
        cause->emitOpError("takes in ")
        << (isReduction(cause) ? "a gradient" : "a value")
        << " that is never freed";
    error.attachNote(value.getLoc()) << "computed here";
    return error;
  }
  return success();
}

LogicalResult verify::verifyLifetimes(const Tables &tables) {
  Lifetimes lifetimes(tables);
  return simulate(tables, lifetimes);
}
