#include "trainer/TrainerMain.h"

#include "checkpoint/Shard.h"
#include "communicator/Mpi.h"
#include "communicator/Processes.h"
#include "kernels/TeamWaits.h"
#include "program/ByteCount.h"
#include "report/Report.h"
#include "trainer/Run.h"
#include "trainer/StandardStreams.h"

#include <functional>
#include <iostream>
#include <new>
#include <unistd.h>

using namespace zrt;

namespace {

constexpr int kFailed = 1, kWrongUsage = 2;

/// The stages with the loss scale that the caller gives.
std::vector<Program> withLossScale(std::vector<Program> stages, double scale) {
  for (Program &stage : stages) {
    stage.training.lossScale.kind = LossScaleKind::Static;
    stage.training.lossScale.initial = scale;
  }
  return stages;
}

/// Prints what `print` says of each stage, under its number where there are
/// several.
void printStages(const std::vector<Program> &stages, std::ostream &out,
                 const std::function<void(const Program &)> &print) {
  for (const Program &stage : stages) {
    if (stages.size() > 1)
      out << (&stage == &stages.front() ? "" : "\n") << "pipeline stage "
          << stage.pipeline.stage << " of " << stages.size() << "\n";
    print(stage);
  }
}

/// Refuses what the stages of a pipeline do not do together.
void checkForStages(const Options &options) {
  const std::pair<bool, const char *> given[] = {
      {options.action == Options::Action::Calibrate, "--calibrate"},
      {!options.dump.empty(), "--dump"}};
  for (const auto &[isGiven, name] : given)
    if (isGiven)
      throw UsageError(std::string(name) +
                       " does not work where a model is cut into stages; save "
                       "the weights (--save-weights), and compile it with "
                       "'pipe' of 1 rank for this");
}

int act(const Options &options, const std::vector<Program> &stages,
        const EmbeddedProgram &embedded, const BackendMaker &makeBackend,
        std::ostream &out, std::ostream &errors) {
  switch (options.action) {
  case Options::Action::Help:
    out << options.help;
    return 0;
  case Options::Action::Schedule:
    printStages(stages, out,
                [&](const Program &stage) { printSchedule(stage, out); });
    return 0;
  case Options::Action::Memory:
    printStages(stages, out, [&](const Program &stage) {
      printMemory(stage, out);
      if (embedded.measureWorkspace)
        out << "the kernels' workspace: "
            << formatBytes(embedded.measureWorkspace(
                   {stage, options, embedded.kernels, embedded.kernelCount},
                   int(stage.training.ranks)))
            << "\n";
      out << "with --checkpoint-every, besides: "
          << formatBytes(ShardCopy::bytesOf(stage))
          << " of host memory for a copy of the state\n";
    });
    return 0;
  case Options::Action::Info:
    printStages(stages, out,
                [&](const Program &stage) { printInfo(stage, out); });
    if (!embedded.attention.empty())
      out << "attention      " << embedded.attention << "\n";
    out << "thread waits   " << describeWaits() << "\n";
    out << "MPI            " << describeMpi() << "\n";
    return 0;
  case Options::Action::Train:
  case Options::Action::Calibrate:
    break;
  }
  // Launchers give each rank a terminal of its own, whose text may go to a
  // file: there, lines are not drawn over.
  const bool terminal =
      &out == &std::cout && ::isatty(STDOUT_FILENO) && !areRanksProcesses();
  const Run run{stages.front(),
                options,
                embedded.kernels,
                embedded.kernelCount,
                makeBackend,
                out,
                errors,
                terminal,
                embedded.isForDevice,
                embedded.files,
                embedded.memoryRoot,
                /*lackForCopies=*/"",
                stages.size() > 1 ? &stages : nullptr,
                embedded.prefersProcesses,
                embedded.measureWorkspace};
  return launch(run);
}

} // namespace

int zrt::runTrainer(int argc, char **argv, const Program &program,
                    const EmbeddedProgram &embedded,
                    const BackendMaker &makeBackend, std::ostream &out,
                    std::ostream &errors) {
  return runTrainer(argc, argv, std::vector<Program>{program}, embedded,
                    makeBackend, out, errors);
}

int zrt::runTrainer(int argc, char **argv, const std::vector<Program> &stages,
                    const EmbeddedProgram &embedded,
                    const BackendMaker &makeBackend, std::ostream &out,
                    std::ostream &errors) {
  try {
    const Options options =
        parseOptions(argc, argv, stages.front(), embedded.isForDevice);
    if (stages.size() > 1)
      checkForStages(options);
    if (options.lossScale == 0)
      return act(options, stages, embedded, makeBackend, out, errors);
    return act(options, withLossScale(stages, options.lossScale), embedded,
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
  std::vector<Program> stages;
  std::string reason;
  if (!parseStages(embedded.bytes, size_t(embedded.size), stages, reason)) {
    std::cerr << "error: the program in this executable: " << reason
              << std::endl;
    return kFailed;
  }
  return finishOutput(runTrainer(argc, argv, stages, embedded, makeBackend,
                                 std::cout, std::cerr),
                      std::cout, std::cerr);
}
