//===- Timeline.h - when each command of a plan runs ----------------------===//
//
// A planned schedule on a machine, without running it: the commands of its
// program, at the times that the cost model gives them.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TIMELINE_TIMELINE_H
#define ZERO_TIMELINE_TIMELINE_H

#include "zero/Cost/CostModel.h"

#include "mlir/IR/BuiltinOps.h"

#include "program/Program.h"

#include <memory>
#include <vector>

namespace mlir::zero {

/// The regions of a program that an update runs.
enum class TimedRegion { Micro, Apply };

/// A command of the timeline; times in seconds from the timeline's begin. A
/// wait is on the compute stream and lasts while that does nothing.
struct TimelineEvent {
  const zrt::Command *command = nullptr;
  /// The command that a wait is for.
  const zrt::Command *started = nullptr;
  zrt::Stream stream = zrt::Stream::Compute;
  TimedRegion region = TimedRegion::Micro;
  int64_t update = 0, micro = 0;
  double begin = 0, end = 0;
  /// When compute came to the command.
  double issued = 0;
  /// The operations of a kernel, and the bytes that a kernel moves or a
  /// collective spans.
  uint64_t flops = 0, bytes = 0;

  bool isWait() const { return command->opcode == zrt::Opcode::Wait; }
  /// A wait, or a collective on the compute stream itself.
  bool holdsUpCompute() const {
    return stream == zrt::Stream::Compute &&
           command->opcode != zrt::Opcode::Kernel;
  }
  /// "file.mlir:12:8", or "".
  StringRef getLocation() const { return command->location; }
};

/// Two updates of one rank from a cold start. A run repeats the second one: it
/// includes operations that the first left running.
struct Timeline {
  std::shared_ptr<const zrt::Program> program;
  /// In the order in which they begin.
  std::vector<TimelineEvent> events;
  /// The seconds at which the second update begins and ends.
  double begin = 0, end = 0;
  /// Seconds of the second update in which compute waited, and in which each
  /// stream worked.
  double exposed = 0;
  std::array<double, zrt::kCountOf<zrt::Stream>> busy = {};

  double stepSeconds() const { return end - begin; }
};

/// The ranks of a group of the program, as `machine` sees them.
GroupSpan spanOf(const zrt::Program &program, uint32_t group,
                 const Machine &machine);

/// Runs `program` on `model`'s machine. A collective begins after every command
/// before it on the compute stream and on its own, and shares the links with
/// those that run at the same time; a wait lasts until its start is done; a
/// wait for what was not started does nothing. Where the machine works at the
/// wait, the collective is done there.
Timeline simulate(std::shared_ptr<const zrt::Program> program,
                  const CostModel &model);

/// Simulates one run of a region of `program` by itself. Transfers between
/// stages of a pipeline take no time here.
Timeline measureRegion(std::shared_ptr<const zrt::Program> program,
                       const zrt::Region &region, const CostModel &model);

/// Simulates a module that went through `zero-plan-memory`. Fails, with a
/// message at the operation, if it cannot be translated to a program.
FailureOr<Timeline> simulate(ModuleOp plannedModule, const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_TIMELINE_TIMELINE_H
