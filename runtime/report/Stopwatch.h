// How long each command of a program takes, over several updates.
#ifndef ZERO_RUNTIME_REPORT_STOPWATCH_H
#define ZERO_RUNTIME_REPORT_STOPWATCH_H

#include "engine/Backend.h"

namespace zrt {

/// One command of an update, in the order in which they ran.
struct TimedCommand {
  const Command *command = nullptr;
  double seconds = 0;
};

/// Runs updates and times their commands. Of ranks of one thread each, what
/// counts is the time that a command computes, times the ranks that share a
/// core: when a thread gets a core is chance, and no fault of the command. With
/// more threads a rank, and of waits where each rank has a core, it is the time
/// on the clock. A device measures its own times.
class Stopwatch {
public:
  /// `threads` of each of `localRanks` ranks share `cores` cores. All
  /// references are borrowed.
  Stopwatch(const Program &program, Backend &backend,
            Communicator &communicator, int threads, int localRanks, int cores);

  /// Runs updates for about `seconds`, a few at least, and returns the median
  /// time of each command. All ranks call it.
  std::vector<TimedCommand> run(const FillMicro &fill, double seconds);

private:
  Executor::CommandHook hook();
  /// Fills `current`; returns the seconds of the update.
  double runOnce(const FillMicro &fill);
  int64_t agree(int64_t value);
  std::vector<TimedCommand> medians() const;

  const Program &program;
  Backend &backend;
  Communicator &communicator;
  bool countsComputing;
  double load;                       ///< busy threads for each core, 1 at least
  std::vector<TimedCommand> current; ///< update
  double computed = 0; ///< by this thread, when the last command ended
  std::vector<std::vector<TimedCommand>> samples; ///< by update
};

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_STOPWATCH_H
