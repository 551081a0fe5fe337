#include "capi/Session.h"

#include "communicator/InProcess.h"
#include "communicator/Launcher.h"
#include "data/DataDigest.h"
#include "data/Permutation.h"
#include "engine/MachineMemory.h"
#include "kernels/Kernel.h"
#include "program/ByteCount.h"
#include "state/Gradients.h"
#include "state/Initialize.h"

#include <limits>
#include <set>
#include <utility>

using namespace zrt;

namespace {

/// `program` with the loss scale of `options`.
Program configured(const Program &program, const Options &options) {
  Program result = program;
  if (options.lossScale > 0) {
    result.training.lossScale.kind = LossScaleKind::Static;
    result.training.lossScale.initial = options.lossScale;
  }
  return result;
}

void checkMemory(const Run &run) {
  if (run.options.overcommit)
    return;
  const int ranks = run.program.training.ranks;
  const std::string lack =
      lackOfMemory(hostBytesOf(run.setup(), /*isForDevice=*/false,
                               run.measureWorkspace, ranks),
                   {ranks, ranks}, memoryLimits());
  if (!lack.empty())
    throw std::runtime_error(lack);
}

/// Refuses to be one of several processes: ranks are threads of this one, so
/// that each process would be a training of its own.
void checkLaunch(const Program &program) {
  const Launch launch = findLaunch();
  if (launch.processes > 1)
    throw StateError(
        "this process was started as " + describe(launch) +
        ", and the ranks of a library are threads of one process: each "
        "process would train all of '" +
        program.name +
        "' by itself. Start one process, or compile the model as an "
        "executable and start that with mpirun -n " +
        std::to_string(program.training.ranks) +
        "; where each process is to train by itself, unset " +
        launch.variables);
}

} // namespace

void Session::Rank::refresh() {
  if (!std::exchange(stale, false))
    return;
  backend->initialize();
  if (selfCheck) // which may have seen the copies since
    selfCheck->forget();
}

Session::Session(const Compiled &compiled, const Options &asked)
    : own(configured(*compiled.program, asked)), options(asked),
      run{own,
          options,
          compiled.kernels,
          compiled.kernelCount,
          compiled.makeBackend,
          output,
          output,
          /*terminal=*/false,
          /*isForDevice=*/false,
          /*files=*/nullptr,
          /*memoryRoot=*/{},
          /*lackForCopies=*/{},
          /*stages=*/nullptr,
          /*prefersProcesses=*/false,
          compiled.measureWorkspace},
      team(own.training.ranks) {
  isStarted = !own.pretrained || !options.weights.empty();
  checkLaunch(own);
  checkMemory(run);
  CommunicatorOptions communication;
  communication.timeoutSeconds = options.timeout;
  communicators = makeInProcess(own.training.ranks, communication);
  for (int rank = 0; rank < own.training.ranks; ++rank)
    ranks.push_back(std::make_unique<Rank>());
  runRanks([this](int rank) { prepare(rank); });
}

// A backend leaves its communicator; each rank does so by itself.
Session::~Session() {
  if (held)
    held->gate.open(/*goOn=*/false);
  team.wait();
  team.run([this](int rank) {
    ranks[size_t(rank)].reset();
    communicators[size_t(rank)].reset();
  });
}

void Session::prepare(int number) {
  Rank &rank = *ranks[size_t(number)];
  Communicator &communicator = *communicators[size_t(number)];
  rank.backend = run.makeBackend(run.setup(), communicator, own.training.ranks);
  rank.backend->plan();
  rank.trainer =
      std::make_unique<Trainer>(own, *rank.backend, communicator, nullptr);
  if (options.selfCheck > 0)
    rank.selfCheck = std::make_unique<SelfCheck>(
        own, *rank.backend, *rank.trainer, communicator, options.selfCheck,
        [this](const std::string &what) { notices += what + "\n"; });
  const Arenas &arenas = rank.backend->arenas();
  initializeControl(own, arenas, options.seed);
  initializeConstants(own, arenas, number);
  if (options.weights.empty()) {
    ThreadPool pool(threadsPerRank(options.threads, own.training.ranks));
    initializeParameters(own, arenas, number, options.seed, &pool);
    rank.start = initialValuesOf(options.seed);
  } else {
    rank.start = loadWeights(options.weights, own, arenas, communicator);
  }
  rank.backend->initialize();
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

void Session::tryRank(int rank, const RankTeam::Job &job) {
  try {
    job(rank);
  } catch (const std::exception &error) {
    failure.record(error, *communicators[size_t(rank)]);
    if (Backend *backend = ranks[size_t(rank)]->backend.get())
      backend->giveUp();
  }
}

void Session::throwFailure() {
  if (!failure.message().empty())
    throw std::runtime_error(failure.message());
}

void Session::runRanks(const RankTeam::Job &job) {
  team.run([&](int rank) { tryRank(rank, job); });
  throwFailure();
}

void Session::checkAlive() const {
  if (!failure.message().empty())
    throw StateError("this run has failed and cannot go on: " +
                     failure.message());
}

void Session::checkIdle() const {
  checkAlive();
  if (held)
    throw StateError("an update has begun with a backward pass: finish it "
                     "before anything but reading state");
}

void Session::checkStarted() const {
  if (!isStarted)
    throw StateError("'" + own.name +
                     "' was compiled from a model with weights, and this run "
                     "has new values instead: give it 'weights', load a "
                     "checkpoint, or set all parameters first, of which " +
                     std::to_string(given.size()) + " of " +
                     std::to_string(own.parameters.size()) + " are set");
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

void Session::openData(const std::string &path) {
  checkIdle();
  DataOptions asked;
  asked.path = path;
  asked.validationFraction = 0;
  asked.seed = options.seed;
  asked.ranks = int(own.sampleRanks());
  Data opened = zrt::openData(asked, own);
  data = std::move(opened);
  batches.clear();
  for (int rank = 0; rank < own.training.ranks; ++rank) {
    batches.push_back(std::make_unique<Batches>(own, data, options.seed, rank));
    batches.back()->startAt(uint64_t(firstUpdate), uint64_t(firstSample));
  }
  source.samples = data.training->samples();
  source.digest = digestOfData(own.inputs, *data.training);
  compareSources();
}

void Session::describeData(const std::vector<NamedArray> &arrays,
                           int64_t samples) {
  checkIdle();
  if (arrays.empty() && samples == 0) {
    source = {};
    return;
  }
  const auto wanted = int64_t(telling(1).size());
  const Batch batch(own, arrays);
  if (samples <= 0 || batch.count() != wanted)
    throw ArgumentError("the data has " + plural(samples, "sample") + " and " +
                        plural(batch.count(), "micro-batch", "es") +
                        " describe it, wanted " + std::to_string(wanted) +
                        " of at least one sample");
  source.samples = uint64_t(samples);
  source.digest = digestOfSamples(
      own.inputs, uint64_t(microBatchOf(own.inputs)),
      [&](size_t place, void *const *to) { batch.fill(int64_t(place), to); });
  compareSources();
}

/// Tells once where the batches come from other data than those of the run that
/// goes on here.
void Session::compareSources() {
  if (source.samples == 0 || sourceBefore.samples == 0)
    return;
  const DataPosition before = std::exchange(sourceBefore, DataPosition());
  if (source.samples == before.samples && source.digest == before.digest)
    return;
  notices +=
      "the data has " + plural(int64_t(source.samples), "sample") +
      ", and the run of " + loadedPath + " had " +
      (source.samples == before.samples ? "other ones"
                                        : std::to_string(before.samples)) +
      ": its order goes on at position " + std::to_string(firstSample) +
      ", and samples may come again or be left out\n";
}

int64_t Session::sampleAt(int64_t samples, int64_t position) const {
  const auto count = uint64_t(samples), at = uint64_t(position);
  return int64_t(permute(at % count, count, mixBits(options.seed, at / count)));
}

void Session::setLearningRate(std::optional<double> rate) {
  checkIdle();
  for (const std::unique_ptr<Rank> &each : ranks)
    each->trainer->fixLearningRate(rate);
}

void Session::setLearningRates(
    const std::map<std::string, std::optional<double>> &rates) {
  checkIdle();
  std::set<std::string> groups; // stages of a pipeline have different ones
  for (const std::unique_ptr<Rank> &each : ranks)
    groups.merge(each->trainer->groups());
  std::string known;
  for (const std::string &name : groups)
    known += (known.empty() ? "'" : ", '") + name + "'";
  for (const auto &[group, rate] : rates)
    if (!groups.count(group))
      throw ArgumentError("no parameter that is trained is in a group '" +
                          group + "': give one of " + known);
  for (const std::unique_ptr<Rank> &each : ranks)
    for (const auto &[group, rate] : rates)
      each->trainer->fixLearningRate(rate, &group);
}

int64_t Session::updates() const { return ranks.front()->trainer->updates(); }

int64_t Session::samplesBefore() const {
  if (!batches.empty())
    return int64_t(batches.front()->samplesBefore(uint64_t(updates())));
  const Training &training = own.training;
  return firstSample + (updates() - firstUpdate) * microBatchOf(own.inputs) *
                           own.sampleRanks() * training.accumulation;
}

Session::RankFill Session::inputsOf(const std::vector<NamedArray> &arrays) {
  if (own.replacesGradients) {
    if (!arrays.empty())
      throw ArgumentError("'" + own.name +
                          "' takes gradients instead of computing some, and "
                          "its updates read no batch: give gradients only");
    return [](int, int64_t, void *const *, uint64_t) {};
  }
  if (arrays.empty()) {
    if (!data.training)
      throw ArgumentError("there is no batch, and no data is open");
    return
        [this](int rank, int64_t micro, void *const *inputs, uint64_t moved) {
          batches[size_t(rank)]->fillTraining(
              uint64_t(ranks[size_t(rank)]->trainer->updates()), int(micro),
              inputs, moved);
        };
  }
  const auto batch = std::make_shared<Batch>(own, arrays);
  const int64_t wanted = own.sampleRanks() * own.training.accumulation;
  if (batch->count() != wanted)
    throw ArgumentError(
        "the batch has " + plural(batch->samples(), "sample") + ", wanted " +
        std::to_string(wanted * microBatchOf(own.inputs)) + ": " +
        plural(own.training.accumulation, "micro-batch", "es") + " of " +
        plural(microBatchOf(own.inputs), "sample") + " for each of " +
        plural(own.sampleRanks(), "rank"));
  return [this, batch](int rank, int64_t micro, void *const *inputs,
                       uint64_t moved) {
    batch->fill(placeOf(rank, micro, moved), inputs);
  };
}

/// Of a micro-batch among those of an update.
int64_t Session::placeOf(int rank, int64_t micro, uint64_t moved) const {
  return micro * own.sampleRanks() +
         (own.sampleIndex(rank) + int64_t(moved)) % own.sampleRanks();
}

Session::RankFill Session::fillOf(const std::vector<NamedArray> &arrays,
                                  const std::vector<NamedGradient> &gradients) {
  const auto given = std::make_shared<Given>(own, gradients);
  return [this, given, fill = inputsOf(arrays)](
             int rank, int64_t micro, void *const *inputs, uint64_t moved) {
    fill(rank, micro, inputs, moved);
    given->fill(placeOf(rank, micro, moved),
                ranks[size_t(rank)]->backend->arenas(), rank);
  };
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

UpdateReport Session::updateRank(int number, const RankFill &fill) {
  Rank &rank = *ranks[size_t(number)];
  rank.refresh();
  UpdateReport report =
      rank.selfCheck
          ? checkedUpdate(number, fill)
          : rank.trainer->update([&](int64_t micro, void *const *inputs) {
              fill(number, micro, inputs, 0);
            });
  if (own.replacesGradients)
    report.loss = std::numeric_limits<double>::quiet_NaN();
  return report;
}

UpdateReport Session::checkedUpdate(int number, const RankFill &fill) {
  UpdateSamples samples;
  samples.fill = [&](int64_t micro, void *const *inputs, uint64_t moved) {
    fill(number, micro, inputs, moved);
  };
  samples.placeOf = [&](int64_t micro, uint64_t row) {
    const int64_t first = placeOf(number, micro) * int64_t(samples.rows);
    return "sample " + std::to_string(first + int64_t(row)) + " of the update";
  };
  samples.rows = uint64_t(microBatchOf(own.inputs));
  return ranks[size_t(number)]->selfCheck->update(samples);
}

UpdateReport Session::step(const std::vector<NamedArray> &arrays,
                           const std::vector<NamedGradient> &gradients) {
  checkIdle();
  checkStarted();
  const RankFill fill = fillOf(arrays, gradients);
  UpdateReport report;
  runRanks([&](int rank) {
    const UpdateReport mine = updateRank(rank, fill);
    if (rank == 0)
      report = mine;
  });
  return report;
}

void Session::backward(const std::vector<NamedArray> &arrays,
                       const std::vector<NamedGradient> &gradients) {
  checkIdle();
  checkStarted();
  if (options.selfCheck > 0)
    throw StateError("this run checks itself, and an update in two parts is "
                     "not computed again: make the update in one part, or the "
                     "run without self_check");
  bool judges = false;
  for (const Command &command : own.apply.commands)
    judges |= judgesGradients(own, command);
  if (!judges)
    throw ArgumentError("this program trains no parameter");
  const RankFill fill = fillOf(arrays, gradients);
  held = std::make_unique<Held>(own.training.ranks);
  Held &hold = *held;
  const RankTeam::Job job = [this, &hold, fill](int rank) {
    Backend &backend = *ranks[size_t(rank)]->backend;
    backend.setCommandHook([&](const Command &command, int64_t, int64_t) {
      if (!judgesGradients(own, command))
        return;
      if (!hold.gate.arrive())
        throw std::runtime_error("the run ends within an update");
      if (hold.isChanged)
        backend.judgeAgain();
    });
    const UpdateReport mine = updateRank(rank, fill);
    backend.setCommandHook({});
    if (rank == 0)
      hold.report = mine;
  };
  team.start([this, &hold, job](int rank) {
    tryRank(rank, [&](int) { job(rank); });
    // Where it has failed, nobody may wait for it.
    hold.gate.open(/*goOn=*/false);
  });
  if (hold.gate.awaitAll())
    return;
  team.wait();
  held.reset();
  throwFailure();
}

UpdateReport Session::update() {
  checkAlive();
  if (!held)
    throw StateError("there is no update to finish: run a backward pass first");
  held->gate.open(/*goOn=*/true);
  team.wait();
  const UpdateReport report = held->report;
  held.reset();
  throwFailure();
  return report;
}

const Output &Session::outputOf(const NamedResult &result,
                                int64_t micros) const {
  std::string names;
  for (const Output &output : own.evaluate.outputs) {
    names += (names.empty() ? "" : ", ") + output.name;
    if (output.name != result.name)
      continue;
    const uint64_t wanted = output.type.bytes() * uint64_t(micros);
    if (result.bytes != wanted)
      throw ArgumentError("the room for the output '" + result.name + "' has " +
                          std::to_string(result.bytes) + " bytes, wanted " +
                          std::to_string(wanted) + ": " +
                          std::to_string(micros) + " micro-batches of " +
                          std::to_string(output.type.bytes()));
    return output;
  }
  throw ArgumentError("there is no output '" + result.name +
                      "'; the model's outputs are " + names);
}

double Session::evaluate(const std::vector<NamedArray> &arrays,
                         const std::vector<NamedResult> &results) {
  checkIdle();
  checkStarted();
  const Batch batch(own, arrays);
  const int64_t all = own.sampleRanks();
  if (batch.count() % all != 0)
    throw ArgumentError("the batch has " + plural(batch.samples(), "sample") +
                        ", wanted whole micro-batches for each of " +
                        plural(all, "rank") + ": a multiple of " +
                        std::to_string(all * microBatchOf(own.inputs)));
  std::vector<const Output *> outputs;
  for (const NamedResult &result : results)
    outputs.push_back(&outputOf(result, batch.count()));
  double loss = 0;
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    rank.refresh();
    const int64_t index = own.sampleIndex(number);
    // Ranks that compute one model have the same outputs.
    const bool gives = own.mesh.numberOf(own.mesh.samples, number) == 0;
    const EvaluationReport mine = rank.trainer->evaluate(
        batch.count() / all,
        [&](int64_t micro, void *const *inputs) {
          batch.fill(micro * all + index, inputs);
        },
        [&](int64_t micro) {
          for (size_t i = 0; gives && i < outputs.size(); ++i) {
            const uint64_t bytes = outputs[i]->type.bytes();
            rank.backend->read(outputs[i]->buffer, 0,
                               static_cast<char *>(results[i].data) +
                                   uint64_t(micro * all + index) * bytes,
                               bytes);
          }
        });
    if (number == 0)
      loss = mine.loss;
  });
  return loss;
}
