//===- SplitForward.cpp - forward and backward of a stage, apart ----------===//

#include "Carry.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Views.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_SPLITFORWARD
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Splits the micro-batch of one step.
class Splitter {
public:
  explicit Splitter(MicroOp micro)
      : micro(micro), builder(micro.getContext()),
        backward(micro.getBody().front()) {}
  LogicalResult run();

private:
  void waitInForward();
  void moveForward(Operation *first);
  void stashValues();
  Value provide(Value value);
  Value unstash(Value value);
  Value stash(Value value, StringRef name);
  LogicalResult carrySends(Block &from, Block &to);

  MicroOp micro;
  OpBuilder builder;
  Block &backward;
  ForwardOp forward;
  /// What the backward pass has of each value of the forward pass.
  DenseMap<Value, Value> provided;
  /// The stash of a value.
  DenseMap<Value, Value> stashed;
  int64_t count = 0;
};

struct SplitForward : public zero::impl::SplitForwardBase<SplitForward> {
  using SplitForwardBase::SplitForwardBase;

  void runOnOperation() override {
    bool isStage = llvm::any_of(getOperation().getOps<MeshOp>(),
                                [](MeshOp mesh) { return mesh.getStage(); });
    for (auto step : getOperation().getOps<StepOp>()) {
      auto micro = step.getRegionOp<MicroOp>();
      if (isStage && micro && !step.getRegionOp<ForwardOp>() &&
          failed(Splitter(micro).run()))
        return signalPassFailure();
    }
  }
};

} // namespace

/// What was started in the forward pass is waited for there, but for what is
/// sent, which may still be on its way.
void Splitter::waitInForward() {
  for (auto start : llvm::to_vector(backward.getOps<AsyncOpInterface>())) {
    Value pending = start.getPending();
    if (!pending || isa<StartSendOp>(start.getOperation()))
      continue;
    for (Operation *user : llvm::to_vector(pending.getUsers()))
      if (isa<WaitOp>(user))
        if (Operation *first = findBackward(backward);
            start->isBeforeInBlock(first) && !user->isBeforeInBlock(first))
          user->moveBefore(first);
  }
}

void Splitter::moveForward(Operation *first) {
  builder.setInsertionPoint(micro);
  forward = ForwardOp::create(builder, micro.getLoc());
  Block &block = forward.getBody().emplaceBlock();
  block.getOperations().splice(block.end(), backward.getOperations(),
                               backward.begin(), first->getIterator());
}

Value Splitter::stash(Value value, StringRef name) {
  Value &known = stashed[value];
  if (!known) {
    builder.setInsertionPointToEnd(value.getParentBlock());
    if (value.getParentBlock() == &backward)
      builder.setInsertionPoint(backward.getTerminator());
    known = StashOp::create(builder, value.getLoc(), value.getType(), value,
                            builder.getStringAttr(name));
  }
  return known;
}

Value Splitter::unstash(Value value) {
  std::string name = "stashed " + std::to_string(count++);
  stash(value, name);
  builder.setInsertionPointToStart(&backward);
  return UnstashOp::create(builder, value.getLoc(), value.getType(),
                           builder.getStringAttr(name));
}

/// The value in the backward pass: what it is made of there, or what is left
/// of it in the stash.
Value Splitter::provide(Value value) {
  if (Value known = provided.lookup(value))
    return known;
  Operation *maker = value.getDefiningOp();
  std::optional<View> view = getView(maker);
  const bool isRepeated =
      view || isa<LoadOp>(maker) || maker->hasTrait<OpTrait::ConstantLike>();
  if (!isRepeated)
    return provided[value] = unstash(value);
  IRMapping mapping;
  for (Value operand : maker->getOperands())
    if (Operation *inner = operand.getDefiningOp();
        inner && inner->getBlock() == &forward.getBody().front())
      mapping.map(operand, provide(operand));
  builder.setInsertionPointToStart(&backward);
  // Behind what it is made of, which has just been put at the beginning.
  for (Operation &op : backward) {
    bool isOperand = llvm::any_of(mapping.getValueMap(), [&](auto entry) {
      return entry.second.getDefiningOp() == &op;
    });
    if (isOperand)
      builder.setInsertionPointAfter(&op);
  }
  Operation *copy = builder.clone(*maker, mapping);
  return provided[value] =
             copy->getResult(cast<OpResult>(value).getResultNumber());
}

/// Replaces what the backward pass reads of the forward pass.
void Splitter::stashValues() {
  Block &before = forward.getBody().front();
  SmallVector<OpOperand *> reads;
  backward.walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Operation *maker = operand.get().getDefiningOp();
          maker && maker->getBlock() == &before &&
          !isa<PendingType>(operand.get().getType()))
        reads.push_back(&operand);
  });
  for (OpOperand *read : reads)
    read->set(provide(read->get()));
}

/// Lets `to`, which runs next in the slot, wait for what `from` sends, and
/// sends it from the stash.
LogicalResult Splitter::carrySends(Block &from, Block &to) {
  for (auto send : llvm::to_vector(from.getOps<StartSendOp>())) {
    FailureOr<WaitOp> wait = findOwnWait(send);
    if (failed(wait))
      return failure();
    if (!*wait)
      continue;
    send.getValueMutable().assign(stash(send.getValue(), send.getLabel()));
    if (from.mightHaveTerminator())
      send->moveBefore(from.getTerminator());
    else
      send->moveBefore(&from, from.end());
    wait->getOperation()->moveBefore(&to, to.begin());
    carryToWait(cast<AsyncOpInterface>(send.getOperation()), *wait);
  }
  return success();
}

LogicalResult Splitter::run() {
  Operation *first = findBackward(backward);
  if (!first)
    return micro.emitOpError("has no backward pass: no gradient begins at a "
                             "'zero.loss_seed', or comes from the next stage");
  waitInForward();
  moveForward(first);
  stashValues();
  return success(succeeded(carrySends(forward.getBody().front(), backward)) &&
                 succeeded(carrySends(backward, forward.getBody().front())));
}
