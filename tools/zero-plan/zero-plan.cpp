//===- zero-plan.cpp - what a plan needs, before it runs ------------------===//
//
//   zero-plan gpt.mlir --config ds_config.json --ranks 64
//
// One file a mode; this one reads the options and chooses.
//
//===----------------------------------------------------------------------===//

#include "../Output.h"
#include "Allocate.h"
#include "Calibrate.h"
#include "Compare.h"
#include "Drawings.h"
#include "Estimate.h"
#include "Explain.h"
#include "FlatSpace.h"
#include "Model.h"
#include "Modes.h"
#include "Predict.h"
#include "PredictedTrace.h"
#include "Report.h"
#include "Runs.h"
#include "Search.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("zero-plan options");

//===----------------------------------------------------------------------===//
// The model and its pipeline
//===----------------------------------------------------------------------===//

cl::list<std::string> inputs(cl::Positional, cl::cat(category),
                             cl::desc("<model.mlir>"));
cl::opt<std::string> config("config", cl::cat(category),
                            cl::value_desc("ds_config.json"),
                            cl::desc("DeepSpeed configuration"));
cl::opt<std::string> stage("stage", cl::cat(category), cl::value_desc("0..3"),
                           cl::desc("ZeRO stage; overrides the configuration"));
cl::opt<std::string> ranks("ranks", cl::cat(category), cl::value_desc("n,..."),
                           cl::desc("Data-parallel ranks, 1 if not given; of "
                                    "several counts, a line each is printed"));
cl::opt<std::string>
    mesh("mesh", cl::cat(category), cl::value_desc("axis=n,..."),
         cl::desc("Axes of the ranks instead of --ranks, such as "
                  "replica=2,shard=4: states are partitioned over 'shard'"));
cl::list<std::string> pipelines(
    "pipeline", cl::cat(category), cl::value_desc("options"),
    cl::desc("Further options of zero-pipeline, such as 'precision=bf16 "
             "accumulation=4'; they override the configuration"));

cl::opt<std::string> memoryBudget(
    "memory-budget", cl::cat(category), cl::value_desc("bytes"),
    cl::desc("Most bytes that a rank may need on its device, such as 80GiB; "
             "any if not given"));
cl::opt<std::string> hostMemoryBudget(
    "host-memory-budget", cl::cat(category), cl::value_desc("bytes"),
    cl::desc("Most bytes that a rank may need in host memory for what is "
             "offloaded; --search offloads only where this is given"));
cl::opt<std::string> searchFolder(
    "nvme-path", cl::cat(category), cl::value_desc("folder"),
    cl::desc("A folder in which --search may keep optimizer states in files; "
             "in none if not given"));
cl::opt<std::string> target("target", cl::cat(category),
                            cl::value_desc("host|cuda"),
                            cl::desc("Whose kernels the plan is for; host if "
                                     "not given"));

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

cl::opt<std::string> jsonFile("json", cl::cat(category), cl::value_desc("file"),
                              cl::desc("Write the figures as JSON as well; '-' "
                                       "writes nothing else"));
cl::opt<std::string>
    workFile("work-json", cl::cat(category), cl::Hidden, cl::value_desc("file"),
             cl::desc("Write what planning did, counted by kind: for tests"));
cl::opt<unsigned> lines("lines", cl::cat(category), cl::init(5),
                        cl::value_desc("n"),
                        cl::desc("Largest parts of an arena to list"));

cl::opt<bool> commands(
    "commands", cl::cat(category),
    cl::desc("Count the commands of an update by kind, with what they read and "
             "write"));

cl::opt<std::string> machineName(
    "machine", cl::cat(category), cl::value_desc("name or file"),
    cl::desc("Machine that is planned and predicted for: host, a100, h100, "
             "h200, a100-eager, h100-eager, or a file of --calibrate or --fit; "
             "the configuration's if not "
             "given, and if that names none, host for --target host, else "
             "h100"));

cl::opt<std::string>
    traceFile("trace", cl::cat(category), cl::value_desc("file.json"),
              cl::desc("Write the predicted timeline of two updates, for "
                       "ui.perfetto.dev"));
cl::opt<std::string>
    pictureFile("picture", cl::cat(category), cl::value_desc("file.svg"),
                cl::desc("Draw streams and arenas over the predicted time"));

cl::opt<std::string> calibrateFile(
    "calibrate", cl::cat(category), cl::value_desc("file.json"),
    cl::desc("Measure this machine with the model's kernels and collectives, "
             "with 1, 2 and 4 ranks or those of --ranks, for --machine"));

cl::opt<bool> layout("layout", cl::cat(category),
                     cl::desc("Draw intervals, owners and padding"));
cl::opt<std::string> explain("explain", cl::cat(category),
                             cl::value_desc("@parameter"),
                             cl::desc("Print a parameter's whole life"));
cl::opt<bool> compare("compare", cl::cat(category),
                      cl::desc("Compare two planned schedules, or one model "
                               "with two --pipeline"));

cl::opt<std::string> runsFile(
    "compare-runs", cl::cat(category), cl::value_desc("file.csv"),
    cl::desc("Predict the stage 3 runs of a file for --machine, and print what "
             "was published beside it; columns: gpu, model, d, layers, heads, "
             "vocab, seq, gpus, micro, accum, ac, published_tok_s_gpu"));
cl::opt<std::string> fitFile(
    "fit", cl::cat(category), cl::value_desc("file.csv"),
    cl::desc("Fit what kernels and links of --machine reach to such runs, and "
             "write the machine to -o"));
cl::opt<std::string> outputFile("o", cl::cat(category), cl::value_desc("file"),
                                cl::desc("Where --fit writes the machine"));

cl::opt<bool> search(
    "search", cl::cat(category),
    cl::desc("Choose stage, bucket sizes, what stage 3 gathers ahead and "
             "keeps, and which activations are recomputed: the fastest plan in "
             "--memory-budget; what the configuration or an option gives "
             "stays. Exit with 1 and the smallest plan where none fits"));
cl::opt<std::string>
    configFile("write-config", cl::cat(category), cl::value_desc("file"),
               cl::desc("Write the pick of --search as a configuration"));

//===----------------------------------------------------------------------===//
// DeepSpeed's estimates
//===----------------------------------------------------------------------===//

enum class EstimateForm { None, Current, Classic };
cl::opt<EstimateForm> estimate(
    "estimate", cl::cat(category), cl::ValueOptional,
    cl::init(EstimateForm::None),
    cl::desc("Print DeepSpeed's estimates of memory for model states:"),
    cl::values(clEnumValN(EstimateForm::Current, "", ""),
               clEnumValN(EstimateForm::Current, "current",
                          "as DeepSpeed's present code has them (default)"),
               clEnumValN(EstimateForm::Classic, "classic",
                          "as its documentation has them")));
cl::opt<double> parameterCount("params", cl::cat(category),
                               cl::value_desc("count"),
                               cl::desc("Parameters in all, without a model"));
cl::opt<double> largestLayer("largest-layer", cl::cat(category),
                             cl::value_desc("count"),
                             cl::desc("Parameters of the largest layer"));
cl::opt<int64_t> gpusPerNode("gpus-per-node", cl::cat(category), cl::init(1),
                             cl::value_desc("n"), cl::desc("GPUs of a node"));
cl::opt<int64_t> nodes("nodes", cl::cat(category), cl::init(1),
                       cl::value_desc("n"), cl::desc("Nodes"));
cl::opt<int64_t> sequence("sequence", cl::cat(category), cl::value_desc("n"),
                          cl::desc("Tokens of a sample, for the estimate of "
                                   "activations"));
cl::opt<int64_t> heads("heads", cl::cat(category), cl::value_desc("n"),
                       cl::desc("Attention heads, for the same"));
cl::opt<int64_t> hidden("hidden", cl::cat(category), cl::value_desc("n"),
                        cl::desc("Width, for the same"));
cl::opt<int64_t> batch("batch", cl::cat(category), cl::value_desc("n"),
                       cl::desc("Samples on a GPU, for the same"));
cl::opt<double> bufferFactor("buffer-factor", cl::cat(category), cl::init(1.5),
                             cl::value_desc("factor"),
                             cl::desc("DeepSpeed's additional_buffer_factor, "
                                      "for CPU memory"));

//===----------------------------------------------------------------------===//
// Allocation of buffers that are not from a model
//===----------------------------------------------------------------------===//

cl::opt<std::string> allocateFile(
    "allocate", cl::cat(category), cl::value_desc("file.csv"),
    cl::desc("Print offsets for the buffers of a file with the columns id, "
             "lower, upper (exclusive) and size, '-' for standard input; exit "
             "with 1 and the best height where they exceed --capacity"));
cl::opt<int64_t> capacity("capacity", cl::cat(category),
                          cl::value_desc("bytes"),
                          cl::desc("What --allocate has to fit into"));
cl::opt<double> allocateSeconds("allocate-seconds", cl::cat(category),
                                cl::init(60), cl::value_desc("seconds"),
                                cl::desc("How long --allocate searches, in "
                                         "time on a core; 60 if not given"));

//===----------------------------------------------------------------------===//
// Modes
//===----------------------------------------------------------------------===//

/// The options of zero-pipeline for `count` ranks, with all texts of
/// --pipeline.
zero::PlanOptions planOptions(StringRef count) {
  return {config,       llvm::join(pipelines, " "), stage,  count.str(), mesh,
          memoryBudget, hostMemoryBudget,           target, machineName};
}

LogicalResult expectInputs(size_t count) {
  if (inputs.size() == count)
    return success();
  return zero::fail("wanted " + llvm::Twine(count) +
                    " file(s) of MLIR, found " + llvm::Twine(inputs.size()));
}

LogicalResult runEstimate() {
  if (inputs.size() > 1)
    return expectInputs(1);
  zero::EstimateRequest request;
  if (estimate == EstimateForm::Classic)
    request.version = zero::EstimateVersion::Classic;
  request.setup = {parameterCount, largestLayer, gpusPerNode, nodes,
                   bufferFactor};
  request.transformer = {sequence, heads, hidden, batch};
  if (!inputs.empty())
    request.model = inputs.front();
  request.plan = planOptions("");
  return zero::runEstimate(request);
}

LogicalResult writeJson(ArrayRef<zero::PlanReport> plans) {
  auto write = [&](llvm::json::OStream &json) {
    auto writeAll = [&] {
      for (const zero::PlanReport &plan : plans)
        zero::writeJson(json, plan);
    };
    if (plans.size() == 1)
      writeAll();
    else
      json.array(writeAll);
  };
  return zero::writeJsonFile(jsonFile, write, /*indent=*/2);
}

/// The figures of a plan, with its time on the model's machine; draws it where
/// that is asked for.
FailureOr<zero::PlanReport> report(const zero::ModelFile &model,
                                   ModuleOp planned,
                                   const zero::DrawingFiles &drawings = {}) {
  FailureOr<zero::Machine> machine = model.readMachine();
  if (failed(machine))
    return failure();
  auto timeline = zero::simulate(planned, *machine);
  if (failed(timeline) ||
      failed(zero::writeDrawings(drawings, planned, *timeline, *machine)))
    return failure();
  return zero::PlanReport{zero::summarizePlan(planned),
                          zero::summarizeTimeline(*timeline, *machine),
                          zero::countCommands(*timeline)};
}

LogicalResult runReport(ArrayRef<std::string> counts) {
  zero::ModelFile model;
  if (failed(expectInputs(1)) || failed(model.read(inputs.front())))
    return failure();
  if (counts.size() > 1 && !(traceFile.empty() && pictureFile.empty()))
    return zero::fail("--trace and --picture are of one rank count, found "
                      "--ranks " +
                      ranks);
  if (counts.size() > 1 && commands)
    return zero::fail("--commands are of one rank count, found --ranks " +
                      ranks + "; --json has them of all");
  std::vector<zero::PlanReport> plans;
  for (const std::string &count : counts) {
    auto planned = model.plan(planOptions(count));
    if (failed(planned))
      return failure();
    auto plan = report(model, planned->get(), {traceFile, pictureFile});
    if (failed(plan))
      return failure();
    plans.push_back(std::move(*plan));
  }
  if (jsonFile != "-" && plans.size() == 1) {
    zero::printReport(plans.front().plan, model.getPath(), lines);
    zero::printPrediction(plans.front().prediction, lines);
    if (commands)
      zero::printCommands(plans.front().commands);
  } else if (jsonFile != "-") {
    zero::printRankCounts(plans, model.getPath());
  }
  return jsonFile.empty() ? success() : writeJson(plans);
}

LogicalResult runAllocate() {
  if (!inputs.empty())
    return expectInputs(0);
  if (capacity.getNumOccurrences() == 0 || capacity < 0)
    return zero::fail("--allocate wants --capacity with a number of bytes");
  if (!(allocateSeconds > 0))
    return zero::fail("--allocate-seconds must be above 0");
  return success(zero::runAllocate(allocateFile, capacity, allocateSeconds) ==
                 0);
}

LogicalResult runComparison() {
  // One model with two pipelines, or two files with the same options.
  bool isOneModel = inputs.size() == 1 && pipelines.size() == 2;
  if (!isOneModel && (inputs.size() != 2 || pipelines.size() > 1))
    return zero::fail("--compare wants two files, or one and two --pipeline; "
                      "found " +
                      llvm::Twine(inputs.size()) + " and " +
                      llvm::Twine(pipelines.size()));
  zero::PlanReport plans[2];
  std::string names[2];
  for (int i : {0, 1}) {
    zero::PlanOptions options = planOptions(ranks);
    if (isOneModel)
      options.pipeline = pipelines[i];
    zero::ModelFile model;
    if (failed(model.read(inputs[isOneModel ? 0 : i])))
      return failure();
    auto planned = model.plan(options);
    if (failed(planned))
      return failure();
    auto plan = report(model, planned->get());
    if (failed(plan))
      return failure();
    plans[i] = std::move(*plan);
    names[i] = isOneModel ? pipelines[i] : inputs[i];
  }
  zero::printComparison(plans[0], plans[1], names[0], names[1]);
  return success();
}

/// --layout and --explain: what the plan of one model looks like.
LogicalResult runPicture() {
  zero::ModelFile model;
  if (failed(expectInputs(1)) || failed(model.read(inputs.front())))
    return failure();
  auto planned = model.plan(planOptions(ranks));
  if (failed(planned))
    return failure();
  if (layout)
    zero::printFlatSpace(planned->get());
  if (explain.getNumOccurrences() > 0)
    return zero::explainParameter(planned->get(), explain);
  return success();
}

LogicalResult runCalibration(const char *tool,
                             std::vector<std::string> counts) {
  if (failed(expectInputs(1)))
    return failure();
  if (ranks.empty())
    counts = {"1", "2", "4"};
  return zero::calibrate(inputs.front(), planOptions(""), counts, calibrateFile,
                         tool);
}

LogicalResult runSearch() {
  zero::ModelFile model;
  if (failed(expectInputs(1)) || failed(model.read(inputs.front())))
    return failure();
  std::optional<std::string> folder;
  if (searchFolder.getNumOccurrences())
    folder = searchFolder;
  return zero::runSearch(model, {planOptions(ranks),
                                 configFile,
                                 jsonFile,
                                 folder,
                                 {traceFile, pictureFile},
                                 lines});
}

LogicalResult runRuns(StringRef file,
                      LogicalResult (*run)(const zero::RunsRequest &)) {
  if (!inputs.empty())
    return expectInputs(0);
  if (machineName.empty())
    return zero::fail("wanted --machine: the GPU whose runs are predicted");
  return run({file.str(), machineName, llvm::join(pipelines, " "), outputFile,
              jsonFile});
}

/// What is read is not written.
LogicalResult checkOutputs() {
  std::vector<zero::NamedFile> read = {{"the configuration", config},
                                       {"the machine", machineName},
                                       {"the buffers", allocateFile},
                                       {"the runs", runsFile},
                                       {"the runs to fit", fitFile}};
  for (const std::string &path : inputs)
    read.push_back({"the model", path});
  std::string error = zero::findReplaced({{"--json", jsonFile},
                                          {"--work-json", workFile},
                                          {"--trace", traceFile},
                                          {"--picture", pictureFile},
                                          {"--calibrate", calibrateFile},
                                          {"--write-config", configFile},
                                          {"-o", outputFile}},
                                         read);
  return error.empty() ? success() : zero::fail(error);
}

LogicalResult run(const char *tool) {
  FailureOr<zero::Mode> mode = zero::readMode(!inputs.empty());
  if (failed(mode) || failed(checkOutputs()))
    return failure();
  auto counts = zero::readRankCounts(ranks, *mode);
  if (failed(counts))
    return failure();
  switch (*mode) {
  case zero::Mode::Report:
    return runReport(*counts);
  case zero::Mode::Search:
    return runSearch();
  case zero::Mode::Estimate:
  case zero::Mode::Counts:
    return runEstimate();
  case zero::Mode::Allocate:
    return runAllocate();
  case zero::Mode::Calibrate:
    return runCalibration(tool, *counts);
  case zero::Mode::Compare:
    return runComparison();
  case zero::Mode::Runs:
    return runRuns(runsFile, zero::compareRuns);
  case zero::Mode::Fit:
    return runRuns(fitFile, zero::fitRuns);
  case zero::Mode::Picture:
    return runPicture();
  }
  llvm_unreachable("a mode that nothing runs");
}

} // namespace

/// What planning did, which is the same on every machine: its time is not.
static LogicalResult writeWork() {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::PrintStatisticsJSON(os);
  return zero::writeTextFile(workFile, text);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  zero::checkStandardOutput("zero-plan");
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "zero graph compiler: what a plan needs, before it runs\n");
  if (!workFile.empty())
    llvm::EnableStatistics(/*DoPrintOnExit=*/false);
  return succeeded(run(argv[0])) && (workFile.empty() || succeeded(writeWork()))
             ? 0
             : 1;
}
