//===- Fit.cpp - a machine fitted to published runs -----------------------===//

#include "Fit.h"

#include "../Output.h"
#include "MachineFit.h"
#include "PlannedRuns.h"

#include <set>

using namespace mlir;
using namespace mlir::zero;

static std::vector<TimedRun> timesOf(ArrayRef<PlannedRun> runs) {
  std::vector<TimedRun> times;
  for (const PlannedRun &run : runs)
    times.push_back({run.program, run.run.seconds()});
  return times;
}

/// Fits without the runs of each value of `key`, in turn, and predicts these.
/// A value of more than half of the runs stays: the others do not say enough.
template <typename Key>
static ErrorSummary leaveOut(const Machine &machine, ArrayRef<PlannedRun> runs,
                             Key key) {
  std::set<decltype(key(runs.front().run))> values;
  for (const PlannedRun &run : runs)
    values.insert(key(run.run));
  ErrorSummary summary;
  for (const auto &value : values) {
    std::vector<PlannedRun> kept, left;
    for (const PlannedRun &run : runs)
      (key(run.run) == value ? left : kept).push_back(run);
    if (left.size() > kept.size())
      continue;
    Machine fitted = fitMachine(machine, timesOf(kept));
    for (const PlannedRun &run : left)
      summary.add(predictUpdate(run.program, fitted) / run.run.seconds() - 1);
  }
  return summary;
}

LogicalResult mlir::zero::fitRuns(const FitRequest &request) {
  FailureOr<Machine> start = findMachine(request.machine);
  if (failed(start) || failed(checkWritable(request.output)))
    return failure();
  auto runs = readPublishedRuns(request.runs, start->name);
  if (failed(runs))
    return failure();
  Machine machine = *start;
  machine.name = (StringRef(start->name).split('-').first + "-fitted").str();
  machine.source = start->source +
                   "; efficiencies, overlap slowdown and "
                   "kernel overhead fitted to " +
                   std::to_string(runs->size()) + " published runs";
  // When gathers start depends on the machine, so what was fitted is planned
  // for and fitted once more.
  constexpr int kRounds = 2;
  std::string planFor = request.machine;
  FailureOr<std::vector<PlannedRun>> planned = failure();
  for (int round = 0; round < kRounds; ++round) {
    planned = planRuns(*runs, planFor, request.pipeline);
    if (failed(planned))
      return failure();
    Machine fitted = fitMachine(*start, timesOf(*planned));
    fitted.name = machine.name;
    fitted.source = machine.source;
    machine = fitted;
    if (failed(writeJsonFile(request.output, [&](llvm::json::OStream &json) {
          writeMachine(json, machine);
        })))
      return failure();
    planFor = request.output;
  }
  LeftOut leftOut = {
      {"model", leaveOut(*start, *planned,
                         [](const PublishedRun &run) {
                           return std::make_pair(run.shape.layers,
                                                 run.shape.width);
                         })},
      {"number of GPUs",
       leaveOut(*start, *planned,
                [](const PublishedRun &run) { return run.gpus; })}};
  planned = planRuns(*runs, request.output, request.pipeline);
  if (failed(planned))
    return failure();
  return reportRuns(request.json, machine, *planned, leftOut);
}
