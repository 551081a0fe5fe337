//===- ActivationLayers.cpp - the layers of a forward ---------------------===//

#include "zero/Analysis/ActivationLayers.h"

#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The bytes of forward values that are alive after each operation.
class LiveProfile {
public:
  explicit LiveProfile(ArrayRef<Operation *> forward);

  bool isCut(size_t index) const { return isSingle[index] || isValley(index); }
  int64_t bytesAfter(size_t index) const { return bytes[index]; }

private:
  void findActivations(ArrayRef<Operation *> forward);
  void sweep(ArrayRef<Operation *> forward);
  bool isValley(size_t index) const;

  /// Values that depend on the batch and a parameter.
  DenseSet<Value> activations;
  /// The last operation of the forward that reads each root.
  DenseMap<Value, size_t> lastUse;
  SmallVector<int64_t> bytes;
  /// Whether one value is alive, which the operation has made.
  SmallVector<bool> isSingle;
};

} // namespace

LiveProfile::LiveProfile(ArrayRef<Operation *> forward)
    : bytes(forward.size()), isSingle(forward.size()) {
  findActivations(forward);
  for (auto [index, op] : llvm::enumerate(forward))
    for (Value operand : op->getOperands())
      lastUse[getRoot(operand)] = index;
  sweep(forward);
}

void LiveProfile::findActivations(ArrayRef<Operation *> forward) {
  DenseSet<Value> ofBatch, ofParameter;
  for (Operation *op : forward) {
    // A received value depends on the batch and on parameters of earlier
    // stages.
    bool isReceived = isa<ReceiveValueOp>(op);
    bool readsBatch =
        isReceived || llvm::any_of(op->getOperands(), [&](Value operand) {
          return isa<BlockArgument>(operand) || ofBatch.contains(operand);
        });
    bool readsParameter = isReceived || isa<LoadOp>(op) ||
                          llvm::any_of(op->getOperands(), [&](Value operand) {
                            return ofParameter.contains(operand);
                          });
    for (Value result : op->getResults()) {
      if (readsBatch)
        ofBatch.insert(result);
      if (readsParameter)
        ofParameter.insert(result);
      if (readsBatch && readsParameter)
        activations.insert(result);
    }
  }
}

void LiveProfile::sweep(ArrayRef<Operation *> forward) {
  SmallVector<Value> alive;
  for (auto [index, op] : llvm::enumerate(forward)) {
    llvm::erase_if(alive, [&, index = index](Value value) {
      return lastUse.lookup(value) <= index;
    });
    if (!getView(op))
      for (Value result : op->getResults())
        if (activations.contains(result) && lastUse.lookup(result) > index)
          alive.push_back(result);
    for (Value value : alive)
      bytes[index] += tensorBytes(value.getType());
    isSingle[index] = alive.size() == 1 && alive[0].getDefiningOp() == op;
  }
}

bool LiveProfile::isValley(size_t index) const {
  int64_t here = bytes[index];
  if (index == 0 || here == 0 || bytes[index - 1] <= here)
    return false;
  // The most on the way to where less is alive.
  auto peak = [&](auto from, auto to) {
    int64_t most = 0;
    for (; from != to && *from >= here; ++from)
      most = std::max(most, *from);
    return most;
  };
  auto place = bytes.begin() + index;
  return peak(place + 1, bytes.end()) >= 2 * here &&
         peak(std::make_reverse_iterator(place), bytes.rend()) >= 2 * here;
}

Operation *mlir::zero::findBackward(Block &micro) {
  for (Operation &op : micro) {
    auto receive = dyn_cast<ReceiveValueOp>(op);
    auto start = dyn_cast<StartReceiveOp>(op);
    if (isa<LossSeedOp>(op) || (receive && receive.getBack()) ||
        (start && start.getBack()))
      return &op;
  }
  return nullptr;
}

SmallVector<Operation *> mlir::zero::getForward(Block &micro) {
  SmallVector<Operation *> forward;
  Operation *backward = findBackward(micro);
  for (Operation &op : micro) {
    if (&op == backward)
      return forward;
    forward.push_back(&op);
  }
  return forward;
}

//===----------------------------------------------------------------------===//
// From spans to layers
//===----------------------------------------------------------------------===//

/// Whether an operation hands something on between stages of a pipeline, or
/// stands between chunks of one.
static bool isBetweenStages(Operation *op) {
  return isa<SendValueOp, ReceiveValueOp, StageBoundaryOp>(op);
}

SpanKind mlir::zero::describeSpan(ArrayRef<Operation *> span) {
  SpanKind kind;
  for (Operation *op : span)
    if (!getView(op) && !isa<LoadOp>(op) && !isBetweenStages(op) &&
        !op->hasTrait<OpTrait::ConstantLike>())
      kind.push_back(op->getName().getStringRef());
  return kind;
}

Repetition mlir::zero::findRepetition(ArrayRef<SpanKind> spans, size_t first) {
  Repetition best;
  for (size_t period = 1; first + 2 * period <= spans.size(); ++period) {
    if (period == 1 && spans[first].size() < 2)
      continue;
    size_t end = first + period;
    while (end < spans.size() && spans[end] == spans[end - period])
      ++end;
    Repetition found{period, (end - first) / period};
    if (found.count > 1 && (best.count == 1 || found.length() > best.length()))
      best = found;
  }
  return best;
}

/// Ends the last span at a boundary between chunks, whose passes are apart: all
/// that it has is of the chunk before.
static void endChunk(SmallVectorImpl<ActivationLayer> &spans) {
  if (spans.size() > 1 &&
      llvm::all_of(spans.back().operations, isBetweenStages)) {
    ActivationLayer sends = spans.pop_back_val();
    llvm::append_range(spans.back().operations, sends.operations);
  }
  spans.emplace_back();
}

SmallVector<ActivationLayer> mlir::zero::findActivationLayers(Block &micro) {
  SmallVector<Operation *> forward = getForward(micro);
  LiveProfile profile(forward);
  SmallVector<ActivationLayer> spans(1);
  for (auto [index, op] : llvm::enumerate(forward)) {
    spans.back().operations.push_back(op);
    if (isa<StageBoundaryOp>(op)) {
      endChunk(spans);
      continue;
    }
    if (!profile.isCut(index))
      continue;
    spans.back().borderBytes = profile.bytesAfter(index);
    spans.emplace_back();
  }
  SmallVector<SpanKind> kinds;
  for (const ActivationLayer &span : spans)
    kinds.push_back(describeSpan(span.operations));

  SmallVector<ActivationLayer> layers;
  for (size_t first = 0; first < spans.size();) {
    Repetition found = findRepetition(kinds, first);
    for (size_t i = 0; found.count > 1 && i < found.length(); ++i) {
      if (i % found.period == 0 ||
          isa<StageBoundaryOp>(layers.back().operations.back()))
        layers.emplace_back();
      ActivationLayer &span = spans[first + i];
      llvm::append_range(layers.back().operations, span.operations);
      layers.back().borderBytes = span.borderBytes;
    }
    first += found.length();
  }
  if (!layers.empty())
    return layers;
  spans.pop_back();
  return spans;
}
