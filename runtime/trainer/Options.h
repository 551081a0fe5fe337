// The flags of a compiled training executable.
#ifndef ZERO_RUNTIME_TRAINER_OPTIONS_H
#define ZERO_RUNTIME_TRAINER_OPTIONS_H

#include "engine/Backend.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace zrt {

/// Flags that do not fit together, or not the program: exit code 2.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct Options : BackendOptions {
  enum class Action { Train, Calibrate, Schedule, Memory, Info, Help };
  Action action = Action::Train;
  std::string help; ///< the text, where `action` is `Help`

  std::string data, validationData;
  std::string dataFormat; ///< of both; empty: by name
  double validationFraction = 0.05;
  int64_t steps = -1; ///< updates; negative: not given
  uint64_t seed = 0;
  double lossScale = 0;         ///< in every update; 0: as compiled
  uint64_t deviceMemory = 0;    ///< most bytes of a rank's device tier; 0: any
  std::string ranksAs = "auto"; ///< or "threads", "processes"
  /// Seconds without any progress until it says whom it waits for; 0: never.
  double noticeAfter = 10;
  /// The folder in which the folder of a run's records is made; empty: in
  /// memory.
  std::string flight;
  std::vector<FaultSpec> faults; ///< to inject
  bool fromScratch = false; ///< from new values, although there are weights
  std::string weights, saveWeights, saveOutputs, metrics, trace;
  std::string tensorboard;       ///< the folder of event files
  std::vector<std::string> dump; ///< parameters to write
  std::string dumpFile;
  int64_t dumpUpdate = 0;      ///< the update after which; 0: the last
  std::string checkpoint;      ///< the folder
  int64_t checkpointEvery = 0; ///< updates between checkpoints; 0: at the end
  int64_t keep = 0;            ///< newest checkpoints that stay; 0: all
  bool resume = false;
  int64_t selfCheck = 0; ///< updates from one that is checked to the next
  int64_t restarts = 0;  ///< most times that a run that fails is started again
  int64_t traceFirst = 0, traceLast = 0; ///< updates of the trace, from 1;
                                         ///< 0: the first ones of the run
  std::string calibrate;                 ///< the machine file to write
  int64_t evalEvery = 0; ///< updates between evaluations; 0: none
  int64_t evalBatches = 10;
  int64_t sample = 0; ///< tokens to generate after training
  std::string prompt;
  double temperature = 1.0;

  int64_t repeatGraph = 0; ///< launches of a device, after training; 0: none
};

/// The most threads of a rank: many more than there are cores only wait for
/// each other.
int mostThreads();

/// Why a run of `program` must not start from new values, or "".
std::string refuseNewValues(const Options &options, const Program &program);

/// Parses the command line and checks it against the program. Throws
/// UsageError with one sentence. The flags of a device are there only where the
/// program is for one.
Options parseOptions(int argc, char **argv, const Program &program,
                     bool isForDevice = false);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_OPTIONS_H
