//===- Verdict.cpp - whether a plan fits, how fast it is, and why ---------===//

#include "Verdict.h"

#include "Predict.h"
#include "Table.h"

#include "program/KernelKey.h"
#include "program/KernelSchema.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Speed
//===----------------------------------------------------------------------===//

static bool isInteger(zrt::DataType type) {
  return !zrt::isFloat(type) && type != zrt::DataType::I1;
}

/// The input that has a position in its second dimension: `input_ids`, or the
/// first one of integers with two dimensions.
static const zrt::Input *findPositions(const zrt::Program &program) {
  const zrt::Input *first = nullptr;
  for (const zrt::Input &input : program.inputs) {
    if (input.type.shape.size() != 2 || !isInteger(input.type.type))
      continue;
    if (input.name == "input_ids")
      return &input;
    if (!first)
      first = &input;
  }
  return first;
}

/// Samples of a micro-batch: the first dimension of the first input that has
/// any.
static int64_t samplesOf(const zrt::Program &program) {
  for (const zrt::Input &input : program.inputs)
    if (!input.type.shape.empty())
      return input.type.shape.front();
  return 1;
}

/// Of plans of all stages, the mean of which ranks compute.
static Speed measureSpeed(ArrayRef<PlanSummary> plans,
                          const zrt::Program &program, double seconds) {
  Speed speed;
  const zrt::Input *positions = findPositions(program);
  speed.unit = positions ? "token" : "sample";
  const int64_t each =
      positions ? positions->type.elements() : samplesOf(program);
  const double updates = program.training.accumulation / seconds;
  // Ranks that compute one model together share its samples.
  speed.units = static_cast<double>(each * program.sampleRanks()) /
                program.training.ranks * updates;
  for (const PlanSummary &plan : plans)
    speed.operations +=
        static_cast<double>(plan.work.products - plan.recomputed.products) *
        updates / static_cast<double>(plans.size());
  return speed;
}

/// The type that most of the operations are in.
static zrt::DataType computeTypeOf(ArrayRef<zrt::Program> programs) {
  std::array<double, zrt::kCountOf<zrt::DataType>> operations = {};
  for (const zrt::Program &program : programs)
    for (const zrt::KernelSpec &spec : program.kernels)
      operations[static_cast<int>(zrt::computeTypeOf(spec))] +=
          static_cast<double>(spec.flops);
  return zrt::kCasesOf<zrt::DataType>[static_cast<size_t>(
      std::max_element(operations.begin(), operations.end()) -
      operations.begin())];
}

Verdict mlir::zero::judge(const PlanSummary &plan, const Timeline &timeline,
                          const Machine &machine) {
  const zrt::Program &program = *timeline.program;
  const int64_t ranks = program.training.ranks;
  Verdict verdict;
  verdict.machine = machine;
  verdict.planned = plan.totalBytes();
  verdict.workspace = workspaceOn(machine, program);
  verdict.seconds = timeline.stepSeconds();
  verdict.speed = measureSpeed(plan, program, verdict.seconds);
  verdict.peak =
      machine.peakOf(computeTypeOf(program), machine.localRanks(ranks));
  verdict.shares = shareTime(timeline, machine);
  verdict.frameworks = findFrameworksOn(machine);
  if (verdict.frameworks)
    verdict.speedOfFrameworks = measureSpeed(
        plan, program,
        simulate(timeline.program, CostModel(*verdict.frameworks, ranks))
            .stepSeconds());
  return verdict;
}

Verdict mlir::zero::judgeStages(ArrayRef<PlanSummary> plans,
                                const std::vector<zrt::Program> &programs,
                                const StagesTimeline &timeline,
                                const Machine &machine) {
  const zrt::Program &program = programs.front();
  Verdict verdict;
  verdict.machine = machine;
  verdict.stages = static_cast<int64_t>(plans.size());
  // The largest stage is the one with most of both.
  for (const auto &[plan, stage] : llvm::zip_equal(plans, programs)) {
    const int64_t workspace = workspaceOn(machine, stage);
    if (plan.totalBytes() + workspace <= verdict.planned + verdict.workspace)
      continue;
    verdict.planned = plan.totalBytes();
    verdict.workspace = workspace;
  }
  verdict.seconds = timeline.seconds;
  verdict.speed = measureSpeed(plans, program, verdict.seconds);
  verdict.peak = machine.peakOf(computeTypeOf(programs),
                                machine.localRanks(program.training.ranks));
  verdict.shares = timeline.shares();
  verdict.frameworks = findFrameworksOn(machine);
  if (verdict.frameworks)
    verdict.speedOfFrameworks = measureSpeed(
        plans, program, simulateStages(programs, *verdict.frameworks).seconds);
  return verdict;
}

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

static std::string percent(double part) {
  return llvm::formatv("{0:f1} %", 100 * part);
}

/// "9,119 tokens a second and rank", with three digits where they are few.
static std::string describeSpeed(const Speed &speed) {
  std::string count = speed.units < 100
                          ? std::string(llvm::formatv("{0:f2}", speed.units))
                          : formatCount(std::llround(speed.units));
  return count + " " + speed.unit + "s a second and rank";
}

static std::string describeMemory(const Verdict &verdict) {
  const Machine &machine = verdict.machine;
  const std::string planned =
      formatBytes(verdict.planned) +
      (verdict.stages > 1 ? " planned in the largest stage" : " planned");
  if (!verdict.knowsMemory())
    return planned + "; the memory of " + machine.name + " is not known";
  const int64_t left = verdict.left();
  const std::string rest =
      "; " + formatBytes(std::abs(left)) + (left < 0 ? " too much" : " left");
  const std::string workspace =
      formatBytes(verdict.workspace) + " for the kernels' workspace";
  if (verdict.isOfBudget())
    return planned + (machine.hasDevices() ? " and " + workspace : "") +
           ", of a budget of " + formatBytes(machine.budget) + rest;
  return planned + (machine.hasDevices() ? ", " + workspace : "") + " and " +
         formatBytes(machine.reservedMemory) + " for contexts and NCCL, of " +
         formatBytes(machine.memory) + rest;
}

static std::string describeRate(const Verdict &verdict) {
  const double operations = verdict.speed.operations;
  const bool isLarge = operations >= 1e11;
  const double unit = isLarge ? 1e12 : 1e9;
  return llvm::formatv("{0:f1} {1} of {2:f1}, MFU {3}", operations / unit,
                       isLarge ? "TFLOP/s" : "GFLOP/s", verdict.peak / unit,
                       percent(verdict.utilization()));
}

static std::string describeShares(const TimeShares &shares) {
  std::string text;
  for (Limit limit : shares.inOrder()) {
    const double part = shares.of(limit) / shares.all();
    if (text.empty())
      text =
          (describeLimit(limit) + ", " + percent(part) + " of an update").str();
    else if (part >= 0.01)
      text += ("; " + describeLimit(limit) + " " + percent(part)).str();
  }
  return text.empty() ? "nothing: an update takes no time" : text;
}

static std::string describeError(const PublishedError &error) {
  return llvm::formatv("{1} on mean and {2} at most, beside {0} published runs",
                       error.runs, percent(error.mean), percent(error.worst));
}

static std::string describeMachine(const Machine &machine) {
  std::string text = machine.name;
  if (machine.isCeiling)
    text += " is a ceiling: what each kernel and link reaches alone";
  else if (machine.published.runs)
    text += " is what frameworks reach";
  else
    text += machine.source.empty() ? " is a file" : ": " + machine.source;
  if (machine.published.runs)
    text += "; its times are off by " + describeError(machine.published);
  return text;
}

std::string mlir::zero::describeVerdict(const Verdict &verdict) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << (!verdict.knowsMemory() ? "memory: "
         : verdict.fits()       ? "fits: "
                                : "does not fit: ")
     << describeMemory(verdict) << "\n"
     << (verdict.knowsMemory() && !verdict.fits()
             ? "to make it fit: zero-plan search, with the same options, tries "
               "other stages, buckets and recomputation\n"
             : "")
     << "speed: " << describeSpeed(verdict.speed) << ", "
     << describeRate(verdict) << "\n"
     << "bound by: " << describeShares(verdict.shares) << "\n"
     << "machine: " << describeMachine(verdict.machine) << "\n";
  if (verdict.frameworks)
    os << "beside it: " << describeMachine(*verdict.frameworks)
       << "; this schedule: " << describeSpeed(verdict.speedOfFrameworks)
       << "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeSpeed(llvm::json::OStream &json, StringRef name,
                       const Speed &speed) {
  json.attributeObject(name, [&] {
    json.attribute("unit", speed.unit);
    json.attribute("units_per_second_and_rank", speed.units);
    json.attribute("flops_per_second", speed.operations);
  });
}

static void writeError(llvm::json::OStream &json, const Machine &machine) {
  if (machine.published.runs == 0)
    return;
  json.attributeObject("published_runs", [&] {
    json.attribute("count", machine.published.runs);
    json.attribute("mean_error", machine.published.mean);
    json.attribute("worst_error", machine.published.worst);
  });
}

void mlir::zero::writeVerdict(llvm::json::OStream &json,
                              const Verdict &verdict) {
  json.attributeObject("verdict", [&] {
    if (verdict.knowsMemory()) {
      json.attribute("fits", verdict.fits());
      json.attribute("memory", verdict.machine.memory);
      if (verdict.machine.budget != 0)
        json.attribute("memory_budget", verdict.machine.budget);
      json.attribute("workspace_memory", verdict.workspace);
      json.attribute("reserved_memory", verdict.machine.reservedMemory);
    }
    writeSpeed(json, "speed", verdict.speed);
    json.attribute("mfu", verdict.utilization());
    json.attributeObject("shares", [&] {
      for (Limit limit : verdict.shares.inOrder())
        json.attribute(describeLimit(limit),
                       verdict.shares.of(limit) / verdict.shares.all());
    });
    json.attribute("is_ceiling", verdict.machine.isCeiling);
    writeError(json, verdict.machine);
    if (verdict.frameworks)
      json.attributeObject("frameworks", [&] {
        json.attribute("machine", verdict.frameworks->name);
        writeSpeed(json, "speed", verdict.speedOfFrameworks);
        writeError(json, *verdict.frameworks);
      });
  });
}
