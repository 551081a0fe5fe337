//===- Views.cpp - the commands that show one plan, or two ----------------===//

#include "CommandLine.h"
#include "HuggingFace.h"
#include "views/Compare.h"
#include "views/Explain.h"
#include "views/FlatSpace.h"
#include "views/PredictedTrace.h"
#include "views/Report.h"
#include "views/Stages.h"

#include "zero/Conversion/Translate.h"

#include "program/ByteCount.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;
namespace cl = llvm::cl;

static cl::opt<bool> countsCommands(
    "commands", cl::cat(category()),
    cl::desc("Count the commands of an update by kind, with what they read and "
             "write"));

static LogicalResult writeJson(ArrayRef<PlanReport> plans) {
  auto write = [&](llvm::json::OStream &json) {
    auto writeAll = [&] {
      for (const PlanReport &plan : plans)
        writeJson(json, plan);
    };
    if (plans.size() == 1)
      writeAll();
    else
      json.array(writeAll);
  };
  return writeJsonFile(options::json, write, /*indent=*/2);
}

/// The figures of a plan, with its time on the model's machine; draws it where
/// that is asked for.
static FailureOr<PlanReport> report(const ModelFile &model, ModuleOp planned,
                                    const DrawingFiles &drawings = {}) {
  FailureOr<Machine> machine = model.readMachine();
  if (failed(machine))
    return failure();
  auto timeline = simulate(planned, *machine);
  if (failed(timeline) ||
      failed(writeDrawings(drawings, planned, *timeline, *machine)))
    return failure();
  PlanSummary plan = summarizePlan(planned);
  Verdict verdict = judge(plan, *timeline, *machine);
  return PlanReport{std::move(plan), summarizeTimeline(*timeline, *machine),
                    countCommands(*timeline), std::move(verdict)};
}

static LogicalResult printReports(ArrayRef<PlanReport> plans, StringRef path) {
  if (options::json != "-" && plans.size() == 1) {
    llvm::outs() << describeVerdict(plans.front().verdict) << "\n";
    printReport(plans.front().plan, path, options::lines);
    printPrediction(plans.front().prediction, options::lines);
    if (countsCommands)
      printCommands(plans.front().commands);
  } else if (options::json != "-") {
    printRankCounts(plans, path);
  }
  return options::json.empty() ? success() : writeJson(plans);
}

//===----------------------------------------------------------------------===//
// Plans of several stages
//===----------------------------------------------------------------------===//

/// Shows the figures of all stages of a pipeline.
static LogicalResult showStages(const ModelFile &model, ModuleOp planned,
                                const DrawingFiles &drawings) {
  FailureOr<Machine> machine = model.readMachine();
  if (failed(machine))
    return failure();
  FailureOr<StagesReport> stages = reportStages(planned, *machine);
  if (failed(stages) || failed(drawStages(drawings, *stages)))
    return failure();
  if (options::json != "-")
    printStages(*stages, model.getPath());
  auto write = [&](llvm::json::OStream &json) { writeStages(json, *stages); };
  return options::json.empty()
             ? success()
             : writeJsonFile(options::json, write, /*indent=*/2);
}

/// An error where a command shows one program, and the plan has several.
static LogicalResult expectOneStage(ModuleOp planned) {
  if (!isCutIntoStages(planned))
    return success();
  return fail("the plan has " + Twine(listStages(planned).size()) +
              " stages, which 'zero-plan MODEL' shows; give 'pipe' 1 rank for "
              "this command");
}

LogicalResult mlir::zero::runReportCommand() {
  DrawingFiles drawings = drawingFiles();
  FailureOr<std::vector<std::string>> counts = readRankCounts();
  ModelFile model;
  if (failed(counts) || failed(checkOutputs()) || failed(expectInputs(1)) ||
      failed(readInputModel(model)))
    return failure();
  if (counts->size() > 1 && !drawings.isEmpty())
    return fail("--trace, --picture and --report are of one rank count, found "
                "--ranks " +
                options::ranks);
  if (counts->size() > 1 && countsCommands)
    return fail("--commands are of one rank count, found --ranks " +
                options::ranks + "; --json has them of all");
  std::vector<PlanReport> plans;
  for (const std::string &count : *counts) {
    auto planned = model.plan(planOptions(count));
    if (failed(planned))
      return failure();
    if (isCutIntoStages(planned->get()) && counts->size() > 1)
      return fail("the plan has " + Twine(listStages(planned->get()).size()) +
                  " stages, which are of one rank count, found --ranks " +
                  options::ranks);
    if (isCutIntoStages(planned->get()))
      return showStages(model, planned->get(), drawings);
    auto plan = report(model, planned->get(), drawings);
    if (failed(plan))
      return failure();
    plans.push_back(std::move(*plan));
  }
  return printReports(plans, model.getPath());
}

LogicalResult mlir::zero::runCompareCommand() {
  // One model with two pipelines, or two files with the same options.
  const auto &inputs = options::inputs, &pipelines = options::pipelines;
  bool isOneModel = inputs.size() == 1 && pipelines.size() == 2;
  FailureOr<std::string> ranks = readRankCount();
  if (failed(ranks))
    return failure();
  if (!isOneModel && (inputs.size() != 2 || pipelines.size() > 1))
    return fail("wanted two files, or one and two --pipeline; found " +
                Twine(inputs.size()) + " and " + Twine(pipelines.size()));
  PlanReport plans[2];
  std::string names[2];
  for (int i : {0, 1}) {
    PlanOptions options = planOptions(*ranks);
    if (isOneModel)
      options.pipeline = pipelines[i];
    ModelFile model;
    if (failed(model.read(inputs[isOneModel ? 0 : i])))
      return failure();
    auto planned = model.plan(options);
    if (failed(planned) || failed(expectOneStage(planned->get())))
      return failure();
    auto plan = report(model, planned->get());
    if (failed(plan))
      return failure();
    plans[i] = std::move(*plan);
    names[i] = isOneModel ? pipelines[i] : inputs[i];
  }
  printComparison(plans[0], plans[1], names[0], names[1]);
  return success();
}

/// The plan of the first word's model.
static FailureOr<OwningOpRef<ModuleOp>> planOne(ModelFile &model) {
  FailureOr<std::string> ranks = readRankCount();
  if (failed(ranks) || failed(readInputModel(model)))
    return failure();
  return model.plan(planOptions(*ranks));
}

LogicalResult mlir::zero::runLayoutCommand() {
  if (failed(expectInputs(1)))
    return failure();
  ModelFile model;
  auto planned = planOne(model);
  if (failed(planned))
    return failure();
  for (ModuleOp stage : listStages(planned->get())) {
    if (isCutIntoStages(planned->get()))
      llvm::outs() << stage.getSymName().value_or("") << "\n";
    printFlatSpace(stage);
  }
  return success();
}

LogicalResult mlir::zero::runExplainCommand() {
  if (failed(expectInputs(2, "words, a file of MLIR and a parameter")))
    return failure();
  ModelFile model;
  auto planned = planOne(model);
  if (failed(planned))
    return failure();
  // In the first stage that has it.
  StringRef parameter = options::inputs[options::inputs.size() - 1];
  SmallVector<ModuleOp> stages = listStages(planned->get());
  auto owner = llvm::find_if(stages, [&](ModuleOp stage) {
    return SymbolTable::lookupSymbolIn(stage, parameter.ltrim('@')) != nullptr;
  });
  return explainParameter(owner == stages.end() ? stages.front() : *owner,
                          parameter);
}
