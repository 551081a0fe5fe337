#include "trainer/Run.h"

#include "checkpoint/FaultyDisk.h"
#include "checkpoint/Shard.h"
#include "communicator/FaultyCommunicator.h"
#include "communicator/InProcess.h"
#include "communicator/Launcher.h"
#include "communicator/Processes.h"
#include "communicator/Sockets.h"
#include "communicator/WatchedCommunicator.h"
#include "engine/Failure.h"
#include "engine/MachineMemory.h"
#include "io/ErrorText.h"
#include "io/Together.h"
#include "program/ByteCount.h"
#include "report/Calibrate.h"
#include "state/Weights.h"
#include "trainer/Outputs.h"
#include "trainer/RankEnds.h"
#include "trainer/RankRun.h"
#include "trainer/RunFlight.h"
#include "trainer/Signals.h"
#include "trainer/StartProcesses.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <thread>

using namespace zrt;

namespace {

Data openRunData(const Run &run) {
  const Options &options = run.options;
  if (options.data.empty())
    return {};
  DataOptions dataOptions;
  dataOptions.path = options.data;
  dataOptions.validationPath = options.validationData;
  dataOptions.validationFraction = options.validationFraction;
  dataOptions.seed = options.seed;
  dataOptions.format = options.dataFormat;
  dataOptions.ranks = int(run.program.sampleRanks());
  Data data = openData(dataOptions, run.program);
  if ((options.evalEvery > 0 || !options.saveOutputs.empty()) &&
      !data.validation)
    throw std::runtime_error(data.noValidation);
  return data;
}

/// Bytes of host memory of a rank; of several stages, the mean.
uint64_t bytesOf(const Run &run,
                 const std::function<uint64_t(const Program &)> &measure) {
  if (!run.stages)
    return measure(run.program);
  uint64_t sum = 0;
  for (const Program &stage : *run.stages)
    if (__builtin_add_overflow(sum, measure(stage), &sum))
      return UINT64_MAX;
  return (sum + run.stages->size() - 1) / run.stages->size();
}

/// Bytes of the arenas and of what the kernels compute in, where ranks share
/// the machine with `localRanks` in all.
uint64_t hostBytesOf(const Run &run, int localRanks) {
  return bytesOf(run, [&](const Program &program) {
    return hostBytesOf(
        {program, run.options, run.generated, run.generatedCount},
        run.isForDevice, run.measureWorkspace, localRanks);
  });
}

/// Throws where the ranks would need more than this machine has. On all ranks
/// of it before any of them takes something.
void checkMemory(const Run &run, const LocalRanks &ranks) {
  if (run.options.action != Options::Action::Train || run.options.overcommit)
    return;
  const std::string lack = lackOfMemory(hostBytesOf(run, ranks.ofMachine),
                                        ranks, memoryLimits(run.memoryRoot));
  if (!lack.empty())
    throw std::runtime_error(lack);
}

/// `run`, with the reason why checkpoints are not written from copies, where
/// there is one.
Run withCopies(const Run &run, const LocalRanks &ranks) {
  Run result = run;
  uint64_t bytes = 0;
  if (run.options.action != Options::Action::Train || run.options.overcommit ||
      run.options.checkpointEvery == 0)
    return result;
  if (__builtin_add_overflow(hostBytesOf(run, ranks.ofMachine),
                             bytesOf(run, ShardCopy::bytesOf), &bytes))
    bytes = UINT64_MAX;
  result.lackForCopies =
      describeLack(bytes, ranks, memoryLimits(run.memoryRoot));
  return result;
}

/// What the ranks of a process have in common.
struct Shared {
  const Run &run;
  const Data &data;
  RunFlight &flight;
  Failure &failure;
  RankEnds &ends;
  bool isProcess; ///< each is one
};

/// Whose record it is.
FlightOwner ownerOf(const Run &run, int rank) {
  return {rank, int(run.program.training.ranks),
          run.stages ? int(stageOf(*run.stages, rank)) : 0, run.program.name};
}

void runOn(const Run &run, const Shared &shared, Communicator &communicator,
           int localRanks) {
  // Where it fails, its memory stays until it has aborted: peers may still read
  // what it has started to send.
  std::unique_ptr<RankRun> rank;
  try {
    if (run.options.action == Options::Action::Calibrate) {
      calibrate({run.setup(), run.makeBackend, run.options.seed,
                 run.options.calibrate, run.out},
                communicator, localRanks);
      return shared.flight.end(run.flight);
    }
    rank =
        std::make_unique<RankRun>(run, shared.data, communicator, localRanks);
    rank->execute();
    shared.flight.end(run.flight);
  } catch (const std::exception &error) {
    shared.flight.fail(run.flight,
                       !dynamic_cast<const CommunicationError *>(&error));
    shared.failure.record(error, communicator);
    shared.ends.noteFailure();
    // Here, unless MPI has ended the process. Last: what ends for a peer is an
    // error there, which has a cause now. Before the memory goes: a device
    // releases none that is waited for with.
    if (rank)
      rank->giveUp();
  }
}

/// The same with faults in what the rank does.
void runFaulty(Run run, const Shared &shared, Communicator &communicator,
               int localRanks) {
  Faults faults(run.options.faults, communicator.rank(), shared.isProcess,
                [&](const std::string &what) { run.remark(what); });
  FaultyDisk disk(run.files ? *run.files : FileSystem::disk(), faults);
  FaultyCommunicator faulty(communicator, faults, run.flight);
  run.faults = &faults;
  run.files = &disk;
  runOn(run, shared, faulty, localRanks);
  for (const std::string &fault : faults.missing())
    run.remark("--inject " + fault +
               ": has not happened: the update had no such operation, "
               "or was not made");
}

/// A rank's run, on a communicator that writes down what is asked of it.
void runRank(const Shared &shared, Communicator &plain, int localRanks,
             FlightRecorder *record) {
  Run run = shared.run.forRank(plain.rank());
  run.flight = record;
  std::optional<WatchedCommunicator> watched;
  if (record)
    watched.emplace(plain, *record);
  Communicator &communicator = watched ? *watched : plain;
  if (run.options.faults.empty())
    runOn(run, shared, communicator, localRanks);
  else
    runFaulty(run, shared, communicator, localRanks);
  shared.ends.noteEnd();
}

/// While it lives, SIGQUIT has the records told.
class TellOnQuit {
public:
  explicit TellOnQuit(RunFlight &flight) {
    StopSignals::onQuit([&flight] { flight.tell(); });
  }
  ~TellOnQuit() { StopSignals::onQuit(nullptr); }
  TellOnQuit(const TellOnQuit &) = delete;
  TellOnQuit &operator=(const TellOnQuit &) = delete;
};

/// Why a thread does not start; its stack is memory, too.
std::string describeStart(const std::string &what,
                          const std::system_error &error) {
  return "cannot start " + what + ": " + error.code().message() +
         "; allow more threads (ulimit -u) or more memory (ulimit -v)";
}

int finish(const Run &run, const Failure &failure) {
  if (failure.message().empty())
    return 0;
  run.out << std::flush;
  run.errors << "error: " << failure.message() << std::endl;
  return 1;
}

/// Says whom the ranks wait for, while they go on waiting.
CommunicatorOptions communicatorOptions(const Run &run) {
  CommunicatorOptions options;
  options.timeoutSeconds = run.options.timeout;
  options.noticeSeconds = run.options.noticeAfter;
  options.notice = [&run](const std::string &what) {
    const std::string command = Executor::describeRunning();
    run.remark(command + (command.empty() ? "" : ": ") + what +
               "; the run goes on when it is there");
  };
  if (hasStarter())
    options.findLoss = findLossOfStarter;
  return options;
}

int launchThreads(const Run &asked) {
  const int ranks = asked.program.training.ranks;
  checkMemory(asked, {ranks, ranks});
  const Run run = withCopies(asked, {ranks, ranks});
  const Data data = openRunData(run);
  const auto communicators = makeInProcess(ranks, communicatorOptions(run));
  Failure failure;
  RunFlight flight(run.options.flight, randomTag(), run.errors);
  RankEnds ends(ranks);
  const Shared shared{run,
                      data,
                      flight,
                      failure,
                      ends,
                      /*isProcess=*/false};
  std::vector<FlightRecorder *> records;
  for (int rank = 0; rank < ranks; ++rank)
    records.push_back(flight.add(ownerOf(run, rank)));
  const TellOnQuit telling(flight);
  std::vector<std::thread> threads;
  threads.reserve(size_t(ranks));
  try {
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        runRank(shared, *communicators[size_t(rank)], ranks,
                records[size_t(rank)]);
      });
  } catch (const std::system_error &error) {
    const size_t rank = threads.size();
    const std::string reason =
        describeStart("the thread of rank " + std::to_string(rank) + " of " +
                          std::to_string(ranks),
                      error);
    failure.record(reason);
    for (size_t missing = rank; missing < records.size(); ++missing)
      flight.fail(records[missing], /*hasReason=*/true);
    communicators[rank]->abort(reason); // those that run wait for it
    ends.noteMissing(ranks - int(rank));
  }
  if (!ends.await()) {
    // A thread that hangs cannot be ended by itself, nor what it uses.
    finish(run, failure);
    std::_Exit(1);
  }
  for (std::thread &thread : threads)
    thread.join();
  return finish(run, failure);
}

/// Refuses to be one of several processes that do not find each other: each
/// would be a training of its own. `found` are those that MPI connects.
void checkLaunch(const Run &run, int found) {
  const Launch launch = findLaunch();
  if (found > 1 || launch.processes == 1)
    return;
  const int ranks = run.program.training.ranks;
  throw UsageError(
      "started as " + describe(launch) +
      ", which does not connect them: each would train all of '" +
      run.program.name + "' by itself. Start the " + plural(ranks, "rank") +
      " of this program with mpirun -n " + std::to_string(ranks) +
      " of Open MPI, or with MASTER_ADDR and MASTER_PORT beside RANK and "
      "WORLD_SIZE, or as threads, in one process; " +
      "where each process is to train by itself, unset " + launch.variables);
}

/// Whether as many processes were launched as the program has ranks; where not,
/// the first one says so.
bool fitsRanks(const Run &run, long process, long processes) {
  const int ranks = run.program.training.ranks;
  if (processes == ranks)
    return true;
  if (process == 0)
    run.errors << "error: launched with " << plural(processes, "process", "es")
               << ", but this program was compiled for "
               << plural(ranks, "rank") << ": launch " << ranks
               << ", or compile it again with zero-compile "
               << (run.program.mesh.axes.empty()
                       ? "--ranks " + std::to_string(processes)
                       : "--mesh, now " + run.program.mesh.text())
               << std::endl;
  return false;
}

int launchProcess(const Run &run) {
  // Who knows how many come waits for nobody to say that they are too many.
  if (launchedWithAddress() &&
      !fitsRanks(run, numberIn("RANK", 0), numberIn("WORLD_SIZE", 0)))
    return 2;
  const std::unique_ptr<Communicator> communicator =
      makeProcesses(communicatorOptions(run));
  checkLaunch(run, communicator->ranks());
  if (!fitsRanks(run, communicator->rank(), communicator->ranks()))
    return 2;
  Failure failure;
  Data data;
  std::string error;
  const int localRanks = countLocalRanks();
  try {
    checkMemory(run, {1, std::max(localRanks, 1)});
    data = openRunData(run);
  } catch (const std::exception &problem) {
    error = textOf(problem);
  }
  try {
    failTogether(*communicator, error);
  } catch (const std::exception &problem) {
    if (communicator->rank() == 0)
      failure.record(textOf(problem));
    finish(run, failure);
    return 1;
  }
  const Run mine = withCopies(run, {1, std::max(localRanks, 1)});
  RunFlight flight(run.options.flight, sharedTag(*communicator), run.errors);
  FlightRecorder *const record = flight.add(ownerOf(run, communicator->rank()));
  const TellOnQuit telling(flight);
  flight.watchPeers(*communicator);
  RankEnds ends(1);
  runRank({mine, data, flight, failure, ends, /*isProcess=*/true},
          *communicator, localRanks > 0 ? localRanks : communicator->ranks(),
          record);
  return finish(run, failure);
}

} // namespace

void Run::remark(const std::string &what) const {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  errors << "remark: " << what << std::endl;
}

/// Whether this process starts one for each rank.
static bool startsProcesses(const Run &run) {
  const std::string &as = run.options.ranksAs;
  if (hasStarter())
    return false;
  // What is started again must not be this process.
  const bool restarts = run.options.restarts > 0;
  if (restarts && (areRanksProcesses() || as == "threads"))
    throw UsageError(
        areRanksProcesses()
            ? "--restarts: a launcher has started the ranks, and no rank can "
              "start the others again: have the launcher do it (torchrun "
              "--max-restarts, sbatch --requeue), with --resume"
            : "--restarts: threads of a process that has ended are not started "
              "again; leave out --ranks-as threads");
  if (areRanksProcesses())
    return false;
  return restarts ||
         (run.program.training.ranks > 1 &&
          (as == "processes" || (as == "auto" && run.prefersProcesses)));
}

int zrt::launch(const Run &run) {
  checkOutputs(run.options);
  if (startsProcesses(run)) {
    checkLaunch(run, 1);
    return runAsProcesses(run.program.training.ranks, run.options.restarts,
                          run.errors);
  }
  endWithStarter();
  // Before any thread: threads inherit what is blocked. A calibration leaves
  // nothing behind that a clean stop would save.
  std::optional<StopSignals> signals;
  if (run.options.action == Options::Action::Train) {
    try {
      signals.emplace();
    } catch (const std::system_error &error) {
      throw std::runtime_error(
          describeStart("the thread that waits for signals", error));
    }
  }
  if (!areRanksProcesses())
    checkLaunch(run, 1);
  const int code =
      areRanksProcesses() ? launchProcess(run) : launchThreads(run);
  if (signals && code == 0)
    signals->noteGoodEnd();
  return code;
}
