#include "capi/Session.h"

#include "communicator/InProcess.h"
#include "data/Permutation.h"
#include "kernels/Kernel.h"
#include "state/Arenas.h"
#include "state/Elements.h"
#include "state/Initialize.h"
#include "state/Pieces.h"
#include "trainer/MachineMemory.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

using namespace zrt;

struct Session::Rank {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Trainer> trainer;
  StartingValues start;
  /// Parameters have been set, and copies of them have not followed yet.
  bool stale = false;
};

/// `program` with the loss scale of `options`.
static Program configured(const Program &program, const Options &options) {
  Program result = program;
  if (options.lossScale > 0) {
    result.training.lossScale.kind = LossScaleKind::Static;
    result.training.lossScale.initial = options.lossScale;
  }
  return result;
}

static void checkMemory(const Program &program, const Options &options) {
  const int ranks = program.training.ranks;
  const std::string lack =
      options.overcommit
          ? ""
          : lackOfMemory(hostBytesOf(program, /*isForDevice=*/false),
                         {ranks, ranks}, memoryLimits());
  if (!lack.empty())
    throw std::runtime_error(lack);
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
          /*isForDevice=*/false},
      team(own.training.ranks) {
  checkMemory(own, options);
  CommunicatorOptions communication;
  communication.timeoutSeconds = options.timeout;
  communicators = makeInProcess(own.training.ranks, communication);
  for (int rank = 0; rank < own.training.ranks; ++rank)
    ranks.push_back(std::make_unique<Rank>());
  runRanks([this](int rank) { prepare(rank); });
}

// A backend leaves its communicator; each rank does so by itself.
Session::~Session() {
  team.run([this](int rank) {
    ranks[size_t(rank)].reset();
    communicators[size_t(rank)].reset();
  });
}

void Session::prepare(int number) {
  Rank &rank = *ranks[size_t(number)];
  Communicator &communicator = *communicators[size_t(number)];
  rank.backend = run.makeBackend(run, communicator, own.training.ranks);
  rank.backend->plan();
  rank.trainer =
      std::make_unique<Trainer>(own, *rank.backend, communicator, nullptr);
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

void Session::fail(const std::string &why) {
  std::lock_guard<std::mutex> lock(failureMutex);
  if (failure.empty())
    failure = why;
}

/// Of the first failure all others follow.
void Session::record(int rank, const std::exception &error) {
  const bool outOfMemory = dynamic_cast<const std::bad_alloc *>(&error);
  const std::string what =
      outOfMemory ? "there is not enough memory" : error.what();
  const bool saysWho =
      own.training.ranks == 1 || dynamic_cast<const PeerError *>(&error);
  fail((saysWho ? "" : "rank " + std::to_string(rank) + ": ") + what);
  communicators[size_t(rank)]->abort(what);
}

void Session::runRanks(const RankTeam::Job &job) {
  team.run([&](int rank) {
    try {
      job(rank);
    } catch (const std::exception &error) {
      record(rank, error);
    }
  });
  if (!failure.empty())
    throw std::runtime_error(failure);
}

void Session::checkAlive() const {
  if (!failure.empty())
    throw StateError("this run has failed and cannot go on: " + failure);
}

/// Brings a rank to where its state may be read and written from outside.
void Session::settle(Rank &rank) { rank.backend->drain(); }

/// Lets copies of parameters follow what was set.
static void refresh(Backend &backend, bool &stale) {
  if (std::exchange(stale, false))
    backend.initialize();
}

UpdateReport Session::step(const std::vector<NamedArray> &arrays) {
  checkAlive();
  const Batch batch(own, arrays);
  const int64_t wanted =
      int64_t(own.training.ranks) * own.training.accumulation;
  if (batch.count() != wanted)
    throw ArgumentError(
        "the batch has " + std::to_string(batch.samples()) +
        " samples, wanted " +
        std::to_string(wanted * microBatchOf(own.inputs)) + ": " +
        std::to_string(own.training.accumulation) + " micro-batches of " +
        std::to_string(microBatchOf(own.inputs)) + " samples for each of " +
        std::to_string(own.training.ranks) + " ranks");
  return update([&](int rank, int64_t micro, void *const *inputs) {
    batch.fill(micro * own.training.ranks + rank, inputs);
  });
}

void Session::openData(const std::string &path) {
  checkAlive();
  DataOptions asked;
  asked.path = path;
  asked.validationFraction = 0;
  asked.seed = options.seed;
  Data opened = zrt::openData(asked, own.inputs);
  data = std::move(opened);
  batches.clear();
  for (int rank = 0; rank < own.training.ranks; ++rank)
    batches.push_back(std::make_unique<Batches>(own, data, options.seed, rank));
}

int64_t Session::sampleAt(int64_t samples, int64_t position) const {
  const auto count = uint64_t(samples), at = uint64_t(position);
  return int64_t(permute(at % count, count, mixBits(options.seed, at / count)));
}

UpdateReport Session::stepOnData() {
  checkAlive();
  if (!data.training)
    throw ArgumentError("there is no batch, and no data is open");
  return update([&](int rank, int64_t micro, void *const *inputs) {
    batches[size_t(rank)]->fillTraining(
        uint64_t(ranks[size_t(rank)]->trainer->updates()), int(micro), inputs);
  });
}

UpdateReport Session::update(const RankFill &fill) {
  UpdateReport report;
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    refresh(*rank.backend, rank.stale);
    const UpdateReport mine =
        rank.trainer->update([&](int64_t micro, void *const *inputs) {
          fill(number, micro, inputs);
        });
    if (number == 0)
      report = mine;
  });
  return report;
}

double Session::evaluate(const std::vector<NamedArray> &arrays) {
  checkAlive();
  const Batch batch(own, arrays);
  const int all = own.training.ranks;
  if (batch.count() % all != 0)
    throw ArgumentError("the batch has " + std::to_string(batch.samples()) +
                        " samples, wanted whole micro-batches for each of " +
                        std::to_string(all) + " ranks: a multiple of " +
                        std::to_string(all * microBatchOf(own.inputs)));
  double loss = 0;
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    refresh(*rank.backend, rank.stale);
    const double mine = rank.trainer->evaluate(
        batch.count() / all, [&](int64_t micro, void *const *inputs) {
          batch.fill(micro * all + number, inputs);
        });
    if (number == 0)
      loss = mine;
  });
  return loss;
}

const Parameter &Session::parameterOf(const std::string &name,
                                      int64_t count) const {
  for (const Parameter &parameter : own.parameters) {
    if (parameter.name != name)
      continue;
    if (parameter.elements() != count)
      throw ArgumentError("the parameter '" + name + "' has " +
                          std::to_string(parameter.elements()) +
                          " elements, of shape " + shapeText(parameter.shape) +
                          "; found room for " + std::to_string(count));
    return parameter;
  }
  throw ArgumentError("there is no parameter '" + name + "'");
}

/// Whether updates leave the parameter alone and what is stored of it is
/// rounded, so that files need the exact values.
bool Session::storesRounded(const Parameter &parameter) const {
  const Partition &partition = partitionOf(own, parameter);
  return !partition.trainable && partition.computeType != parameter.modelType;
}

void Session::getParameter(const std::string &name, float *values,
                           int64_t count) {
  checkAlive();
  const Parameter &parameter = parameterOf(name, count);
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    settle(rank);
    zrt::readParameter(own, rank.backend->arenas(), number, parameter,
                       [&](uint64_t element, uint64_t part, const float *from) {
                         std::copy(from, from + part, values + element);
                       });
  });
  const auto kept = exact.find(name);
  if (kept != exact.end())
    std::copy(kept->second.begin(), kept->second.end(), values);
}

/// Throws where a finite value would not be so in `type`.
static void checkRange(const Parameter &parameter, DataType type,
                       const float *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float rounded = values[i];
    uint16_t half;
    if (type != DataType::F32) {
      storeElements(type, false, values + i, &half, 1);
      loadElements(type, &half, &rounded, 1);
    }
    if (std::isfinite(values[i]) && !std::isfinite(rounded))
      throw ArgumentError("element " + std::to_string(i) + " for '" +
                          parameter.name + "' is " + std::to_string(values[i]) +
                          ", which is too large for " + nameOf(type) +
                          ", the type that this program computes in");
  }
}

void Session::setParameter(const std::string &name, const float *values,
                           int64_t count) {
  checkAlive();
  const Parameter &parameter = parameterOf(name, count);
  checkRange(parameter, partitionOf(own, parameter).computeType, values, count);
  if (storesRounded(parameter))
    exact[name].assign(values, values + count);
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    settle(rank);
    zrt::setParameter(own, rank.backend->arenas(), number, parameter,
                      [&](uint64_t element, uint64_t part, float *out) {
                        std::copy(values + element, values + element + part,
                                  out);
                      });
    rank.stale = true;
  });
}

StartingValues Session::startingValues(const Rank &rank) const {
  return [this, &rank](const Parameter &parameter, uint64_t element,
                       uint64_t count, float *out) {
    const auto kept = exact.find(parameter.name);
    if (kept == exact.end())
      return rank.start(parameter, element, count, out);
    const auto from = kept->second.begin() + int64_t(element);
    std::copy(from, from + int64_t(count), out);
  };
}

void Session::saveWeights(const std::string &path) {
  checkAlive();
  std::mutex mutex;
  std::string problem;
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    settle(rank);
    try {
      zrt::saveWeights(path, own, rank.backend->arenas(),
                       *communicators[size_t(number)], startingValues(rank));
    } catch (const CommunicationError &) {
      throw;
    } catch (const std::runtime_error &error) {
      // All ranks come here together, and can go on.
      std::lock_guard<std::mutex> lock(mutex);
      if (!dynamic_cast<const PeerError *>(&error) || problem.empty())
        problem = error.what();
    }
  });
  if (!problem.empty())
    throw std::runtime_error(problem);
}
