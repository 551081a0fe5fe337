//===- CheckpointActivations.cpp - recompute instead of keeping -----------===//

#include "OffloadActivations.h"

#include "zero/Transforms/Passes.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Kernels/RecomputePlan.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zero {
#define GEN_PASS_DEF_CHECKPOINTACTIVATIONS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Consecutive operations of the forward that are recomputed together.
using Span = SmallVector<Operation *>;

/// Computes what the backward needs of one span where it needs it first.
class SpanRecomputation {
public:
  /// With `whole`, all of `span` is computed where its first value is needed.
  SpanRecomputation(const RecomputePlan &plan, ArrayRef<Operation *> span,
                    bool whole)
      : plan(plan), span(span), whole(whole) {}

  /// Lets `op`, of the backward, read recomputed values.
  void rewrite(Operation *op);
  /// Keeps copies that nothing reads.
  void finish();
  /// The first operation that recomputes.
  Operation *getFirst() const { return first; }

private:
  bool isRecomputed(Value value) const {
    return plan.isRecomputed(getRoot(value));
  }
  Value recompute(Value value, OpBuilder &builder);
  SmallVector<Operation *> findMakers(Value value) const;
  SmallVector<Operation *> findRepeatable() const;
  void cloneInto(Operation *op, OpBuilder &builder);

  const RecomputePlan &plan;
  ArrayRef<Operation *> span;
  bool whole;
  IRMapping copies;
  SmallVector<Operation *> clones;
  Operation *first = nullptr;
};

struct CheckpointActivations
    : public zero::impl::CheckpointActivationsBase<CheckpointActivations> {
  using CheckpointActivationsBase::CheckpointActivationsBase;
  void runOnOperation() override;

private:
  FailureOr<SmallVector<bool>> chooseLayers(StepOp step, size_t count);
  void offloadSpans(StepOp step, Operation *seed,
                    ArrayRef<RecomputedSpan> recomputed);
  LogicalResult checkpoint(StepOp step, RecomputePolicy recompute);
};

} // namespace

//===----------------------------------------------------------------------===//
// SpanRecomputation
//===----------------------------------------------------------------------===//

void SpanRecomputation::rewrite(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isRecomputed(operand.get()))
      continue;
    OpBuilder builder(op);
    operand.set(recompute(operand.get(), builder));
  }
}

/// What makes `value` and has no copy, as far back as what is kept, in the
/// order of the forward.
SmallVector<Operation *> SpanRecomputation::findMakers(Value value) const {
  SmallVector<Operation *> makers;
  DenseSet<Operation *> seen;
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    Value next = values.pop_back_val();
    if (copies.contains(next) || !isRecomputed(next) ||
        !seen.insert(next.getDefiningOp()).second)
      continue;
    makers.push_back(next.getDefiningOp());
    llvm::append_range(values, next.getDefiningOp()->getOperands());
  }
  llvm::sort(makers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return makers;
}

/// All of the span that can be computed again, with the views of it.
SmallVector<Operation *> SpanRecomputation::findRepeatable() const {
  SmallVector<Operation *> makers;
  for (Operation *op : span)
    if (plan.mayRecompute(op) && !op->hasTrait<OpTrait::ConstantLike>())
      makers.push_back(op);
  return makers;
}

Value SpanRecomputation::recompute(Value value, OpBuilder &builder) {
  if (whole && clones.empty())
    for (Operation *maker : findRepeatable())
      cloneInto(maker, builder);
  if (!copies.contains(value))
    for (Operation *maker : findMakers(value))
      cloneInto(maker, builder);
  return copies.lookup(value);
}

/// A `zero.recompute` is not pure, so what it reads is not removed as dead.
void SpanRecomputation::finish() {
  if (!whole)
    return;
  for (Operation *clone : clones) {
    if (!clone->use_empty() || clone->getNumResults() == 0 || getView(clone))
      continue;
    OpBuilder builder(clone->getContext());
    builder.setInsertionPointAfter(clone);
    Value result = clone->getResult(0);
    RecomputeOp::create(builder, clone->getLoc(), result.getType(), result);
  }
}

void SpanRecomputation::cloneInto(Operation *op, OpBuilder &builder) {
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (copies.contains(operand) ||
        (def && def->hasTrait<OpTrait::ConstantLike>()))
      continue;
    // A load is a use of the parameter, and each use may have its gather.
    Operation *copy = def && isa<LoadOp>(def)
                          ? builder.clone(*def)
                          : RecomputeOp::create(builder, op->getLoc(),
                                                operand.getType(), operand);
    copies.map(operand, copy->getResult(0));
    first = first ? first : copy;
  }
  clones.push_back(builder.clone(*op, copies));
  first = first ? first : clones.back();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<bool>> CheckpointActivations::chooseLayers(StepOp step,
                                                                 size_t count) {
  if (layers.empty())
    return SmallVector<bool>(count, true);
  SmallVector<bool> chosen(count, false);
  for (int64_t layer : layers) {
    if (layer < 0 || layer >= static_cast<int64_t>(count))
      return emitError(step.getLoc())
             << "layer " << layer << " of @" << step.getSymName()
             << " is to be recomputed, but its forward has " << count
             << " layers, from 0 on";
    chosen[layer] = true;
  }
  return chosen;
}

/// The chosen layers, up to `every` neighbours together.
static SmallVector<Span> makeSpans(ArrayRef<ActivationLayer> layers,
                                   ArrayRef<bool> chosen, int64_t every) {
  SmallVector<Span> spans;
  int64_t joined = 0;
  for (auto [layer, isChosen] : llvm::zip_equal(layers, chosen)) {
    if (!isChosen)
      continue;
    // Behind a boundary another pass begins.
    bool isNeighbour =
        !spans.empty() && !isa<StageBoundaryOp>(spans.back().back()) &&
        spans.back().back()->getNextNode() == layer.operations.front();
    if (!isNeighbour || joined == every) {
      spans.emplace_back();
      joined = 0;
    }
    llvm::append_range(spans.back(), layer.operations);
    ++joined;
  }
  return spans;
}

/// Appends to `recomputed` if there was something to recompute.
static void recomputeSpan(const Span &span, Operation *seed,
                          RecomputePolicy policy,
                          SmallVectorImpl<RecomputedSpan> &recomputed) {
  RecomputePlan plan(span, seed, policy);
  if (plan.empty())
    return;
  SpanRecomputation recomputation(plan, span, policy == RecomputePolicy::Full);
  for (Operation *op = seed->getNextNode(); op; op = op->getNextNode())
    recomputation.rewrite(op);
  recomputation.finish();
  // What only the backward had read.
  RecomputedSpan left = {nullptr, nullptr, recomputation.getFirst()};
  for (Operation *op : llvm::reverse(span)) {
    if (isOpTriviallyDead(op)) {
      op->erase();
      continue;
    }
    left.first = op;
    if (!left.last)
      left.last = op;
  }
  recomputed.push_back(left);
}

void CheckpointActivations::offloadSpans(StepOp step, Operation *seed,
                                         ArrayRef<RecomputedSpan> recomputed) {
  int64_t count = offloadActivations(seed, recomputed, offloadBytes);
  if (count == 0 && !recomputed.empty())
    emitRemark(step.getLoc())
        << "nothing is offloaded to host memory: of " << recomputed.size()
        << " recomputed spans of @" << step.getSymName()
        << " none but the last, which the backward pass needs at once, keeps a "
           "value of "
        << offloadBytes.getValue() << " bytes or more";
}

LogicalResult CheckpointActivations::checkpoint(StepOp step,
                                                RecomputePolicy recompute) {
  Block &micro = step.getRegionOp<MicroOp>().getBody().front();
  Operation *seed = findBackward(micro);
  if (!seed)
    return emitError(step.getLoc())
           << "'zero.micro' of @" << step.getSymName()
           << " has no 'zero.loss_seed', from which its backward begins; run "
              "zero-differentiate on the model instead";
  SmallVector<ActivationLayer> found = findActivationLayers(micro);
  if (found.empty())
    return emitError(step.getLoc())
           << "the forward of @" << step.getSymName()
           << " has no place where few activations are alive, so there is "
              "nothing to recompute from; leave activation checkpointing out";
  FailureOr<SmallVector<bool>> chosen = chooseLayers(step, found.size());
  if (failed(chosen))
    return failure();
  int64_t together =
      number ? llvm::divideCeil(found.size(), static_cast<uint64_t>(number))
             : static_cast<int64_t>(every);
  SmallVector<Span> spans = makeSpans(found, *chosen, together);
  // From the last one on: what a span keeps of the one before is then known
  // to be held.
  SmallVector<RecomputedSpan> recomputed;
  for (const Span &span : llvm::reverse(spans))
    recomputeSpan(span, seed, recompute, recomputed);
  std::reverse(recomputed.begin(), recomputed.end());
  if (offload)
    offloadSpans(step, seed, recomputed);
  if (recomputed.empty())
    emitRemark(step.getLoc())
        << "activation checkpointing changes nothing: the backward of @"
        << step.getSymName() << " reads nothing that is worth recomputing in "
        << spans.size() << " of " << found.size() << " layers";
  if (number > static_cast<int64_t>(found.size()))
    emitRemark(step.getLoc())
        << "number_checkpoints " << number.getValue() << " is more than the "
        << found.size() << " layers of @" << step.getSymName()
        << ", whose borders are kept";
  return success();
}

void CheckpointActivations::runOnOperation() {
  std::optional<RecomputePolicy> recompute = parseRecomputePolicy(policy);
  if (!recompute) {
    emitError(getOperation().getLoc())
        << "policy '" << policy << "' is none of all, cheap and full";
    return signalPassFailure();
  }
  if (every < 1 || number < 0) {
    emitError(getOperation().getLoc())
        << "every is " << every.getValue() << " and number "
        << number.getValue() << ", wanted 1 or more and 0 or more";
    return signalPassFailure();
  }
  if (offloadBytes < 0) {
    emitError(getOperation().getLoc())
        << "offload-bytes is " << offloadBytes.getValue()
        << ", wanted 0 or more";
    return signalPassFailure();
  }
  for (StepOp step : getOperation().getOps<StepOp>()) {
    if (step.isModel()) {
      emitError(step.getLoc()) << "'zero.step' is a model, not a schedule; run "
                                  "zero-differentiate first";
      return signalPassFailure();
    }
    if (failed(checkpoint(step, *recompute)))
      return signalPassFailure();
  }
}
