// What a session lets its caller see and change between updates.
#include "capi/Session.h"

#include "checkpoint/Checkpoint.h"
#include "checkpoint/Save.h"
#include "data/StoredArrays.h"
#include "state/Elements.h"
#include "state/Gradients.h"
#include "state/Pieces.h"

#include <algorithm>
#include <stdexcept>

using namespace zrt;

namespace {

/// Copies what it is given to its place among `values`.
ValueSink copyTo(float *values) {
  return [values](uint64_t element, uint64_t count, const float *from) {
    std::copy(from, from + count, values + element);
  };
}

ValueSource copyFrom(const float *values) {
  return [values](uint64_t element, uint64_t count, float *out) {
    std::copy(values + element, values + element + count, out);
  };
}

/// Throws where a finite value would not be so in `type`.
void checkArgument(const std::string &what, DataType type, const float *values,
                   int64_t count) {
  try {
    checkRange("", what, type, 0, values, uint64_t(count));
  } catch (const std::range_error &error) {
    throw ArgumentError(error.what());
  }
}

} // namespace

std::vector<const State *> zrt::optimizerStatesOf(const Program &program,
                                                  const Parameter &parameter) {
  std::vector<const State *> states;
  if (parameter.trainable)
    for (const State &state : partitionOf(program, parameter).states)
      if (state.start == StateStart::Constant)
        states.push_back(&state);
  return states;
}

const Parameter &Session::parameterOf(const std::string &name) const {
  for (const Parameter &parameter : own.parameters)
    if (parameter.name == name)
      return parameter;
  throw ArgumentError("there is no parameter '" + name + "'");
}

const Parameter &Session::parameterOf(const std::string &name,
                                      int64_t count) const {
  const Parameter &parameter = parameterOf(name);
  if (parameter.elements() != count)
    throw ArgumentError("the parameter '" + name + "' has " +
                        std::to_string(parameter.elements()) +
                        " elements, of shape " + shapeText(parameter.shape) +
                        "; found room for " + std::to_string(count));
  return parameter;
}

const State &Session::stateOf(const Parameter &parameter,
                              const std::string &name) const {
  std::string names;
  for (const State *state : optimizerStatesOf(own, parameter)) {
    if (state->name == name)
      return *state;
    names += (names.empty() ? "" : ", ") + state->name;
  }
  throw ArgumentError("the optimizer keeps no '" + name + "' of '" +
                      parameter.name + "'; it keeps " +
                      (names.empty() ? "nothing" : names));
}

/// Lets each rank read or set its share: on its own thread, or, while all ranks
/// stand within an update, on this one.
void Session::readRanks(
    const std::function<void(int number, const Arenas &)> &read) {
  if (held) {
    for (int number = 0; number < own.training.ranks; ++number)
      read(number, ranks[size_t(number)]->backend->arenas());
    return;
  }
  runRanks([&](int number) {
    Backend &backend = *ranks[size_t(number)]->backend;
    backend.drain();
    read(number, backend.arenas());
  });
}

void Session::getParameter(const std::string &name, float *values,
                           int64_t count) {
  checkAlive();
  const Parameter &parameter = parameterOf(name, count);
  const auto kept = exact.find(name);
  if (kept != exact.end()) {
    std::copy(kept->second.begin(), kept->second.end(), values);
    return;
  }
  readRanks([&](int number, const Arenas &arenas) {
    if (isRoundedStart(own, parameter))
      readModelValues(own, arenas, number, parameter,
                      ranks[size_t(number)]->start, copyTo(values));
    else
      readParameter(own, arenas, number, parameter, copyTo(values));
  });
}

void Session::setParameter(const std::string &name, const float *values,
                           int64_t count) {
  writeParameter(name, values, count);
  noteGiven(name);
}

/// A run starts once all of its values are there.
void Session::noteGiven(const std::string &name) {
  given.insert(name);
  isStarted |= given.size() == own.parameters.size();
}

void Session::writeParameter(const std::string &name, const float *values,
                             int64_t count) {
  checkIdle();
  const Parameter &parameter = parameterOf(name, count);
  checkArgument("'" + name + "'", partitionOf(own, parameter).computeType,
                values, count);
  if (isRoundedStart(own, parameter))
    exact[name].assign(values, values + count);
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    rank.backend->drain();
    zrt::setParameter(own, rank.backend->arenas(), number, parameter,
                      copyFrom(values));
    rank.stale = true;
  });
  forgetChecked();
}

/// A caller has changed states, of which checks have hashes.
void Session::forgetChecked() {
  for (const std::unique_ptr<Rank> &rank : ranks)
    if (rank->selfCheck)
      rank->selfCheck->forget();
}

void Session::getState(const std::string &name, const std::string &state,
                       float *values, int64_t count) {
  checkAlive();
  const Parameter &parameter = parameterOf(name, count);
  const State &found = stateOf(parameter, state);
  readRanks([&](int number, const Arenas &arenas) {
    readState(own, arenas, number, parameter, found, copyTo(values));
  });
}

void Session::setState(const std::string &name, const std::string &state,
                       const float *values, int64_t count) {
  checkIdle();
  const Parameter &parameter = parameterOf(name, count);
  const State &found = stateOf(parameter, state);
  checkArgument(state + " of '" + name + "'", found.type, values, count);
  runRanks([&](int number) {
    Backend &backend = *ranks[size_t(number)]->backend;
    backend.drain();
    zrt::setState(own, backend.arenas(), number, parameter, found,
                  copyFrom(values));
  });
  forgetChecked();
}

/// A parameter that has a gradient now.
const Parameter &Session::gradientOf(const std::string &name) const {
  checkAlive();
  if (!held)
    throw StateError("gradients are there between a backward pass and its "
                     "update only");
  const Parameter &parameter = parameterOf(name);
  if (!partitionOf(own, parameter).trainable)
    throw ArgumentError("the parameter '" + name +
                        "' is not trained and has no gradient");
  return parameter;
}

void Session::getGradient(const std::string &name, float *values,
                          int64_t count) {
  const Parameter &parameter = gradientOf(name);
  parameterOf(name, count);
  readRanks([&](int number, const Arenas &arenas) {
    readGradient(own, arenas, number, parameter, copyTo(values));
  });
}

void Session::setGradient(const std::string &name, const float *values,
                          int64_t count) {
  const Parameter &parameter = gradientOf(name);
  parameterOf(name, count);
  held->isChanged = true;
  readRanks([&](int number, const Arenas &arenas) {
    zrt::setGradient(own, arenas, number, parameter, 0, uint64_t(count),
                     copyFrom(values));
  });
}

//===----------------------------------------------------------------------===//
// Of one rank
//===----------------------------------------------------------------------===//

static constexpr const char *kGradient = "gradient";

std::vector<Piece> Session::localPieces(int rank, const std::string &name,
                                        const std::string &what) const {
  if (rank < 0 || rank >= own.training.ranks)
    throw ArgumentError("there is no rank " + std::to_string(rank) +
                        ": there are " + std::to_string(own.training.ranks));
  const Parameter &parameter = parameterOf(name);
  const Partition &partition = partitionOf(own, parameter);
  std::vector<Piece> pieces;
  const auto add = [&](const Piece &piece) { pieces.push_back(piece); };
  if (what == kGradient && partition.trainable) {
    forEachGradientShare(own, parameter, rank, add);
    return pieces;
  }
  const bool isValue = what == kValueName;
  if (!isValue)
    stateOf(parameter, what);
  forEachShare(own, parameter,
               isValue ? isValueSharded(partition) : partition.shardedOptimizer,
               rank, add);
  return pieces;
}

/// Calls `body(place, piece)` with the place of each piece among `count`
/// values, which are all of them.
template <typename Body>
static void placePieces(const std::vector<Piece> &pieces, int rank,
                        const std::string &name, int64_t count, Body body) {
  uint64_t elements = 0;
  for (const Piece &piece : pieces)
    elements += piece.count;
  if (elements != uint64_t(count))
    throw ArgumentError("rank " + std::to_string(rank) + " has " +
                        std::to_string(elements) + " elements of '" + name +
                        "'; found room for " + std::to_string(count));
  uint64_t place = 0;
  for (const Piece &piece : pieces) {
    body(place, piece);
    place += piece.count;
  }
}

void Session::getLocal(int rank, const std::string &name,
                       const std::string &what, float *values, int64_t count) {
  checkAlive();
  const std::vector<Piece> pieces = localPieces(rank, name, what);
  std::vector<float> all(size_t(parameterOf(name).elements()));
  if (what == kGradient)
    getGradient(name, all.data(), int64_t(all.size()));
  else if (what == kValueName)
    getParameter(name, all.data(), int64_t(all.size()));
  else
    getState(name, what, all.data(), int64_t(all.size()));
  placePieces(
      pieces, rank, name, count, [&](uint64_t place, const Piece &piece) {
        std::copy_n(all.data() + piece.element, piece.count, values + place);
      });
}

void Session::setLocal(int rank, const std::string &name,
                       const std::string &what, const float *values,
                       int64_t count) {
  checkAlive();
  const std::vector<Piece> pieces = localPieces(rank, name, what);
  const Parameter &parameter =
      what == kGradient ? gradientOf(name) : parameterOf(name);
  // Of gradients the others stay as they are, which is not what is read of
  // them: they are scaled.
  std::vector<float> all(size_t(parameter.elements()));
  if (what == kValueName)
    getParameter(name, all.data(), int64_t(all.size()));
  else if (what != kGradient)
    getState(name, what, all.data(), int64_t(all.size()));
  placePieces(
      pieces, rank, name, count, [&](uint64_t place, const Piece &piece) {
        std::copy_n(values + place, piece.count, all.data() + piece.element);
      });
  if (what == kValueName) {
    writeParameter(name, all.data(), int64_t(all.size()));
    std::set<int> &done = givenBy[name];
    done.insert(rank);
    for (int other = 0; other < own.training.ranks; ++other)
      if (!done.count(other) && !localPieces(other, name, what).empty())
        return;
    return noteGiven(name);
  }
  if (what != kGradient)
    return setState(name, what, all.data(), int64_t(all.size()));
  held->isChanged = true;
  for (const Piece &piece : pieces)
    readRanks([&](int number, const Arenas &arenas) {
      zrt::setGradient(own, arenas, number, parameter, piece.element,
                       piece.count, copyFrom(all.data()));
    });
}

/// The values of the start, or what the caller has set since.
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

/// Runs `body` on all ranks, at rest. Where it throws on one it throws on all,
/// together, and the run goes on.
void Session::runTogether(
    const std::function<void(int number, Rank &rank)> &body) {
  std::mutex mutex;
  std::string problem;
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    rank.backend->drain();
    try {
      body(number, rank);
    } catch (const CommunicationError &) {
      throw;
    } catch (const std::runtime_error &error) {
      std::lock_guard<std::mutex> lock(mutex);
      if (!dynamic_cast<const PeerError *>(&error) || problem.empty())
        problem = error.what();
    }
  });
  if (!problem.empty())
    throw std::runtime_error(problem);
}

void Session::saveWeights(const std::string &path) {
  checkIdle();
  if (const std::string place = replacedCheckpoint(path, {}); !place.empty())
    throw ArgumentError("'" + path +
                        "' would replace a part of the checkpoint " + place +
                        ": name another file");
  runTogether([&](int number, Rank &rank) {
    zrt::saveWeights(path, own, rank.backend->arenas(),
                     *communicators[size_t(number)], startingValues(rank));
  });
}

std::string Session::saveCheckpoint(const std::string &folder, int64_t keep) {
  checkIdle();
  if (keep < 0)
    throw ArgumentError("keep is " + std::to_string(keep) +
                        ", wanted a number of checkpoints, or 0 for all");
  RunPosition position;
  position.update = updates();
  position.data = source;
  position.data.seed = options.seed;
  position.data.globalBatch = uint64_t(microBatchOf(own.inputs)) *
                              own.sampleRanks() * own.training.accumulation;
  position.data.consumed = uint64_t(samplesBefore());
  std::string saved;
  runRanks([&](int number) {
    if (SelfCheck *check = ranks[size_t(number)]->selfCheck.get())
      check->checkState();
  });
  runTogether([&](int number, Rank &rank) {
    const SavedCheckpoint mine = zrt::saveCheckpoint(
        folder, own, rank.backend->arenas(), *communicators[size_t(number)],
        position, startingValues(rank), keep);
    if (number == 0)
      saved = mine.path;
  });
  return saved;
}

/// The newest checkpoint of `folder`, of a run with `seed`. Nobody reads
/// remarks here: what would be passed over is an error.
static FoundCheckpoint newestFor(const std::string &folder, uint64_t seed) {
  std::vector<std::string> remarks;
  const auto newest = takeNewest(folder, remarks);
  if (!newest)
    throw ArgumentError("'" + folder + "' has no complete checkpoint");
  if (!remarks.empty())
    throw ArgumentError(
        "loading " + newest->path +
        " would pass over a newer checkpoint: " + remarks.front() +
        "; restore it, or remove what is left of it and the "
        "file '" +
        kPointerName + "'");
  if (newest->manifest.data.seed != seed)
    throw ArgumentError("the run's seed is " + std::to_string(seed) +
                        ", and that of " + newest->path + " is " +
                        std::to_string(newest->manifest.data.seed) +
                        ": make the run with that seed");
  return *newest;
}

void Session::loadCheckpoint(const std::string &folder) {
  checkIdle();
  // Before anything is set.
  std::vector<CheckedCheckpoint> checked(ranks.size());
  try {
    const FoundCheckpoint newest = newestFor(folder, options.seed);
    runTogether([&](int number, Rank &) {
      checked[size_t(number)] =
          checkCheckpoint(newest, own, *communicators[size_t(number)]);
    });
  } catch (const ArgumentError &) {
    throw;
  } catch (const std::runtime_error &error) {
    if (!failure.message().empty())
      throw;
    throw ArgumentError(error.what());
  }
  const Manifest manifest = checked.front().found.manifest;
  runRanks([&](int number) {
    Rank &rank = *ranks[size_t(number)];
    rank.backend->drain();
    LoadedCheckpoint loaded = zrt::loadCheckpoint(
        checked[size_t(number)], own, rank.backend->arenas(),
        *communicators[size_t(number)]);
    rank.start = loaded.start;
    rank.trainer->startAfter(manifest.update);
    rank.stale = true;
  });
  forgetChecked();
  exact.clear();
  firstUpdate = manifest.update;
  firstSample = int64_t(manifest.data.consumed);
  for (const auto &batch : batches)
    batch->startAt(uint64_t(firstUpdate), uint64_t(firstSample));
  loadedPath = checked.front().found.path;
  sourceBefore = manifest.data;
  compareSources();
  isStarted = true;
}
