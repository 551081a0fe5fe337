//===- Stages.cpp - what the stages of a pipeline have and take -----------===//

#include "Stages.h"

#include "../../Output.h"
#include "Predict.h"
#include "Svg.h"
#include "Table.h"

#include "zero/Conversion/Translate.h"

#include "program/ByteCount.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::zero;

static int64_t microBatchesOf(const StagesReport &report) {
  return report.programs.front().training.accumulation;
}

FailureOr<StagesReport> mlir::zero::reportStages(ModuleOp planned,
                                                 const Machine &machine) {
  StagesReport stages;
  stages.machine = machine.name;
  for (ModuleOp stage : listStages(planned))
    stages.plans.push_back(summarizePlan(stage));
  auto programs = translateStages(planned);
  if (failed(programs))
    return failure();
  stages.programs = std::move(*programs);
  stages.timeline = simulateStages(stages.programs, machine);
  stages.verdict =
      judgeStages(stages.plans, stages.programs, stages.timeline, machine);
  return std::move(stages);
}

/// Groups of layers of each stage.
static int64_t chunksOf(const StagesReport &report) {
  return static_cast<int64_t>(report.programs.front().forward.size());
}

/// Bytes that a stage sends others for a micro-batch, forward or back.
static uint64_t sentBytes(const std::vector<zrt::Region> &passes) {
  uint64_t bytes = 0;
  for (const zrt::Region &region : passes)
    for (const zrt::Command &command : region.commands)
      if (command.opcode == zrt::Opcode::Start &&
          command.collective == zrt::Collective::Send)
        bytes += command.parts.front().count *
                 zrt::sizeOf(command.parts.front().type);
  return bytes;
}

/// Slots of the stash, by chunk: "8", "8 + 4".
static std::string slotsOf(const zrt::Program &program) {
  std::string text;
  for (const zrt::StashRing &ring : program.pipeline.rings)
    text += (text.empty() ? "" : " + ") + std::to_string(ring.slots);
  return text;
}

static void printBubble(const StagesReport &report) {
  const StagesTimeline &timeline = report.timeline;
  int64_t micros = microBatchesOf(report), stages = report.plans.size();
  llvm::outs() << "an update on " << report.machine << ": "
               << formatSeconds(timeline.seconds) << ", of which stages wait "
               << llvm::format("%.1f", 100 * timeline.bubble())
               << " % for each other ("
               << llvm::format("%.1f",
                               100 * StagesTimeline::closedBubble(
                                         stages, micros, chunksOf(report)))
               << " % where all take equally long: (p - 1) / ("
               << (chunksOf(report) > 1 ? "c m" : "m") << " + p - 1))\n";
  auto slowest = llvm::max_element(
      timeline.stages, [](const StageSeconds &a, const StageSeconds &b) {
        return a.ofMicro() < b.ofMicro();
      });
  llvm::outs() << "the slowest is stage " << slowest - timeline.stages.begin()
               << ", " << formatSeconds(slowest->ofMicro())
               << " a micro-batch\n";
}

void mlir::zero::printStages(const StagesReport &report, StringRef path) {
  const zrt::Program &first = report.programs.front();
  llvm::outs() << describeVerdict(report.verdict) << "\n";
  llvm::outs() << path << ": " << plural(report.plans.size(), "stage") << " of "
               << plural(first.training.ranks / report.plans.size(), "rank")
               << (chunksOf(report) > 1
                       ? " and " + std::to_string(chunksOf(report)) + " chunks"
                       : "")
               << ", " << plural(microBatchesOf(report), "micro-batch", "es")
               << " an update; of one rank of each:\n";
  Table table;
  table.add({"stage", "parameters", "memory", "stash", "slots", "sends",
             "forward", "backward", "update"});
  for (auto [index, plan, seconds, program] :
       llvm::enumerate(report.plans, report.timeline.stages, report.programs)) {
    int64_t elements = 0;
    for (const zrt::Parameter &parameter : program.parameters)
      elements += program.elementsOf(parameter);
    table.add(
        {std::to_string(index), formatCount(elements),
         formatBytes(plan.totalBytes()),
         formatBytes(plan.arena(ArenaKind::Stash).bytes), slotsOf(program),
         formatBytes(sentBytes(program.forward) + sentBytes(program.backward)),
         formatSeconds(seconds.forward), formatSeconds(seconds.backward),
         formatSeconds(seconds.update)});
  }
  table.print(llvm::outs());
  printBubble(report);
}

static void writeStage(llvm::json::OStream &json, const PlanSummary &plan,
                       const StageSeconds &seconds,
                       const zrt::Program &program) {
  json.attribute("stage", program.pipeline.stage);
  json.attribute("memory_bytes", plan.totalBytes());
  json.attribute("stash_bytes", plan.arena(ArenaKind::Stash).bytes);
  json.attributeArray("slots", [&] {
    for (const zrt::StashRing &ring : program.pipeline.rings)
      json.value(ring.slots);
  });
  json.attribute("sent_bytes",
                 static_cast<int64_t>(sentBytes(program.forward)));
  json.attribute("sent_back_bytes",
                 static_cast<int64_t>(sentBytes(program.backward)));
  json.attribute("forward_seconds", seconds.forward);
  json.attribute("backward_seconds", seconds.backward);
  json.attribute("update_seconds", seconds.update);
}

void mlir::zero::writeStages(llvm::json::OStream &json,
                             const StagesReport &report) {
  json.object([&] {
    writeVerdict(json, report.verdict);
    json.attribute("machine", report.machine);
    json.attribute("micro_batches", microBatchesOf(report));
    json.attribute("chunks", chunksOf(report));
    json.attribute("seconds", report.timeline.seconds);
    json.attribute("pass_seconds", report.timeline.passSeconds);
    json.attribute("bubble", report.timeline.bubble());
    json.attribute("closed_bubble",
                   StagesTimeline::closedBubble(report.plans.size(),
                                                microBatchesOf(report),
                                                chunksOf(report)));
    json.attributeArray("stages", [&] {
      for (auto [plan, seconds, program] : llvm::zip_equal(
               report.plans, report.timeline.stages, report.programs))
        json.object([&, &plan = plan, &seconds = seconds, &program = program] {
          writeStage(json, plan, seconds, program);
        });
    });
  });
}

//===----------------------------------------------------------------------===//
// The picture
//===----------------------------------------------------------------------===//

static constexpr double kLeft = 90, kTop = 60, kWidth = 1100, kRow = 34,
                        kBar = 26;

static constexpr StringRef kStyles =
    "text { font: 13px sans-serif; fill: #222; }\n"
    ".forward { fill: #8ab8e6; stroke: #fff; stroke-width: 0.5; }\n"
    ".backward { fill: #3f7fbf; stroke: #fff; stroke-width: 0.5; }\n"
    ".update { fill: #e0a33c; }\n"
    ".idle { fill: #f0f0f0; }\n"
    ".odd { fill-opacity: 0.6; }\n";

static void drawLegend(Svg &svg, bool hasChunks) {
  double x = kLeft;
  SmallVector<std::pair<StringRef, StringRef>> entries = {
      {"forward", "forward pass"},
      {"backward", "backward pass"},
      {"update", "update"},
      {"idle", "waits"}};
  if (hasChunks)
    entries.insert(entries.begin() + 2,
                   {{"forward odd", "forward, odd chunks"},
                    {"backward odd", "backward, odd chunks"}});
  for (auto [style, name] : entries) {
    svg.rectangle({x, 34, 14, 14}, style);
    svg.text(x + 20, 46, name);
    x += 40 + 8.0 * static_cast<double>(name.size());
  }
}

static std::string draw(const StagesReport &report, StringRef title) {
  Svg svg;
  svg.text(kLeft, 20, title);
  drawLegend(svg, chunksOf(report) > 1);
  const StagesTimeline &timeline = report.timeline;
  double scale = kWidth / timeline.seconds;
  auto rowOf = [](uint32_t stage) { return kTop + kRow * stage; };
  for (uint32_t stage = 0; stage < report.plans.size(); ++stage) {
    svg.text(kLeft - 10, rowOf(stage) + 18, "stage " + Twine(stage), "end");
    svg.rectangle({kLeft, rowOf(stage), kWidth, kBar}, "idle");
    double update = timeline.stages[stage].update;
    svg.rectangle({kLeft + timeline.passSeconds * scale, rowOf(stage),
                   update * scale, kBar},
                  "update", "update, " + formatSeconds(update));
  }
  for (const PassTime &pass : timeline.passes)
    svg.rectangle({kLeft + pass.begin * scale, rowOf(pass.stage),
                   (pass.end - pass.begin) * scale, kBar},
                  (pass.isBackward ? "backward" : "forward") +
                      std::string(pass.chunk % 2 ? " odd" : ""),
                  "micro-batch " + Twine(pass.micro) + " " +
                      report.programs[pass.stage].nameOf(
                          {pass.isBackward, pass.chunk, pass.micro}) +
                      ", " + formatSeconds(pass.end - pass.begin) + " from " +
                      formatSeconds(pass.begin));
  double bottom = rowOf(report.plans.size()) + 14;
  svg.text(kLeft, bottom, "0");
  svg.text(kLeft + kWidth, bottom, formatSeconds(timeline.seconds), "end");
  return svg.finish(kLeft + kWidth + 20, bottom + 16, kStyles);
}

LogicalResult mlir::zero::drawStages(const DrawingFiles &files,
                                     const StagesReport &report) {
  const std::string stages = plural(report.plans.size(), "stage");
  if (!files.trace.empty())
    return fail("--trace is of one program, and the plan has " + stages +
                "; --picture shows their passes over time");
  if (!files.page.empty())
    return fail("--report is of one program, and the plan has " + stages +
                "; --picture shows their passes over time");
  if (files.picture.empty())
    return success();
  const zrt::Program &first = report.programs.front();
  return writeTextFile(
      files.picture, draw(report, first.name + ": " + first.mesh.text() + ", " +
                                      zrt::plural(microBatchesOf(report),
                                                  "micro-batch", "es") +
                                      " an update, on " + report.machine));
}
