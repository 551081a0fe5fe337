//===- OffloadActivations.cpp - kept activations wait on the host ---------===//

#include "OffloadActivations.h"

#include "zero/Analysis/LastUse.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// An activation that is copied to the host, and where.
struct Candidate {
  Value value;
  /// The span, from 0 on, that reads it last in the forward pass, and the one
  /// whose recomputation or gradient reads it first in the backward pass.
  size_t lastReader = 0, firstReader = 0;
  Operation *firstUse = nullptr;
  /// Whether a recomputed span makes or reads it, there or again.
  bool isOfSpan = false;
  int64_t id = 0;
};

class ActivationOffload {
public:
  ActivationOffload(Operation *seed, ArrayRef<RecomputedSpan> spans,
                    int64_t leastBytes)
      : seed(seed), spans(spans), leastBytes(leastBytes),
        order({seed->getBlock()}) {}

  int64_t run();

private:
  void consider(Value value);
  bool isInSpan(int64_t position) const;
  void findUses(Value value, int64_t &lastForward, Candidate &candidate);
  void copyOut(Candidate &candidate);
  void copyBack(Candidate &candidate);
  void replaceUses(Value value, Value copy, OpBuilder &builder);
  /// The position of what `op` is, or is a part of.
  int64_t positionOf(Operation *op) const {
    return order[seed->getBlock()->findAncestorOpInBlock(*op)];
  }

  Operation *seed;
  ArrayRef<RecomputedSpan> spans;
  int64_t leastBytes;
  BlockOrder order;
  SmallVector<Candidate> candidates;
  /// In host memory, by candidate.
  DenseMap<Value, Value> onHost;
};

} // namespace

/// The last use in the forward pass, the first one in the backward pass, and
/// whether one is a recomputed span's, of `value` and of views of it.
void ActivationOffload::findUses(Value value, int64_t &lastForward,
                                 Candidate &candidate) {
  for (Operation *user : value.getUsers()) {
    int64_t position = positionOf(user);
    candidate.isOfSpan |= isa<RecomputeOp>(user) || isInSpan(position);
    if (position < order[seed])
      lastForward = std::max(lastForward, position);
    else if (!candidate.firstUse || position < order[candidate.firstUse])
      candidate.firstUse = seed->getBlock()->findAncestorOpInBlock(*user);
    if (getView(user))
      findUses(user->getResult(0), lastForward, candidate);
  }
}

bool ActivationOffload::isInSpan(int64_t position) const {
  return llvm::any_of(spans, [&](const RecomputedSpan &span) {
    return order[span.first] <= position && position <= order[span.last];
  });
}

void ActivationOffload::consider(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || tensorBytes(type) < leastBytes)
    return;
  Candidate candidate;
  candidate.value = value;
  int64_t lastForward = order[value.getDefiningOp()];
  candidate.isOfSpan = isInSpan(lastForward);
  findUses(value, lastForward, candidate);
  if (!candidate.firstUse || !candidate.isOfSpan)
    return;
  // The first recomputation is the last span's.
  candidate.firstReader = spans.size();
  while (candidate.firstReader > 0 &&
         order[spans[candidate.firstReader - 1].recomputation] <=
             order[candidate.firstUse])
    --candidate.firstReader;
  while (candidate.lastReader < spans.size() &&
         order[spans[candidate.lastReader].last] < lastForward)
    ++candidate.lastReader;
  candidate.id = candidates.size();
  if (candidate.firstReader + 1 < spans.size() &&
      candidate.lastReader + 1 < spans.size())
    candidates.push_back(candidate);
}

/// Right behind what makes it; the wait ends the span that reads it last.
void ActivationOffload::copyOut(Candidate &candidate) {
  Location loc = candidate.value.getLoc();
  auto type = PendingType::get(loc.getContext(), {candidate.value.getType()});
  OpBuilder builder(loc.getContext());
  builder.setInsertionPointAfter(candidate.value.getDefiningOp());
  auto start = OffloadOp::create(builder, loc, type, candidate.value,
                                 candidate.id, StreamKind::Copy);
  Operation *end = spans[candidate.lastReader].last;
  // What that span makes is on its way before.
  while (isa<OffloadOp, WaitOp>(end->getNextNode()))
    end = end->getNextNode();
  builder.setInsertionPointAfter(end);
  onHost[candidate.value] =
      WaitOp::create(builder, loc, start.getPending()).getResult(0);
}

/// The backward pass reads `copy`, and views of it, instead of `value`.
void ActivationOffload::replaceUses(Value value, Value copy,
                                    OpBuilder &builder) {
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    Operation *user = use.getOwner();
    if (positionOf(user) > order[seed]) {
      use.set(copy);
    } else if (getView(user)) {
      IRMapping mapping;
      mapping.map(value, copy);
      Operation *view = builder.clone(*user, mapping);
      replaceUses(user->getResult(0), view->getResult(0), builder);
      if (view->use_empty())
        view->erase();
    }
  }
}

/// From where the recomputation before its own begins.
void ActivationOffload::copyBack(Candidate &candidate) {
  Location loc = candidate.value.getLoc();
  auto type = PendingType::get(loc.getContext(), {candidate.value.getType()});
  OpBuilder builder(spans[candidate.firstReader + 1].recomputation);
  auto start = FetchOp::create(builder, loc, type, onHost[candidate.value],
                               candidate.id, StreamKind::Upload);
  builder.setInsertionPoint(candidate.firstUse);
  Value copy = WaitOp::create(builder, loc, start.getPending()).getResult(0);
  replaceUses(candidate.value, copy, builder);
}

int64_t ActivationOffload::run() {
  for (Operation &op : *seed->getBlock()) {
    if (&op == seed)
      break;
    if (getView(&op) || isa<LoadOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    for (Value result : op.getResults())
      consider(result);
  }
  for (Candidate &candidate : candidates)
    copyOut(candidate);
  llvm::stable_sort(candidates, [&](const Candidate &a, const Candidate &b) {
    return order[a.firstUse] < order[b.firstUse];
  });
  for (Candidate &candidate : candidates)
    copyBack(candidate);
  return candidates.size();
}

int64_t mlir::zero::offloadActivations(Operation *seed,
                                       ArrayRef<RecomputedSpan> spans,
                                       int64_t leastBytes) {
  return ActivationOffload(seed, spans, leastBytes).run();
}
