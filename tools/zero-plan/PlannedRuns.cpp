//===- PlannedRuns.cpp - published runs, planned and predicted ------------===//

#include "PlannedRuns.h"

#include "Model.h"
#include "Table.h"

#include "zero/Config/Config.h"
#include "zero/Conversion/Translate.h"
#include "zero/Plan/PlanSummary.h"
#include "zero/Timeline/Timeline.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// With the bucket of a plain DeepSpeed file: frameworks reduce a block of
/// layers at once. They also copy parts of tensors, the gradients of queries,
/// keys and values among them, and run an addition and a norm one after the
/// other.
static PlanOptions optionsOf(const PublishedRun &run, StringRef machine,
                             StringRef pipeline) {
  PlanOptions options;
  options.stage = "3";
  options.ranks = std::to_string(run.gpus);
  options.machine = machine.str();
  options.pipeline = ("precision=bf16 fuse-moves=false fuse-additions=false "
                      "reduce-bucket-size=500000000 "
                      "accumulation=" +
                      Twine(run.accumulation))
                         .str();
  if (run.recomputes)
    options.pipeline += " checkpoint-activations=1 checkpoint-policy=full";
  if (!pipeline.empty())
    options.pipeline += " " + pipeline.str();
  return options;
}

static FailureOr<PlannedRun> planRun(const PublishedRun &run, StringRef machine,
                                     StringRef pipeline) {
  ModelFile model;
  if (failed(model.readText(writeGpt(run.shape), run.model)))
    return failure();
  auto planned = model.plan(optionsOf(run, machine, pipeline));
  if (failed(planned))
    return failure();
  FailureOr<Machine> read = model.readMachine();
  if (failed(read))
    return failure();
  FailureOr<zrt::Program> program = translateToProgram(planned->get());
  if (failed(program))
    return failure();
  PlannedRun result;
  result.run = run;
  result.bytes = summarizePlan(planned->get()).totalBytes(MemoryTier::Device);
  result.program = std::make_shared<zrt::Program>(std::move(*program));
  CostModel costs(*read, run.gpus);
  result.seconds = simulate(result.program, costs).stepSeconds();
  return result;
}

FailureOr<std::vector<PlannedRun>>
mlir::zero::planRuns(ArrayRef<PublishedRun> runs, StringRef machine,
                     StringRef pipeline) {
  std::vector<PlannedRun> planned;
  for (const PublishedRun &run : runs) {
    FailureOr<PlannedRun> next = planRun(run, machine, pipeline);
    if (failed(next))
      return failure();
    planned.push_back(std::move(*next));
  }
  return planned;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void ErrorSummary::add(double error) {
  mean = (mean * static_cast<double>(count) + std::abs(error)) /
         static_cast<double>(count + 1);
  worst = std::max(worst, std::abs(error));
  ++count;
}

ErrorSummary mlir::zero::summarizeErrors(ArrayRef<PlannedRun> runs) {
  ErrorSummary summary;
  for (const PlannedRun &run : runs)
    summary.add(run.error());
  return summary;
}

ErrorSummary mlir::zero::summarizeScaling(ArrayRef<PlannedRun> runs) {
  auto keyOf = [](const PublishedRun &run) {
    return std::make_tuple(run.gpu, run.shape.width, run.shape.layers,
                           run.shape.sequence, run.shape.microBatch,
                           run.recomputes);
  };
  // The run with the fewest GPUs is what others are compared with.
  std::map<decltype(keyOf(runs.front().run)), const PlannedRun *> fewest;
  for (const PlannedRun &run : runs) {
    const PlannedRun *&least = fewest[keyOf(run.run)];
    if (!least || run.run.gpus < least->run.gpus)
      least = &run;
  }
  ErrorSummary summary;
  for (const PlannedRun &run : runs)
    if (const PlannedRun *least = fewest[keyOf(run.run)];
        least->run.gpus < run.run.gpus)
      summary.add((1 + run.error()) / (1 + least->error()) - 1);
  return summary;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static std::string percent(double part) {
  return llvm::formatv("{0:f1} %", 100 * part);
}

static void printSummary(StringRef name, const ErrorSummary &summary) {
  llvm::outs() << name << ": mean " << percent(summary.mean) << ", worst "
               << percent(summary.worst) << ", of " << summary.count << "\n";
}

static void printRuns(const Machine &machine, ArrayRef<PlannedRun> runs,
                      const LeftOut &leftOut) {
  llvm::outs() << "predicted for " << machine.name
               << ", beside published runs; tokens a second and GPU\n";
  Table table;
  table.add({"GPU, model", "tokens", "GPUs", "micro", "accum", "recompute",
             "memory", "published", "predicted", "time off by"});
  for (const PlannedRun &run : runs) {
    const PublishedRun &row = run.run;
    table.add({row.gpu + ", " + row.model, std::to_string(row.shape.sequence),
               std::to_string(row.gpus), std::to_string(row.shape.microBatch),
               std::to_string(row.accumulation), row.recomputes ? "all" : "-",
               formatBytes(run.bytes),
               llvm::formatv("{0:f0}", row.tokensASecondAndGpu),
               llvm::formatv("{0:f0}", row.tokens() / run.seconds),
               percent(run.error())});
  }
  table.print(llvm::outs());
  printSummary("error", summarizeErrors(runs));
  if (ErrorSummary scaling = summarizeScaling(runs); scaling.count > 0)
    printSummary("error of speeds over numbers of GPUs", scaling);
  for (const auto &[name, summary] : leftOut)
    printSummary("error where the runs of a " + name + " are left out",
                 summary);
}

static void writeSummary(llvm::json::OStream &json, StringRef name,
                         const ErrorSummary &summary) {
  json.attributeObject(name, [&] {
    json.attribute("mean", summary.mean);
    json.attribute("worst", summary.worst);
    json.attribute("count", summary.count);
  });
}

static void writeRun(llvm::json::OStream &json, const PlannedRun &run) {
  const PublishedRun &row = run.run;
  json.object([&] {
    json.attribute("gpu", row.gpu);
    json.attribute("model", row.model);
    json.attribute("sequence", row.shape.sequence);
    json.attribute("gpus", row.gpus);
    json.attribute("micro_batch", row.shape.microBatch);
    json.attribute("accumulation", row.accumulation);
    json.attribute("recomputes", row.recomputes);
    json.attribute("memory_bytes", run.bytes);
    json.attribute("published_tokens_per_second", row.tokensASecondAndGpu);
    json.attribute("predicted_tokens_per_second", row.tokens() / run.seconds);
    json.attribute("predicted_seconds", run.seconds);
    json.attribute("error", run.error());
  });
}

static void writeRuns(llvm::json::OStream &json, const Machine &machine,
                      ArrayRef<PlannedRun> runs, const LeftOut &leftOut) {
  json.object([&] {
    json.attribute("machine", machine.name);
    json.attribute("source", machine.source);
    writeSummary(json, "all", summarizeErrors(runs));
    writeSummary(json, "scaling", summarizeScaling(runs));
    json.attributeObject("left_out", [&] {
      for (const auto &[name, summary] : leftOut)
        writeSummary(json, name, summary);
    });
    json.attributeArray("runs", [&] {
      for (const PlannedRun &run : runs)
        writeRun(json, run);
    });
  });
}

FailureOr<Machine> mlir::zero::findMachine(StringRef nameOrPath) {
  std::string error;
  FailureOr<Machine> machine = readMachine(nameOrPath, error);
  if (failed(machine))
    return fail(error);
  return machine;
}

LogicalResult mlir::zero::reportRuns(StringRef jsonFile, const Machine &machine,
                                     ArrayRef<PlannedRun> runs,
                                     const LeftOut &leftOut) {
  if (jsonFile != "-")
    printRuns(machine, runs, leftOut);
  if (jsonFile.empty())
    return success();
  return writeJsonFile(jsonFile, [&](llvm::json::OStream &json) {
    writeRuns(json, machine, runs, leftOut);
  });
}
