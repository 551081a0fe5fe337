// The main function of a compiled training executable.
#ifndef ZERO_RUNTIME_TRAINER_TRAINERMAIN_H
#define ZERO_RUNTIME_TRAINER_TRAINERMAIN_H

#include "engine/Backend.h"

#include <iosfwd>
#include <string>

namespace zrt {

class FileSystem;

/// The program and kernels that the compiler put into the executable.
struct EmbeddedProgram {
  const unsigned char *bytes = nullptr; ///< of `serialize`
  int64_t size = 0;
  const GeneratedKernel *kernels = nullptr;
  int64_t kernelCount = 0;
  bool isForDevice = false; ///< it has the flags of a device
  /// Ranks are processes where nothing is said: of a library that several
  /// threads of one process are not safe with.
  bool prefersProcesses = false;
  std::string attention; ///< who computes it, where there is a choice
  /// Null for a device, which the kernels' workspace is in.
  WorkspaceMeter measureWorkspace = nullptr;
  // For tests, as those of `Run`.
  FileSystem *files = nullptr;
  std::string memoryRoot = {};
};

/// Everything that the executable does. Returns its exit code: 0; 1 when the
/// run failed; 2 when a flag is unknown, contradicts another, or does not fit
/// the program. Errors go to stderr, one line each.
int trainerMain(int argc, char **argv, const EmbeddedProgram &embedded,
                const BackendMaker &makeBackend);

/// Runs the trainer with a parsed program and other streams.
int runTrainer(int argc, char **argv, const Program &program,
               const EmbeddedProgram &embedded, const BackendMaker &makeBackend,
               std::ostream &out, std::ostream &errors);
/// Runs the trainer with the stages of one model, of which each rank runs one.
int runTrainer(int argc, char **argv, const std::vector<Program> &stages,
               const EmbeddedProgram &embedded, const BackendMaker &makeBackend,
               std::ostream &out, std::ostream &errors);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_TRAINERMAIN_H
