//===- CutPipeline.cpp - the stages of a pipeline, a module each ----------===//

#include "StageBuilder.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Reads.h"
#include "zero/Kernels/KernelSpecs.h"
#include "zero/Transforms/Passes.h"

#include "program/ByteCount.h"

namespace mlir::zero {
#define GEN_PASS_DEF_CUTPIPELINE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct CutPipeline : public zero::impl::CutPipelineBase<CutPipeline> {
  using CutPipelineBase::CutPipelineBase;
  void runOnOperation() override;

private:
  LogicalResult cut(StepOp model, const PipelineStages &stages,
                    const StageValues &values);
};

} // namespace

//===----------------------------------------------------------------------===//
// The pass
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

/// What each stage has, in one remark.
static void reportStages(StepOp model, const PipelineStages &stages,
                         int64_t parameters) {
  double work = 0;
  for (int64_t stage = 0; stage < stages.getStages(); ++stage)
    work += stages.getWork(stage);
  SmallVector<int64_t> counts, shares, sent;
  for (int64_t stage = 0; stage < stages.getStages(); ++stage) {
    counts.push_back(static_cast<int64_t>(stages.getParameters(stage).size()));
    shares.push_back(static_cast<int64_t>(
        work > 0 ? 100 * stages.getWork(stage) / work + 0.5 : 0));
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
  remark << describeAll(counts) << " of " << parameters << " parameters and "
         << describeAll(shares) << " % of the forward work, and get "
         << describeAll(sent) << " bytes a micro-batch from the one before";
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
  int64_t parameters = llvm::range_size(module.getOps<ParameterOp>());
  SmallVector<Attribute> declared;
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    declared.push_back(parameter.getSymNameAttr());
  SmallVector<Operation *> old;
  for (Operation &op : *module.getBody())
    old.push_back(&op);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  reportStages(model, stages, parameters);
  for (int64_t place = 0; place < stages.getPlaces(); ++place)
    StageBuilder(module, model, stages, place, order, *crossings)
        .build(builder);
  for (Operation *op : llvm::reverse(old))
    op->erase();
  module->setAttr(kDeclaredParameters, builder.getArrayAttr(declared));
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
  if (failed(addBoundaries(model, boundaries)) ||
      failed(values.run(module, model)))
    return signalPassFailure();
  PipelineStages stages(
      model, pipe.getSize(), chunks, workOf,
      [&](Value value) { return values.cutsOf(value).has_value(); });
  if (failed(stages.verify()) || failed(cut(model, stages, values)))
    signalPassFailure();
}
