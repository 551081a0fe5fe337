//===- SplitForward.cpp - forward and backward of a stage, apart ----------===//

#include "Carry.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/InputDependence.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Views.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::zero {
#define GEN_PASS_DEF_SPLITFORWARD
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Splits the micro-batch of one step into passes: the forward passes of its
/// chunks, and their backward passes in the other order.
class Splitter {
public:
  explicit Splitter(MicroOp micro)
      : micro(micro), builder(micro.getContext()) {}
  LogicalResult run();

private:
  LogicalResult findPasses();
  void waitInPasses();
  void makePasses();
  Block *makePass(size_t index);
  void placeYields();
  void stashValues();
  bool isElsewhere(Value value, Block *pass) const;
  Value provide(Value value, Block *pass);
  Value unstash(Value value, Block *pass);
  StashOp makeStash(Value value, const Twine &name);
  StashOp stash(Value value, const Twine &name);
  StashOp stashSent(StartSendOp send, Block *waits);
  LogicalResult carrySends(Block &from, Block &to);

  MicroOp micro;
  OpBuilder builder;
  int64_t chunks = 1;
  /// The first operation of each pass but the first one; a boundary between
  /// passes of one direction.
  SmallVector<Operation *> begins;
  SmallVector<Block *> passes;
  /// What a pass has of each value of another one.
  DenseMap<std::pair<Block *, Value>, Value> provided;
  DenseMap<Value, StashOp> stashed;
  /// The passes that take what is stashed.
  DenseMap<Value, DenseSet<Block *>> takers;
  InputDependence dependence;
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

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

LogicalResult Splitter::findPasses() {
  Block &block = micro.getBody().front();
  Operation *first = findBackward(block);
  if (!first)
    return micro.emitOpError("has no backward pass: no gradient begins at a "
                             "'zero.loss_seed', or comes from the next stage");
  for (auto boundary : block.getOps<StageBoundaryOp>())
    chunks += boundary->isBeforeInBlock(first);
  for (Operation &op : block)
    if (isa<StageBoundaryOp>(op) || &op == first)
      begins.push_back(&op);
  if (static_cast<int64_t>(begins.size()) == 2 * chunks - 1)
    return success();
  return micro.emitOpError("has ")
         << chunks << " forward passes and " << begins.size() + 1 - chunks
         << " backward passes between its 'zero.stage_boundary'; wanted as "
            "many, as zero-differentiate makes them";
}

/// What is started in a pass is waited for there, but for what is sent, which
/// may still be on its way.
void Splitter::waitInPasses() {
  for (auto start :
       llvm::to_vector(micro.getBody().front().getOps<AsyncOpInterface>())) {
    Value pending = start.getPending();
    if (!pending || isa<StartSendOp>(start.getOperation()))
      continue;
    auto *end = llvm::find_if(begins, [&](Operation *begin) {
      return start->isBeforeInBlock(begin);
    });
    if (end == begins.end())
      continue;
    for (Operation *user : llvm::to_vector(pending.getUsers()))
      if (isa<WaitOp>(user) && !user->isBeforeInBlock(*end))
        user->moveBefore(*end);
  }
}

/// The region of a pass; the last one stays what the micro-batch was.
Block *Splitter::makePass(size_t index) {
  const auto chunk = static_cast<int64_t>(index);
  if (index == begins.size())
    return &micro.getBody().front();
  if (chunk < chunks)
    return &ForwardOp::create(builder, micro.getLoc(), chunk)
                .getBody()
                .emplaceBlock();
  return &MicroOp::create(builder, micro.getLoc(), /*last=*/false,
                          2 * chunks - 1 - chunk)
              .getBody()
              .emplaceBlock();
}

void Splitter::makePasses() {
  Block &block = micro.getBody().front();
  builder.setInsertionPoint(micro);
  for (size_t index = 0; index <= begins.size(); ++index) {
    Block *pass = makePass(index);
    passes.push_back(pass);
    if (pass != &block)
      pass->getOperations().splice(pass->end(), block.getOperations(),
                                   block.begin(), begins[index]->getIterator());
  }
  for (Operation *begin : begins)
    if (isa<StageBoundaryOp>(begin))
      begin->erase();
}

/// The loss is that of the backward pass which begins with it.
void Splitter::placeYields() {
  if (chunks == 1)
    return;
  auto yield = cast<YieldOp>(passes.back()->back());
  Block *ofLoss = passes[chunks];
  yield->moveBefore(ofLoss, ofLoss->end());
  for (Block *pass : ArrayRef(passes).drop_front(chunks + 1)) {
    builder.setInsertionPointToEnd(pass);
    YieldOp::create(builder, yield.getLoc(), ValueRange(), /*weight=*/Value(),
                    /*outputs=*/ArrayAttr());
  }
}

//===----------------------------------------------------------------------===//
// What passes from one to another
//===----------------------------------------------------------------------===//

StashOp Splitter::makeStash(Value value, const Twine &name) {
  Block *pass = value.getParentBlock();
  builder.setInsertionPointToEnd(pass);
  if (pass->mightHaveTerminator())
    builder.setInsertionPoint(pass->getTerminator());
  return StashOp::create(builder, value.getLoc(), value.getType(), value,
                         builder.getStringAttr(name));
}

StashOp Splitter::stash(Value value, const Twine &name) {
  StashOp &known = stashed[value];
  if (!known)
    known = makeStash(value, name);
  return known;
}

/// Where the value lies that is sent until the pass `waits`. What a pass of
/// another chunk takes may be taken while it is still sent, and lie in a slot
/// that is filled before the wait: then what is sent has a place of its own.
StashOp Splitter::stashSent(StartSendOp send, Block *waits) {
  Value value = send.getValue();
  const bool isOfOthers =
      llvm::any_of(takers[value], [&](Block *taker) { return taker != waits; });
  return isOfOthers ? makeStash(value, send.getLabel())
                    : stash(value, send.getLabel());
}

Value Splitter::unstash(Value value, Block *pass) {
  StashOp known = stashed.lookup(value);
  if (!known)
    known = stash(value, "stashed " + Twine(count++));
  takers[value].insert(pass);
  builder.setInsertionPointToStart(pass);
  return UnstashOp::create(builder, value.getLoc(), value.getType(),
                           known.getNameAttr());
}

/// Whether another pass makes a value.
bool Splitter::isElsewhere(Value value, Block *pass) const {
  Operation *maker = value.getDefiningOp();
  return maker && maker->getBlock() != pass &&
         llvm::is_contained(passes, maker->getBlock());
}

/// The value in a pass: what it is made of there, or what is left of it in the
/// stash.
Value Splitter::provide(Value value, Block *pass) {
  if (Value known = provided.lookup({pass, value}))
    return known;
  Operation *maker = value.getDefiningOp();
  std::optional<View> view = getView(maker);
  const bool isRepeated = view || isa<LoadOp>(maker) ||
                          maker->hasTrait<OpTrait::ConstantLike>() ||
                          dependence.isOfInputs(value);
  if (!isRepeated)
    return provided[{pass, value}] = unstash(value, pass);
  IRMapping mapping;
  for (Value operand : maker->getOperands())
    if (isElsewhere(operand, pass))
      mapping.map(operand, provide(operand, pass));
  builder.setInsertionPointToStart(pass);
  // Behind what it is made of, which has just been put at the beginning.
  for (Operation &op : *pass) {
    bool isOperand = llvm::any_of(mapping.getValueMap(), [&](auto entry) {
      return entry.second.getDefiningOp() == &op;
    });
    if (isOperand)
      builder.setInsertionPointAfter(&op);
  }
  Operation *copy = builder.clone(*maker, mapping);
  return provided[{pass, value}] =
             copy->getResult(cast<OpResult>(value).getResultNumber());
}

/// Replaces what passes read of others.
void Splitter::stashValues() {
  for (Block *pass : passes) {
    SmallVector<OpOperand *> reads;
    pass->walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (isElsewhere(operand.get(), pass) &&
            !isa<PendingType>(operand.get().getType()))
          reads.push_back(&operand);
    });
    for (OpOperand *read : reads)
      read->set(provide(read->get(), pass));
  }
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
    send.getValueMutable().assign(stashSent(send, &to));
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
  if (failed(findPasses()))
    return failure();
  waitInPasses();
  makePasses();
  placeYields();
  stashValues();
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Block &forward = *passes[chunk],
          &backward = *passes[2 * chunks - 1 - chunk];
    if (failed(carrySends(forward, backward)) ||
        failed(carrySends(backward, forward)))
      return failure();
  }
  return success();
}
