//===- CheckpointActivations.cpp - recompute instead of keeping -----------===//

#include "zero/Transforms/Passes.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Plan/RecomputePlan.h"

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
  explicit SpanRecomputation(const RecomputePlan &plan) : plan(plan) {}

  /// Lets `op`, of the backward, read recomputed values.
  void rewrite(Operation *op);

private:
  bool isRecomputed(Value value) const {
    return plan.isRecomputed(getRoot(value));
  }
  Value recompute(Value value, OpBuilder &builder);
  void cloneInto(Operation *op, OpBuilder &builder);

  const RecomputePlan &plan;
  IRMapping copies;
};

struct CheckpointActivations
    : public zero::impl::CheckpointActivationsBase<CheckpointActivations> {
  using CheckpointActivationsBase::CheckpointActivationsBase;
  void runOnOperation() override;

private:
  FailureOr<SmallVector<bool>> chooseLayers(StepOp step, size_t count);
  LogicalResult checkpoint(StepOp step);
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

/// Clones what makes `value`, as far back as what is kept, in the order of the
/// forward.
Value SpanRecomputation::recompute(Value value, OpBuilder &builder) {
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
  for (Operation *maker : makers)
    cloneInto(maker, builder);
  return copies.lookup(value);
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
  }
  builder.clone(*op, copies);
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
    bool isNeighbour = !spans.empty() && spans.back().back()->getNextNode() ==
                                             layer.operations.front();
    if (!isNeighbour || joined == every) {
      spans.emplace_back();
      joined = 0;
    }
    llvm::append_range(spans.back(), layer.operations);
    ++joined;
  }
  return spans;
}

/// Returns whether there was something to recompute.
static bool recomputeSpan(const Span &span, Operation *seed,
                          RecomputePolicy policy) {
  RecomputePlan plan(span, seed, policy);
  if (plan.empty())
    return false;
  SpanRecomputation recomputation(plan);
  for (Operation *op = seed->getNextNode(); op; op = op->getNextNode())
    recomputation.rewrite(op);
  // What only the backward had read.
  for (Operation *op : llvm::reverse(span))
    if (isOpTriviallyDead(op))
      op->erase();
  return true;
}

LogicalResult CheckpointActivations::checkpoint(StepOp step) {
  Block &micro = step.getRegionOp<MicroOp>().getBody().front();
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
  Operation *seed = *micro.getOps<LossSeedOp>().begin();
  SmallVector<Span> spans = makeSpans(found, *chosen, together);
  // From the last one on: what a span keeps of the one before is then known
  // to be held.
  bool recomputes = false;
  for (const Span &span : llvm::reverse(spans))
    recomputes |= recomputeSpan(span, seed,
                                policy == "all" ? RecomputePolicy::All
                                                : RecomputePolicy::Cheap);
  if (!recomputes)
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
  if (policy != "all" && policy != "cheap") {
    emitError(getOperation().getLoc())
        << "policy '" << policy << "' is neither all nor cheap";
    return signalPassFailure();
  }
  if (every < 1 || number < 0) {
    emitError(getOperation().getLoc())
        << "every is " << every.getValue() << " and number "
        << number.getValue() << ", wanted 1 or more and 0 or more";
    return signalPassFailure();
  }
  for (StepOp step : getOperation().getOps<StepOp>()) {
    if (step.isModel()) {
      emitError(step.getLoc()) << "'zero.step' is a model, not a schedule; run "
                                  "zero-differentiate first";
      return signalPassFailure();
    }
    if (failed(checkpoint(step)))
      return signalPassFailure();
  }
}
