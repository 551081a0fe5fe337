//===- MachineFit.cpp - a machine's figures from whole updates ------------===//

#include "MachineFit.h"

#include "zero/Timeline/Timeline.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::zero;

/// Micro-batches that are simulated: the first, one of those between, the last.
static constexpr int32_t kSimulated = 3;

double mlir::zero::predictUpdate(std::shared_ptr<const zrt::Program> program,
                                 const Machine &machine) {
  const int32_t all = program->training.accumulation;
  if (all > kSimulated) {
    auto fewer = std::make_shared<zrt::Program>(*program);
    fewer->training.accumulation = kSimulated;
    program = std::move(fewer);
  }
  CostModel model(machine, program->training.ranks);
  Timeline timeline = simulate(program, model);
  if (all <= kSimulated)
    return timeline.stepSeconds();
  // When compute came to the second micro-batch, and to the last.
  double begins[kSimulated];
  std::fill(std::begin(begins), std::end(begins), timeline.end);
  for (const TimelineEvent &event : timeline.events)
    if (event.update == 1 && event.region == TimedRegion::Micro)
      begins[event.micro] = std::min(begins[event.micro], event.issued);
  return timeline.stepSeconds() +
         (all - kSimulated) * (begins[kSimulated - 1] - begins[1]);
}

namespace {

/// A figure that is fitted: where it stands, what it is when it is not given,
/// and its range. Its logarithm is what a step changes; `scale` is added
/// before, so that a figure that may be `least` has one.
struct FittedFigure {
  double Machine::*figure;
  double least, most, scale;
};

constexpr FittedFigure kFigures[] = {
    {&Machine::productEfficiency, 0.01, 1, 0},
    {&Machine::productPadding, 0, 4096, 128},
    {&Machine::attentionEfficiency, 0.01, 1, 0},
    {&Machine::bandwidthEfficiency, 0.01, 1, 0},
    {&Machine::linkEfficiency, 0.01, 1, 0},
    {&Machine::overlapSlowdown, 1, 10, -0.9},
    {&Machine::kernelOverhead, 0, 1e-3, 5e-6},
};

SmallVector<double> toPoint(Machine machine) {
  for (double Machine::*figure :
       {&Machine::productEfficiency, &Machine::attentionEfficiency})
    if (machine.*figure == 0)
      machine.*figure = machine.flopsEfficiency;
  SmallVector<double> point;
  for (const FittedFigure &row : kFigures)
    point.push_back(std::log(machine.*row.figure + row.scale));
  return point;
}

Machine toMachine(const Machine &start, ArrayRef<double> point) {
  Machine machine = start;
  for (auto [row, value] : llvm::zip_equal(kFigures, point))
    machine.*row.figure =
        std::clamp(std::exp(value) - row.scale, row.least, row.most);
  return machine;
}

} // namespace

Machine mlir::zero::fitMachine(const Machine &start, ArrayRef<TimedRun> runs) {
  // A figure that is e times another costs as much as a run that is 2 % off.
  constexpr double kPull = 0.02;
  SmallVector<double> first = toPoint(start);
  auto residuals = [&](ArrayRef<double> point) {
    Machine machine = toMachine(start, point);
    std::vector<double> values;
    for (const TimedRun &run : runs)
      values.push_back(
          std::log(predictUpdate(run.program, machine) / run.seconds));
    for (auto [value, origin] : llvm::zip_equal(point, first))
      values.push_back(kPull * (value - origin));
    return values;
  };
  return toMachine(start,
                   mlir::zero::detail::minimizeSquares(first, residuals));
}
