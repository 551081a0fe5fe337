#include "trainer/Run.h"

#include "communicator/InProcess.h"
#include "communicator/Mpi.h"
#include "state/Weights.h"
#include "trainer/Calibrate.h"
#include "trainer/Outputs.h"
#include "trainer/RankRun.h"
#include "trainer/Signals.h"

#include <cstdlib>
#include <mutex>
#include <optional>
#include <ostream>
#include <thread>

using namespace zrt;

namespace {

/// The first failure of a process: what comes later follows from it.
class Failure {
public:
  void record(const std::string &message) {
    std::lock_guard<std::mutex> lock(mutex);
    if (text.empty())
      text = message;
  }
  const std::string &message() const { return text; }

private:
  std::mutex mutex;
  std::string text;
};

Data openRunData(const Run &run) {
  const Options &options = run.options;
  if (options.data.empty())
    return {};
  DataOptions dataOptions;
  dataOptions.path = options.data;
  dataOptions.validationPath = options.validationData;
  dataOptions.validationFraction = options.validationFraction;
  dataOptions.seed = options.seed;
  Data data = openData(dataOptions, run.program.inputs);
  if (options.evalEvery > 0 && !data.validation)
    throw std::runtime_error(data.noValidation);
  return data;
}

void runRank(const Run &run, const Data &data, Communicator &communicator,
             int localRanks, Failure &failure) {
  try {
    if (run.options.action == Options::Action::Calibrate)
      calibrate(run, communicator, localRanks);
    else
      RankRun(run, data, communicator, localRanks).execute();
  } catch (const PeerError &error) {
    failure.record(error.what());
    communicator.abort(error.what());
  } catch (const std::exception &error) {
    const std::string who =
        communicator.ranks() > 1
            ? "rank " + std::to_string(communicator.rank()) + ": "
            : "";
    failure.record(who + error.what());
    communicator.abort(error.what());
  }
}

int finish(const Run &run, const Failure &failure) {
  if (failure.message().empty())
    return 0;
  run.out << std::flush;
  run.errors << "error: " << failure.message() << std::endl;
  return 1;
}

int launchThreads(const Run &run) {
  const Data data = openRunData(run);
  const int ranks = run.program.training.ranks;
  const auto communicators = makeInProcess(ranks);
  Failure failure;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      runRank(run, data, *communicators[size_t(rank)], ranks, failure);
    });
  for (std::thread &thread : threads)
    thread.join();
  return finish(run, failure);
}

/// Ranks of this job on this machine, as the launcher reports.
int localRanksOfJob(int ranks) {
  for (const char *name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                           "PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"})
    if (const char *value = std::getenv(name))
      if (const int count = std::atoi(value); count > 0)
        return count;
  return ranks;
}

int launchProcess(const Run &run) {
  const std::unique_ptr<Communicator> communicator = makeMpi();
  const int ranks = run.program.training.ranks;
  if (communicator->ranks() != ranks) {
    if (communicator->rank() == 0)
      run.errors << "error: launched with " << communicator->ranks()
                 << " processes, but this program was compiled for " << ranks
                 << " ranks: launch " << ranks
                 << ", or compile it again with zero-compile "
                 << (run.program.mesh.axes.empty()
                         ? "--ranks " + std::to_string(communicator->ranks())
                         : "--mesh, now " + run.program.mesh.text())
                 << std::endl;
    return 2;
  }
  Failure failure;
  Data data;
  std::string error;
  try {
    data = openRunData(run);
  } catch (const std::exception &problem) {
    error = problem.what();
  }
  try {
    failTogether(*communicator, error);
  } catch (const std::exception &problem) {
    if (communicator->rank() == 0)
      failure.record(problem.what());
    finish(run, failure);
    return 1;
  }
  runRank(run, data, *communicator, localRanksOfJob(ranks), failure);
  return finish(run, failure);
}

} // namespace

int zrt::launch(const Run &run) {
  checkOutputs(run.options);
  // Before any thread: threads inherit what is blocked. A calibration leaves
  // nothing behind that a clean stop would save.
  std::optional<StopSignals> signals;
  if (run.options.action == Options::Action::Train)
    signals.emplace();
  return launchedUnderMpi() ? launchProcess(run) : launchThreads(run);
}
