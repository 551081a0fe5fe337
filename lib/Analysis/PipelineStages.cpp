//===- PipelineStages.cpp - which stage computes what ---------------------===//

#include "zero/Analysis/PipelineStages.h"

#include "zero/Analysis/PipelineSpans.h"
#include "zero/Analysis/Reads.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::zero;

PipelineStages::PipelineStages(StepOp model, int64_t places, int64_t chunks)
    : model(model), places(places), stages(places * chunks), incoming(stages),
      parameters(stages), visited(stages) {
  Block &body = model.getBody().front();
  boundaries = llvm::range_size(body.getOps<StageBoundaryOp>());
  hasBoundaries = boundaries > 0;
  findRepeated();
  findTrained();
}

/// Adds what each stage has from elsewhere, once all operations have theirs.
void PipelineStages::findAllNeeds() {
  Block &body = model.getBody().front();
  for (Operation &op : body)
    if (!isRepeated(&op))
      findNeeds(&op, getStage(&op));
  // Files have parameters that nothing uses as well.
  for (auto parameter :
       model->getParentOfType<ModuleOp>().getOps<ParameterOp>())
    if (auto name = FlatSymbolRefAttr::get(parameter);
        getPlacesOf(name).empty())
      parameters.front().insert(name);
  // A value from an earlier stage is handed on by all stages in between.
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
  findAllNeeds();
}

void PipelineStages::place(ArrayRef<Span> spans, ArrayRef<size_t> begins) {
  boundaries = std::min(stages, std::max<int64_t>(spans.size(), 1)) - 1;
  for (auto [index, span] : llvm::enumerate(spans))
    for (Operation *op : span.operations)
      stageOf[op] = llvm::upper_bound(begins, index) - begins.begin();
  findAllNeeds();
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
           << ": name them by zero.pipeline_boundaries, or by "
              "'zero.stage_boundary' in the model, or give fewer ranks"
           << (getChunks() > 1 ? " or chunks" : "");
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
             << (hasBoundaries
                     ? "begin it elsewhere, train one of its parameters"
                     : "the model has too few places between trained "
                       "parameters where little is handed on: say "
                       "where to cut it, by zero.pipeline_boundaries or by "
                       "'zero.stage_boundary' in the model")
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
