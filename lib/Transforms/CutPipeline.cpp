//===- CutPipeline.cpp - the stages of a pipeline, a module each ----------===//

#include "SpanCosts.h"
#include "StageBuilder.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/PipelinePasses.h"
#include "zero/Analysis/PipelineSpans.h"
#include "zero/Analysis/Reads.h"
#include "zero/Kernels/KernelSpecs.h"
#include "zero/Plan/MemoryBudget.h"
#include "zero/Transforms/Passes.h"
#include "zero/Transforms/Pipeline.h"

#include "program/ByteCount.h"

#include <numeric>

namespace mlir::zero {
#define GEN_PASS_DEF_CUTPIPELINE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct CutPipeline : public zero::impl::CutPipelineBase<CutPipeline> {
  using CutPipelineBase::CutPipelineBase;
  explicit CutPipeline(const TrainConfig &config) : config(config) {
    order = nameOf(config.pipelineOrder);
    chunks = config.countChunks();
    boundaries = config.pipelineBoundaries;
    if (config.memoryBudget)
      memoryBudget = std::to_string(config.memoryBudget);
  }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager passes(ModuleOp::getOperationName());
    buildKernelsPipeline(passes, config);
    passes.getDependentDialects(registry);
  }
  void runOnOperation() override;

private:
  LogicalResult cut(StepOp model, const PipelineStages &stages,
                    const StageValues &values);
  LogicalResult place(StepOp model, PipelineStages &stages,
                      const StageValues &values);
  FailureOr<PipelineCosts> measure(StepOp model, ArrayRef<Span> spans,
                                   const StageValues &values);
  LogicalResult findMachine(StepOp model);
  StageLimits countLimits(StepOp model, const PipelineStages &stages);
  void report(StepOp model, const PipelineStages &stages,
              const PipelineCut &chosen, const StageLimits &limits);

  /// What the passes behind this one are to do, and where it runs.
  TrainConfig config;
  std::optional<Machine> machine;
  /// Bytes of a rank that `memory-budget` gives; 0: those of the machine.
  int64_t budget = 0;
};

} // namespace

std::unique_ptr<Pass>
mlir::zero::createCutPipelinePass(const TrainConfig &config) {
  return std::make_unique<CutPipeline>(config);
}

//===----------------------------------------------------------------------===//
// What stages have
//===----------------------------------------------------------------------===//

/// Floating-point operations of the forward pass.
static double workOf(Operation *op) {
  std::optional<zrt::KernelSpec> kernel = describeKernel(op);
  return kernel ? static_cast<double>(kernel->flops) : 0;
}

/// "12, 13, 12 and 11"; of many numbers "11 to 13", of equal ones "12".
static std::string describeAll(ArrayRef<int64_t> numbers) {
  constexpr size_t most = 8;
  auto [least, largest] = std::minmax_element(numbers.begin(), numbers.end());
  if (*least == *largest)
    return std::to_string(*least);
  if (numbers.size() > most)
    return std::to_string(*least) + " to " + std::to_string(*largest);
  std::string text;
  for (auto [index, number] : llvm::enumerate(numbers))
    text += (index == 0                    ? ""
             : index + 1 == numbers.size() ? " and "
                                           : ", ") +
            std::to_string(number);
  return text;
}

/// What each stage has, in one remark. `works` is by stage, of what `unit`
/// says.
static InFlightDiagnostic reportStages(StepOp model,
                                       const PipelineStages &stages,
                                       ArrayRef<double> works, StringRef unit) {
  auto parameters = model->getParentOfType<ModuleOp>().getOps<ParameterOp>();
  const double all = std::accumulate(works.begin(), works.end(), 0.0);
  SmallVector<int64_t> counts, shares, sent;
  for (int64_t stage = 0; stage < stages.getStages(); ++stage) {
    counts.push_back(static_cast<int64_t>(stages.getParameters(stage).size()));
    shares.push_back(
        static_cast<int64_t>(all > 0 ? 100 * works[stage] / all + 0.5 : 0));
    int64_t bytes = 0;
    for (Value value : stages.getIncoming(stage))
      bytes += tensorBytes(value.getType());
    if (stage > 0)
      sent.push_back(bytes);
  }
  InFlightDiagnostic remark = emitRemark(model.getLoc());
  remark << "the " << stages.getPlaces() << " stages of the pipeline have ";
  if (stages.getChunks() > 1)
    remark << stages.getChunks()
           << " chunks each, which in the order of the model have ";
  remark << describeAll(counts) << " of " << llvm::range_size(parameters)
         << " parameters and " << describeAll(shares) << " % of the " << unit
         << ", and get " << describeAll(sent)
         << " bytes a micro-batch from the one before";
  return remark;
}

/// Forward work by stage, of a model that says where it is cut.
static SmallVector<double> addUpWork(StepOp model,
                                     const PipelineStages &stages) {
  SmallVector<double> works(stages.getStages(), 0);
  for (Operation &op : model.getBody().front())
    if (!stages.isRepeated(&op))
      works[stages.getStage(&op)] += workOf(&op);
  return works;
}

/// The same of a cut that was chosen, with what it is expected to need.
void CutPipeline::report(StepOp model, const PipelineStages &stages,
                         const PipelineCut &chosen, const StageLimits &limits) {
  const bool isMeasured = limits.budget || model.getTraining();
  InFlightDiagnostic remark = reportStages(
      model, stages, chosen.works, machine ? "time" : "work of both passes");
  if (!isMeasured || chosen.largestBytes() == 0)
    return;
  remark << "; they need about " << describeAll(chosen.bytes) << " bytes";
  const int64_t most = chosen.largestBytes();
  if (!limits.budget || most <= *limits.budget)
    return;
  remark.report();
  emitRemark(model.getLoc())
      << "no cut of the model fits: what needs the least needs about "
      << describeBytes(most) << " in the largest stage, "
      << describeBytes(most - *limits.budget) << " more than there are; give "
      << "the axis 'pipe' more ranks, recompute more layers, or cut states "
         "over more ranks";
}

/// Whether a parameter has the name, or is of the layer that has it.
static bool isOf(StringRef parameter, StringRef name) {
  return parameter.consume_front(name) &&
         (parameter.empty() || parameter.starts_with("."));
}

/// The first operation that reads a parameter of that name.
static Operation *findFirstUse(Block &model, StringRef name) {
  for (Operation &op : model)
    for (Value read : getReads(op))
      if (auto load = read.getDefiningOp<LoadOp>();
          load && isOf(load.getParameter(), name))
        return &op;
  return nullptr;
}

/// Puts boundaries before the first use of each of `names`.
static LogicalResult addBoundaries(StepOp model, StringRef names) {
  Block &body = model.getBody().front();
  if (names.empty())
    return success();
  if (auto known = body.getOps<StageBoundaryOp>(); !known.empty())
    return (*known.begin()).emitOpError()
           << "says where the model is cut, and so do the boundaries '" << names
           << "'; leave one of them out";
  for (StringRef name : llvm::split(names, ",")) {
    Operation *first = findFirstUse(body, name.trim());
    if (!first)
      return emitError(model.getLoc())
             << "'" << name.trim()
             << "' is to begin a stage of the pipeline, and @"
             << model.getSymName()
             << " uses no parameter of that name or layer; wanted the name of "
                "one, or its beginning up to a point, such as 'model.layers.8'";
    OpBuilder builder(first);
    StageBoundaryOp::create(builder, first->getLoc());
  }
  return success();
}

LogicalResult CutPipeline::cut(StepOp model, const PipelineStages &stages,
                               const StageValues &values) {
  ModuleOp module = getOperation();
  FailureOr<Crossings> crossings = findCrossings(stages, values);
  if (failed(crossings))
    return failure();
  SmallVector<Attribute> declared;
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    declared.push_back(parameter.getSymNameAttr());
  SmallVector<Operation *> old;
  for (Operation &op : *module.getBody())
    old.push_back(&op);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (int64_t place = 0; place < stages.getPlaces(); ++place)
    StageBuilder(module, model, stages, place, order, *crossings)
        .build(builder);
  for (Operation *op : llvm::reverse(old))
    op->erase();
  module->setAttr(kDeclaredParameters, builder.getArrayAttr(declared));
  return success();
}

//===----------------------------------------------------------------------===//
// Where a model is cut by itself
//===----------------------------------------------------------------------===//

/// Costs of which only the forward work is known.
static PipelineCosts costsOfWork(ArrayRef<Span> spans) {
  PipelineCosts costs;
  for (const Span &span : spans)
    costs.spans.emplace_back().work = span.work;
  return costs;
}

/// Runs a trial of all spans. What goes wrong there goes wrong in the stages as
/// well, where it is said.
FailureOr<PipelineCosts> CutPipeline::measure(StepOp model,
                                              ArrayRef<Span> spans,
                                              const StageValues &values) {
  ScopedDiagnosticHandler silent(&getContext(),
                                 [](Diagnostic &) { return success(); });
  const auto count = static_cast<int64_t>(spans.size());
  PipelineStages each(model, /*places=*/1, count);
  each.place(spans, llvm::to_vector(llvm::seq<size_t>(1, spans.size())));
  FailureOr<Crossings> crossings = findCrossings(each, values);
  if (failed(crossings))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  ModuleOp trial = StageBuilder(getOperation(), model, each, /*place=*/0,
                                nameOf(zrt::PassOrder::Interleaved), *crossings)
                       .build(builder);
  OpPassManager passes(ModuleOp::getOperationName());
  buildKernelsPipeline(passes, config);
  FailureOr<PipelineCosts> costs = failure();
  if (succeeded(runPipeline(passes, trial))) {
    if (machine) {
      const CostModel times =
          makeCostModel(*machine, trial, *model.getTraining());
      costs = readSpanCosts(trial, each, *crossings, &times);
    } else {
      costs = readSpanCosts(trial, each, *crossings, /*model=*/nullptr);
    }
  }
  trial.erase();
  return costs;
}

/// The slots of all stages, and the memory that they may need.
StageLimits CutPipeline::countLimits(StepOp model,
                                     const PipelineStages &stages) {
  StageLimits limits;
  limits.places = stages.getPlaces();
  limits.slots.assign(stages.getStages(), 1);
  std::optional<TrainingAttr> training = model.getTraining();
  if (machine && machine->memory > 0)
    limits.budget = machine->memory - machine->reservedMemory;
  if (budget > 0)
    limits.budget = budget;
  if (!training)
    return limits;
  MeshAxes mesh = getMesh(getOperation(), *training);
  mesh.chunks = chunks;
  mesh.forwardFirst = StringRef(order) == nameOf(zrt::PassOrder::Gpipe);
  for (int64_t place = 0; place < stages.getPlaces(); ++place) {
    mesh.stage = place;
    for (auto [chunk, slots] :
         llvm::enumerate(countSlots(mesh, training->getAccumulation())))
      limits.slots[stages.getStageAt(place, chunk)] = slots;
  }
  return limits;
}

/// Gives stages their operations, and says which.
LogicalResult CutPipeline::place(StepOp model, PipelineStages &stages,
                                 const StageValues &values) {
  if (stages.isCutByUser()) {
    stages.placeAtBoundaries();
    if (failed(stages.verify()))
      return failure();
    reportStages(model, stages, addUpWork(model, stages), "forward work");
    return success();
  }
  SmallVector<Span> spans = findSpans(model, stages, workOf, [&](Value value) {
    return values.cutsOf(value).has_value();
  });
  if (config.checkpoint.isEnabled())
    if (SmallVector<Span> layers = joinLayers(spans);
        static_cast<int64_t>(layers.size()) >= stages.getStages())
      spans = std::move(layers);
  StageLimits limits = countLimits(model, stages);
  FailureOr<PipelineCosts> costs = failure();
  if (static_cast<int64_t>(spans.size()) >= stages.getStages())
    costs = measure(model, spans, values);
  if (failed(costs)) {
    costs = costsOfWork(spans);
    limits.budget.reset();
  }
  // What a pass is given is for arenas alone, as for zero-plan-memory.
  if (limits.budget && memoryBudget.empty() && machine->hasDevices())
    *limits.budget -= costs->workspace;
  for (auto [cost, span] : llvm::zip_equal(costs->spans, spans))
    cost.isTrained = span.isTrained;
  const PipelineCut chosen = chooseCut(*costs, limits);
  stages.place(spans, chosen.begins);
  if (failed(stages.verify()))
    return failure();
  report(model, stages, chosen, limits);
  return success();
}

/// Reads the machine of the step's training.
LogicalResult CutPipeline::findMachine(StepOp model) {
  FailureOr<int64_t> given = readBudget(
      "memory-budget", memoryBudget, [&] { return emitError(model.getLoc()); });
  if (failed(given))
    return failure();
  budget = *given;
  if (!model.getTraining())
    return success();
  std::string error;
  FailureOr<Machine> read =
      readMachine(model.getTraining()->getPlanning().getMachine(), error);
  if (failed(read))
    return emitError(model.getLoc()) << error;
  machine = *read;
  return success();
}

void CutPipeline::runOnOperation() {
  ModuleOp module = getOperation();
  AxesAttr pipe;
  for (MeshOp mesh : module.getOps<MeshOp>())
    pipe = mesh.getAxes().getStageAxes();
  auto steps = module.getOps<StepOp>();
  if (!pipe || pipe.getSize() == 1) {
    // Where nothing is cut, a boundary means nothing.
    module.walk([](StageBoundaryOp boundary) { boundary.erase(); });
    return;
  }
  if (steps.empty())
    return;
  StepOp model = *steps.begin();
  if (llvm::range_size(steps) != 1 || !model.isModel()) {
    emitError(model.getLoc())
        << "found " << llvm::range_size(steps)
        << " steps or a schedule, wanted one model to cut into stages; run "
           "zero-cut-pipeline before zero-differentiate";
    return signalPassFailure();
  }
  const auto most =
      static_cast<int64_t>(model.getBody().front().getOperations().size());
  if (chunks > most / pipe.getSize()) {
    emitError(model.getLoc())
        << "@" << model.getSymName() << " has "
        << zrt::plural(most, "operation")
        << ", and is to be cut into more parts: the axis 'pipe' has "
        << zrt::plural(pipe.getSize(), "rank") << " of "
        << zrt::plural(chunks, "chunk") << "; give fewer";
    return signalPassFailure();
  }
  StageValues values;
  if (failed(findMachine(model)) || failed(addBoundaries(model, boundaries)) ||
      failed(values.run(module, model)))
    return signalPassFailure();
  PipelineStages stages(model, pipe.getSize(), chunks);
  if (failed(place(model, stages, values)) ||
      failed(cut(model, stages, values)))
    signalPassFailure();
}
