#include "trainer/TrainerMain.h"

#include "checkpoint/Shard.h"
#include "communicator/Mpi.h"
#include "program/ByteCount.h"
#include "report/Report.h"
#include "trainer/Run.h"
#include "trainer/StandardStreams.h"

#include <iostream>
#include <new>
#include <unistd.h>

using namespace zrt;

namespace {

constexpr int kFailed = 1, kWrongUsage = 2;

/// `program` with the loss scale that the caller gives.
Program withLossScale(const Program &program, double scale) {
  Program scaled = program;
  scaled.training.lossScale.kind = LossScaleKind::Static;
  scaled.training.lossScale.initial = scale;
  return scaled;
}

int act(const Options &options, const Program &program,
        const EmbeddedProgram &embedded, const BackendMaker &makeBackend,
        std::ostream &out, std::ostream &errors) {
  switch (options.action) {
  case Options::Action::Help:
    out << options.help;
    return 0;
  case Options::Action::Schedule:
    printSchedule(program, out);
    return 0;
  case Options::Action::Memory:
    printMemory(program, out);
    out << "with --checkpoint-every, besides: "
        << formatBytes(ShardCopy::bytesOf(program))
        << " of host memory for a copy of the state\n";
    return 0;
  case Options::Action::Info:
    printInfo(program, out);
    if (!embedded.attention.empty())
      out << "attention      " << embedded.attention << "\n";
    return 0;
  case Options::Action::Train:
  case Options::Action::Calibrate:
    break;
  }
  // Launchers of MPI give each rank a terminal of its own, whose text may go
  // to a file: there, lines are not drawn over.
  const bool terminal =
      &out == &std::cout && ::isatty(STDOUT_FILENO) && !launchedUnderMpi();
  const Run run{program,
                options,
                embedded.kernels,
                embedded.kernelCount,
                makeBackend,
                out,
                errors,
                terminal,
                embedded.isForDevice,
                embedded.files,
                embedded.memoryRoot};
  return launch(run);
}

} // namespace

int zrt::runTrainer(int argc, char **argv, const Program &program,
                    const EmbeddedProgram &embedded,
                    const BackendMaker &makeBackend, std::ostream &out,
                    std::ostream &errors) {
  try {
    const Options options =
        parseOptions(argc, argv, program, embedded.isForDevice);
    if (options.lossScale == 0)
      return act(options, program, embedded, makeBackend, out, errors);
    return act(options, withLossScale(program, options.lossScale), embedded,
               makeBackend, out, errors);
  } catch (const UsageError &error) {
    errors << "error: " << error.what() << std::endl;
    return kWrongUsage;
  } catch (const std::bad_alloc &) {
    errors << "error: there is not enough memory to start" << std::endl;
    return kFailed;
  } catch (const std::exception &error) {
    errors << "error: " << error.what() << std::endl;
    return kFailed;
  }
}

int zrt::trainerMain(int argc, char **argv, const EmbeddedProgram &embedded,
                     const BackendMaker &makeBackend) {
  prepareStandardStreams();
  Program program;
  std::string reason;
  if (!parse(embedded.bytes, size_t(embedded.size), program, reason)) {
    std::cerr << "error: the program in this executable: " << reason
              << std::endl;
    return kFailed;
  }
  return finishOutput(runTrainer(argc, argv, program, embedded, makeBackend,
                                 std::cout, std::cerr),
                      std::cout, std::cerr);
}
