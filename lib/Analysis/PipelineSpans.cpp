//===- PipelineSpans.cpp - between where a model may be cut ---------------===//

#include "zero/Analysis/PipelineSpans.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/Reads.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

/// A span for each operation of a stage.
static SmallVector<Span> listSpans(Block &body, const PipelineStages &stages,
                                   SpanWork work, CanCross canCross) {
  DenseMap<Value, Operation *> lastUse;
  DenseSet<Value> ofParameters;
  for (Operation &op : body) {
    bool reads = isa<LoadOp>(op);
    for (Value read : getReads(op)) {
      lastUse[read] = &op;
      reads |= ofParameters.contains(read);
    }
    if (reads)
      ofParameters.insert(op.result_begin(), op.result_end());
  }
  SmallVector<Span> spans;
  SmallVector<Value> alive;
  for (Operation &op : body) {
    llvm::erase_if(alive, [&](Value value) { return lastUse[value] == &op; });
    if (stages.isRepeated(&op))
      continue;
    for (Value result : op.getResults())
      if (ofParameters.contains(result) && lastUse.count(result))
        alive.push_back(result);
    Span &span = spans.emplace_back();
    span.operations.push_back(&op);
    span.work = work(&op);
    span.isTrained = llvm::any_of(getReads(op), [&](Value read) {
      return read.getDefiningOp<LoadOp>() && stages.isTrained(read);
    });
    if (llvm::all_of(alive, canCross))
      for (Value value : alive)
        span.behind += tensorBytes(value.getType());
  }
  return spans;
}

/// Adds a span behind another one.
static void append(Span &to, const Span &span) {
  llvm::append_range(to.operations, span.operations);
  to.work += span.work;
  to.isTrained |= span.isTrained;
  to.behind = span.behind;
}

/// Joins spans but for places where as few bytes are alive as any good cut
/// sends, among the places with work on both sides: those of a model with a
/// residual stream are between its halves of layers.
static SmallVector<Span> joinSpans(ArrayRef<Span> spans) {
  int64_t least = std::numeric_limits<int64_t>::max();
  double before = 0, all = 0;
  for (const Span &span : spans)
    all += span.work;
  for (const Span &span : spans) {
    before += span.work;
    if (span.behind > 0 && before > 0.1 * all && before < 0.9 * all)
      least = std::min(least, span.behind);
  }
  SmallVector<Span> joined(1);
  for (const Span &span : spans) {
    append(joined.back(), span);
    if (span.behind > 0 && span.behind <= least)
      joined.emplace_back();
  }
  if (joined.back().operations.empty())
    joined.pop_back();
  return joined;
}

SmallVector<Span> mlir::zero::findSpans(StepOp model,
                                        const PipelineStages &stages,
                                        SpanWork work, CanCross canCross) {
  return joinSpans(listSpans(model.getBody().front(), stages, work, canCross));
}

SmallVector<Span> mlir::zero::joinLayers(ArrayRef<Span> spans) {
  SmallVector<SpanKind> kinds;
  for (const Span &span : spans)
    kinds.push_back(describeSpan(span.operations));
  SmallVector<Span> layers;
  for (size_t first = 0; first < spans.size();) {
    const Repetition found = findRepetition(kinds, first);
    for (size_t i = 0; i < found.length(); ++i) {
      if (i % found.period == 0)
        layers.emplace_back();
      append(layers.back(), spans[first + i]);
    }
    first += found.length();
  }
  return layers;
}
