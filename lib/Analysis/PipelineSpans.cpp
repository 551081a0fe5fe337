//===- PipelineSpans.cpp - between where a model may be cut ---------------===//

#include "zero/Analysis/PipelineSpans.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/Reads.h"

#include <limits>
#include <set>

using namespace mlir;
using namespace mlir::zero;

/// Adds the averages that `op` uses, or an operation that is repeated for it.
static void addAverages(Operation *op, const PipelineStages &stages,
                        const SymbolTable &symbols,
                        DenseSet<Operation *> &visited,
                        DenseSet<StringAttr> &averages) {
  if (!visited.insert(op).second)
    return;
  auto add = [&](FlatSymbolRefAttr name) {
    auto parameter = symbols.lookup<ParameterOp>(name.getValue());
    if (parameter && parameter.getAverage())
      averages.insert(parameter.getSymNameAttr());
  };
  if (auto track = dyn_cast<TrackOp>(op))
    add(track.getParameterAttr());
  for (Value read : getReads(*op)) {
    Operation *maker = read.getDefiningOp();
    if (auto load = dyn_cast_or_null<LoadOp>(maker))
      add(load.getParameterAttr());
    else if (maker && stages.isRepeated(maker))
      addAverages(maker, stages, symbols, visited, averages);
  }
}

/// Forbids places between two uses of an average, which one stage moves.
static void keepAveragesTogether(MutableArrayRef<Span> spans,
                                 const PipelineStages &stages,
                                 const SymbolTable &symbols) {
  DenseMap<StringAttr, size_t> firstUses;
  for (size_t i = 0; i < spans.size(); ++i) {
    DenseSet<Operation *> visited;
    DenseSet<StringAttr> averages;
    addAverages(spans[i].operations.front(), stages, symbols, visited,
                averages);
    for (StringAttr average : averages)
      for (size_t j = firstUses.try_emplace(average, i).first->second; j < i;
           ++j)
        spans[j].behind = 0;
  }
}

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
  const SymbolTable symbols(body.getParentOp()->getParentOfType<ModuleOp>());
  keepAveragesTogether(spans, stages, symbols);
  return spans;
}

/// Adds a span behind another one.
static void append(Span &to, const Span &span) {
  llvm::append_range(to.operations, span.operations);
  to.work += span.work;
  to.isTrained |= span.isTrained;
  to.behind = span.behind;
}

/// Joins spans but for places where at most so many bytes are alive.
static SmallVector<Span> joinSpans(ArrayRef<Span> spans, int64_t most) {
  SmallVector<Span> joined(1);
  for (const Span &span : spans) {
    append(joined.back(), span);
    if (span.behind > 0 && span.behind <= most)
      joined.emplace_back();
  }
  if (joined.back().operations.empty())
    joined.pop_back();
  return joined;
}

/// Joins spans but for places where as few bytes are alive as any good cut
/// sends, among the places with work on both sides: those of a model with a
/// residual stream are between its halves of layers. If these are too few for
/// the stages, as in networks whose images shrink, further places are the next
/// cheapest.
static SmallVector<Span> joinSpans(ArrayRef<Span> spans, size_t stages) {
  std::set<int64_t> costs;
  double before = 0, all = 0;
  for (const Span &span : spans)
    all += span.work;
  for (const Span &span : spans) {
    before += span.work;
    if (span.behind > 0 && before > 0.1 * all && before < 0.9 * all)
      costs.insert(span.behind);
  }
  SmallVector<Span> joined =
      joinSpans(spans, costs.empty() ? std::numeric_limits<int64_t>::max()
                                     : *costs.begin());
  for (int64_t cost : costs) {
    auto isTrained = [](const Span &span) { return span.isTrained; };
    if (static_cast<size_t>(llvm::count_if(joined, isTrained)) >= stages)
      break;
    joined = joinSpans(spans, cost);
  }
  return joined;
}

SmallVector<Span> mlir::zero::findSpans(StepOp model,
                                        const PipelineStages &stages,
                                        SpanWork work, CanCross canCross) {
  return joinSpans(listSpans(model.getBody().front(), stages, work, canCross),
                   static_cast<size_t>(stages.getStages()));
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
