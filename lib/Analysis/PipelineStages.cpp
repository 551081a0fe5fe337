//===- PipelineStages.cpp - which stage computes what ---------------------===//

#include "zero/Analysis/PipelineStages.h"

#include "zero/Analysis/Reads.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/Support/InterleavedRange.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zero;

PipelineStages::PipelineStages(StepOp model, int64_t places, int64_t chunks,
                               Work work, CanCross canCross)
    : model(model), places(places), stages(places * chunks), incoming(stages),
      parameters(stages), works(stages), visited(stages) {
  Block &body = model.getBody().front();
  boundaries = llvm::range_size(body.getOps<StageBoundaryOp>());
  findRepeated();
  findTrained();
  isCutByUser = boundaries > 0;
  if (isCutByUser)
    placeAtBoundaries();
  else
    placeEvenly(work, canCross);
  for (Operation &op : body)
    if (!isRepeated(&op)) {
      findNeeds(&op, getStage(&op));
      works[getStage(&op)] += work(&op);
    }
  // Files have parameters that nothing uses as well.
  for (auto parameter :
       model->getParentOfType<ModuleOp>().getOps<ParameterOp>())
    if (auto name = FlatSymbolRefAttr::get(parameter);
        getPlacesOf(name).empty())
      parameters.front().insert(name);
  // What a stage has not made, the one before hands on.
  for (int64_t stage = stages - 1; stage > 1; --stage)
    for (Value value : incoming[stage])
      if (getStage(value.getDefiningOp()) < stage - 1)
        incoming[stage - 1].insert(value);
  DenseMap<Operation *, int64_t> order;
  for (auto [index, op] : llvm::enumerate(body))
    order[&op] = index;
  for (llvm::SetVector<Value> &values : incoming) {
    SmallVector<Value> sorted = values.takeVector();
    llvm::sort(sorted, [&](Value a, Value b) {
      return std::pair(order[a.getDefiningOp()],
                       cast<OpResult>(a).getResultNumber()) <
             std::pair(order[b.getDefiningOp()],
                       cast<OpResult>(b).getResultNumber());
    });
    values.insert(sorted.begin(), sorted.end());
  }
}

void PipelineStages::findRepeated() {
  for (Operation &op : model.getBody().front()) {
    bool isOfInputs = llvm::all_of(getReads(op), [&](Value read) {
      Operation *maker = read.getDefiningOp();
      return !maker || (isRepeated(maker) && !isa<LoadOp>(maker));
    });
    if (isa<LoadOp>(op) || (isPure(&op) && isOfInputs))
      repeated.insert(&op);
  }
}

void PipelineStages::findTrained() {
  SymbolTable symbols(model->getParentOfType<ModuleOp>());
  for (Operation &op : model.getBody().front()) {
    bool isTrained = llvm::any_of(
        getReads(op), [&](Value read) { return trained.contains(read); });
    if (auto load = dyn_cast<LoadOp>(op)) {
      auto parameter = symbols.lookup<ParameterOp>(load.getParameter());
      isTrained = parameter && parameter.isTrained();
    }
    for (Value result : op.getResults())
      if (isTrained && isa<FloatType>(getElementTypeOrSelf(result.getType())))
        trained.insert(result);
  }
}

void PipelineStages::placeAtBoundaries() {
  int64_t stage = 0;
  for (Operation &op : model.getBody().front()) {
    stageOf[&op] = std::min(stage, stages - 1);
    stage += isa<StageBoundaryOp>(op);
  }
}

namespace {
/// A run of operations between two places where a model may be cut.
struct Span {
  SmallVector<Operation *> operations;
  double work = 0;
  /// Whether it reads a trained parameter.
  bool isTrained = false;
  /// Bytes that are alive behind it; 0: no place to cut at.
  int64_t behind = 0;
};
} // namespace

/// Whether `stages` stages can each have spans of at most `limit` work.
static bool fits(ArrayRef<Span> spans, int64_t stages, double limit) {
  double work = 0;
  for (const Span &span : spans) {
    if (work > 0 && work + span.work > limit) {
      --stages;
      work = 0;
    }
    work += span.work;
  }
  return stages > 0;
}

/// The least limit that fits.
static double findLimit(ArrayRef<Span> spans, int64_t stages) {
  double low = 0, high = 0;
  for (const Span &span : spans)
    high += span.work;
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    (fits(spans, stages, middle) ? high : low) = middle;
  }
  return high;
}

namespace {
/// The best cut of the first spans into some stages.
struct Cut {
  double squares = std::numeric_limits<double>::infinity();
  size_t begin = 0; ///< of the last stage
};
} // namespace

/// Where stages begin behind the first one, so that each has a trained
/// parameter and at most `limit` work, and the squares of their work add up to
/// the least; empty where there is no such cut.
static SmallVector<size_t> cutSpans(ArrayRef<Span> spans, int64_t stages,
                                    double limit) {
  const size_t count = spans.size();
  std::vector<std::vector<Cut>> best(stages + 1, std::vector<Cut>(count + 1));
  best[0][0].squares = 0;
  for (int64_t stage = 1; stage <= stages; ++stage)
    for (size_t end = 1; end <= count; ++end) {
      double work = 0;
      bool isTrained = false;
      for (size_t begin = end; begin-- > 0;) {
        work += spans[begin].work;
        isTrained |= spans[begin].isTrained;
        if (work > limit)
          break;
        const double squares = best[stage - 1][begin].squares + work * work;
        if (isTrained && squares < best[stage][end].squares)
          best[stage][end] = {squares, begin};
      }
    }
  SmallVector<size_t> begins;
  if (std::isinf(best[stages][count].squares))
    return begins;
  size_t end = count;
  for (int64_t stage = stages; stage > 1; --stage)
    begins.push_back(end = best[stage][end].begin);
  std::reverse(begins.begin(), begins.end());
  return begins;
}

/// A span for each operation of a stage.
static SmallVector<Span> listSpans(Block &body, const PipelineStages &stages,
                                   PipelineStages::Work work,
                                   PipelineStages::CanCross canCross) {
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
    llvm::append_range(joined.back().operations, span.operations);
    joined.back().work += span.work;
    joined.back().isTrained |= span.isTrained;
    if (span.behind > 0 && span.behind <= least)
      joined.emplace_back();
  }
  if (joined.back().operations.empty())
    joined.pop_back();
  return joined;
}

/// Cuts behind operations where the fewest bytes that depend on parameters are
/// alive, so that little is sent; among these the largest stage is the least,
/// and the others are as equal as can be.
void PipelineStages::placeEvenly(Work work, CanCross canCross) {
  const SmallVector<Span> spans =
      joinSpans(listSpans(model.getBody().front(), *this, work, canCross));
  SmallVector<size_t> begins;
  double limit = findLimit(spans, stages), all = 0;
  for (const Span &span : spans)
    all += span.work;
  // A stage without a trained parameter takes more work than the least.
  constexpr double kStep = 1.02;
  for (; begins.empty() && stages > 1; limit = std::min(all, limit * kStep)) {
    begins = cutSpans(spans, stages, limit);
    if (limit == all)
      break;
  }
  boundaries = std::min(stages, std::max<int64_t>(spans.size(), 1)) - 1;
  for (auto [index, span] : llvm::enumerate(spans))
    for (Operation *op : span.operations)
      stageOf[op] = llvm::upper_bound(begins, index) - begins.begin();
}

/// Adds what `op`, or what is repeated for it, has from elsewhere.
void PipelineStages::findNeeds(Operation *op, int64_t stage) {
  if (!visited[stage].insert(op).second)
    return;
  for (Value read : getReads(*op)) {
    Operation *maker = read.getDefiningOp();
    if (!maker)
      continue;
    if (auto load = dyn_cast<LoadOp>(maker))
      parameters[stage].insert(load.getParameterAttr());
    else if (isRepeated(maker))
      findNeeds(maker, stage);
    else if (getStage(maker) < stage)
      incoming[stage].insert(read);
  }
  if (auto track = dyn_cast<TrackOp>(op))
    parameters[stage].insert(track.getParameterAttr());
}

LogicalResult PipelineStages::verify() {
  if (boundaries != stages - 1)
    return emitError(model.getLoc())
           << "@" << model.getSymName() << " has " << boundaries
           << (boundaries == 1 ? " place" : " places")
           << " to cut it at, and the axis 'pipe' has " << places << " ranks"
           << (getChunks() > 1
                   ? " of " + std::to_string(getChunks()) + " chunks"
                   : "")
           << "; wanted " << stages - 1
           << (stages == 2 ? " 'zero.stage_boundary'"
                           : " 'zero.stage_boundary' operations")
           << ", or fewer ranks" << (getChunks() > 1 ? " or chunks" : "");
  SymbolTable symbols(model->getParentOfType<ModuleOp>());
  for (int64_t stage = 0; stage < stages; ++stage) {
    auto isTrained = [&](Attribute name) {
      auto parameter =
          symbols.lookup<ParameterOp>(cast<FlatSymbolRefAttr>(name).getValue());
      return parameter && parameter.isTrained();
    };
    if (llvm::none_of(parameters[stage], isTrained))
      return emitError(model.getLoc())
             << describe(stage) << " has no parameter that "
             << "is trained, and so no backward pass and no update; "
             << (isCutByUser ? "begin it elsewhere, train one of its parameters"
                             : "the model has too few places between trained "
                               "parameters where little is handed on: say "
                               "where to cut it with 'zero.stage_boundary'")
             << ", or give the axis 'pipe' fewer ranks"
             << (getChunks() > 1 ? " or chunks" : "");
    for (Attribute name : parameters[stage]) {
      auto symbol = cast<FlatSymbolRefAttr>(name);
      auto parameter = symbols.lookup<ParameterOp>(symbol.getValue());
      if (getPlacesOf(name).size() > 1 && parameter.getAverage())
        return parameter.emitError()
               << "parameter " << symbol << " is an average that stages ["
               << llvm::interleaved(getPlacesOf(name))
               << "] of the pipeline use, and each of them would move it; use "
                  "it in one stage, or cut the model elsewhere";
    }
  }
  return success();
}

SmallVector<int64_t, 2> PipelineStages::getPlacesOf(Attribute parameter) const {
  SmallVector<int64_t, 2> found;
  for (int64_t place = 0; place < places; ++place)
    for (int64_t stage = place; stage < stages; stage += places)
      if (parameters[stage].contains(parameter)) {
        found.push_back(place);
        break;
      }
  return found;
}

std::string PipelineStages::describe(int64_t stage) const {
  std::string text =
      "stage " + std::to_string(getPlace(stage)) + " of the pipeline";
  if (getChunks() > 1)
    text = "chunk " + std::to_string(stage / places) + " of " + text;
  return text;
}
