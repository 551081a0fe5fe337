// One run: the ranks of this process, from start to summary.
#ifndef ZERO_RUNTIME_TRAINER_RUN_H
#define ZERO_RUNTIME_TRAINER_RUN_H

#include "trainer/Options.h"

#include <iosfwd>
#include <string>

namespace zrt {

class FileSystem;

/// The resources that the ranks of a process share; all borrowed.
struct Run {
  const Program &program;
  const Options &options;
  const GeneratedKernel *generated = nullptr;
  int64_t generatedCount = 0;
  BackendMaker makeBackend; ///< called by all ranks at once
  std::ostream &out;        ///< progress and summary
  std::ostream &errors;
  bool terminal = false; ///< `out` is one
  bool isForDevice = false;
  FileSystem *files = nullptr; ///< that checkpoints are written to; null: disk
  /// Before the paths of files that tell what memory is left.
  std::string memoryRoot = {};
  /// Why this machine has no memory for the copies that checkpoints are written
  /// from; empty: it has.
  std::string lackForCopies = {};
  /// The programs of all stages of a pipeline; null: `program` is the only one.
  const std::vector<Program> *stages = nullptr;
  bool prefersProcesses = false;             ///< as `EmbeddedProgram` has it
  WorkspaceMeter measureWorkspace = nullptr; ///< as `EmbeddedProgram` has it
  /// The recorder of the rank; null: its operations are not recorded.
  FlightRecorder *flight = nullptr;
  Faults *faults = nullptr; ///< of the rank; null: none is injected

  /// The run of one rank, with the program of its stage.
  Run forRank(int64_t rank) const {
    return {stages ? (*stages)[stageOf(*stages, rank)] : program,
            options,
            generated,
            generatedCount,
            makeBackend,
            out,
            errors,
            terminal,
            isForDevice,
            files,
            memoryRoot,
            lackForCopies,
            stages,
            prefersProcesses,
            measureWorkspace};
  }

  /// Prints one line, whichever of the ranks' threads it comes from.
  void remark(const std::string &what) const;

  BackendSetup setup() const {
    return {program,
            options,
            generated,
            generatedCount,
            flight,
            faults,
            [this](const std::string &what) { remark(what); }};
  }
};

/// Trains, evaluates, saves and samples as the options say: one thread a rank,
/// or this process's rank under a launcher of MPI. Returns the exit code: 0,
/// also after a stop by a signal; 1 when a rank failed, which stops the others
/// and names the rank in `errors`, or when the machine has less memory than its
/// ranks would take; 2 when the launcher's process count is not
/// the compiled rank count.
int launch(const Run &run);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_RUN_H
