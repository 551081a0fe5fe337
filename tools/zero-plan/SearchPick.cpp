//===- SearchPick.cpp - what a search has found ---------------------------===//

#include "SearchPick.h"
#include "Predict.h"

#include "Table.h"
#include "views/Stages.h"

#include "zero/Analysis/Sharding.h"
#include "zero/Conversion/Translate.h"
#include "zero/Plan/PlanSummary.h"
#include "zero/Search/MeshSearch.h"
#include "zero/Timeline/Timeline.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zero;

Unit mlir::zero::unitOf(StepOp model) {
  std::optional<unsigned> input = findInputOfPositions(model);
  if (!input)
    return {"sample"};
  auto type = cast<RankedTensorType>(model.getArgumentTypes()[*input]);
  return {"token", type.getDimSize(1)};
}

double mlir::zero::speedOf(const PlannedPoint &point, const Unit &unit) {
  return samplesPerSecond(point) * static_cast<double>(unit.each) /
         static_cast<double>(point.config.worldRanks());
}

MemoryBudgets mlir::zero::budgetsOf(const TrainConfig &base,
                                    const Machine &machine) {
  MemoryBudgets budgets = {base.memoryBudget, base.hostMemoryBudget};
  if (base.memoryBudget == 0 && machine.memory > 0)
    budgets.device = machine.memory - machine.reservedMemory;
  return budgets;
}

std::string mlir::zero::describeBudget(const MemoryBudgets &budgets,
                                       const TrainConfig &base,
                                       const Machine &machine) {
  if (budgets.device == 0)
    return "any memory";
  return formatBytes(budgets.device) + " a rank" +
         (base.memoryBudget ? "" : ", which " + machine.name + " has");
}

std::string mlir::zero::describeCheckpoint(const CheckpointConfig &checkpoint) {
  if (!checkpoint.isEnabled())
    return "none";
  std::string text = stringify(checkpoint.policy).str();
  if (!checkpoint.layers.empty()) {
    // A search takes the first layers; a file may name others.
    SmallVector<std::string> names;
    for (int64_t layer : checkpoint.layers)
      names.push_back(std::to_string(layer));
    bool isPrefix =
        static_cast<int64_t>(names.size()) == checkpoint.layers.back() + 1;
    text += isPrefix ? " of first " + std::to_string(names.size())
                     : " of " + llvm::join(names, " ");
  }
  if (checkpoint.number > 0)
    text += ", in " + std::to_string(checkpoint.number);
  else if (checkpoint.every > 1)
    text += ", by " + std::to_string(checkpoint.every);
  if (checkpoint.offload)
    text += ", kept on the host";
  return text;
}

LogicalResult
mlir::zero::writeText(StringRef path,
                      llvm::function_ref<void(raw_ostream &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  return writeTextFile(path, text);
}

std::string mlir::zero::describeSchedule(const TrainConfig &config) {
  if (!config.hasAxis(zrt::kPipeAxis))
    return "-";
  return config.countChunks() > 1 ? plural(config.countChunks(), "chunk")
                                  : nameOf(config.pipelineOrder);
}

void mlir::zero::writePoint(llvm::json::OStream &json,
                            const PlannedPoint &point) {
  const TrainConfig &config = point.config;
  json.object([&] {
    json.attribute("bytes", point.bytes);
    json.attribute("counted_bytes", point.countedBytes);
    json.attribute("host_bytes", point.hostBytes);
    json.attribute("file_bytes", point.fileBytes);
    json.attribute("seconds", point.seconds);
    json.attribute("exposed_seconds", point.exposed);
    json.attribute("micro_batch", config.microBatch);
    json.attribute("accumulation", config.accumulation);
    json.attribute("stage", config.stage);
    json.attribute("recomputed", describeCheckpoint(config.checkpoint));
    json.attribute("offload_ratio", config.offloadOptimizer
                                        ? config.offloadOptimizer->ratio
                                        : 0.0);
    if (config.offloadOptimizer) {
      json.attribute("sub_group_size", config.offloadOptimizer->subGroupSize);
      json.attribute("offload_param", config.offloadOptimizer->parameters);
      json.attribute("in_files", point.fileBytes > 0);
    }
    if (config.hasAxis(zrt::kPipeAxis)) {
      json.attribute("pipeline_schedule", nameOf(config.pipelineOrder));
      json.attribute("pipeline_chunks", config.countChunks());
    }
    json.attribute("overlap_comm", config.overlapCommunication);
    json.attribute("reduce_bucket_size", config.reduceBucketSize);
    json.attribute("allgather_bucket_size", config.allgatherBucketSize);
    json.attribute("stage3_prefetch_bucket_size", config.prefetchBucketSize);
    json.attribute("stage3_max_live_parameters", config.maxLiveParameters);
    json.attribute("stage3_max_reuse_distance", config.maxReuseDistance);
    json.attribute("stage3_param_persistence_threshold",
                   config.parameterPersistenceThreshold);
  });
}

/// Writes the pick, and plans once more with what was written.
static LogicalResult writePick(ModelFile &model, const SearchOptions &options,
                               const PlannedPoint &pick) {
  if (options.configFile.empty())
    return success();
  if (failed(writeText(options.configFile, [&](raw_ostream &os) {
        writeTrainConfig(os, pick.config);
      })))
    return failure();
  PlanOptions again;
  again.config = options.configFile;
  again.ranks = std::to_string(pick.config.worldRanks());
  FailureOr<OwningOpRef<ModuleOp>> planned = model.plan(again);
  FailureOr<Machine> machine = model.readMachine();
  if (failed(planned) || failed(machine))
    return failure();
  FailureOr<PlannedPoint> written =
      measurePlan(planned->get(), pick.config, *machine);
  if (failed(written))
    return failure();
  if (written->bytes == pick.bytes && written->hostBytes == pick.hostBytes &&
      written->fileBytes == pick.fileBytes && written->seconds == pick.seconds)
    return success();
  return fail("'" + options.configFile + "' gives a plan of " +
              formatBytes(written->bytes) + " and " +
              formatSeconds(written->seconds) + ", not the pick's " +
              formatBytes(pick.bytes) + " and " + formatSeconds(pick.seconds));
}

/// What the page shows of a plan.
static FrontPlan describeFor(const PlannedPoint &point,
                             const PlannedPoint &pick,
                             const MemoryBudgets &budgets) {
  const TrainConfig &config = point.config;
  FrontPlan plan;
  llvm::raw_string_ostream(plan.settings)
      << "stage " << config.stage << ", "
      << describeCheckpoint(config.checkpoint) << " recomputed\n"
      << plural(config.microBatch, "sample") << ", "
      << plural(config.accumulation, "micro-batch", "es") << "\n"
      << (config.overlapCommunication ? "overlap" : "no overlap")
      << ", buckets of " << formatCount(config.reduceBucketSize);
  plan.bytes = point.bytes;
  plan.seconds = point.seconds;
  plan.isPick = point.bytes == pick.bytes && point.seconds == pick.seconds;
  plan.fits = budgets.hold(point);
  return plan;
}

/// The trace, the picture and the page of the pick.
static LogicalResult drawPick(ModuleOp model, const SearchOptions &options,
                              const PlannedPoint &pick,
                              ArrayRef<PlannedPoint> front,
                              const MemoryBudgets &budgets,
                              const Machine &machine) {
  if (options.drawings.isEmpty())
    return success();
  FailureOr<OwningOpRef<ModuleOp>> planned = planModel(model, pick.config);
  if (failed(planned))
    return failure();
  if (isCutIntoStages(planned->get())) {
    auto stages = reportStages(planned->get(), machine);
    return failed(stages) ? failure() : drawStages(options.drawings, *stages);
  }
  FailureOr<Timeline> timeline = simulate(planned->get(), machine);
  if (failed(timeline))
    return failure();
  std::vector<FrontPlan> plans;
  for (const PlannedPoint &point : front)
    plans.push_back(describeFor(point, pick, budgets));
  return writeDrawings(options.drawings, planned->get(), *timeline, machine,
                       plans);
}

LogicalResult
mlir::zero::keepPick(ModelFile &model, const SearchOptions &options,
                     const PlannedPoint &pick, ArrayRef<PlannedPoint> front,
                     const MemoryBudgets &budgets, const Machine &machine) {
  if (failed(drawPick(model.get(), options, pick, front, budgets, machine)))
    return failure();
  return writePick(model, options, pick);
}
