#include "checkpoint/Save.h"

#include "io/ErrorText.h"
#include "io/Together.h"
#include "program/Control.h"

#include <stdexcept>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace zrt;

static Manifest manifestOf(const Program &program, const Arenas &arenas,
                           const RunPosition &position) {
  Control control;
  arenas.read(&control, &arenas.control(), sizeof(control));
  Manifest manifest;
  manifest.program = program.name;
  manifest.update = position.update;
  manifest.steps = control.steps;
  manifest.skipped = control.skipped;
  manifest.stage = program.training.stage;
  manifest.ranks = program.training.ranks;
  manifest.mesh = program.mesh.text();
  manifest.scalerKind = program.training.lossScale.kind;
  manifest.scaler = {control.scale, control.iteration, control.lastOverflow,
                     control.hysteresis};
  manifest.data = position.data;
  manifest.tensors = tensorsOf(program);
  return manifest;
}

/// The files of all ranks, given that of this one.
static std::vector<StoredFile> gatherFiles(Communicator &communicator,
                                           const StoredFile &mine) {
  const int ranks = communicator.ranks();
  const auto all =
      gatherAll<uint64_t>(communicator, {mine.bytes, mine.digest}, 2);
  std::vector<StoredFile> files;
  for (int rank = 0; rank < ranks; ++rank)
    files.push_back({shardName(rank, ranks), all[2 * size_t(rank)],
                     all[2 * size_t(rank) + 1]});
  return files;
}

SavedCheckpoint
zrt::saveCheckpoint(const std::string &folder, const Program &program,
                    const Arenas &arenas, Communicator &communicator,
                    const RunPosition &position, const StartingValues &start,
                    int64_t keep, FileSystem &files) {
  const bool first = communicator.rank() == 0;
  const std::string name = checkpointName(position.update);
  const std::string partial =
      CheckpointFolder::partialPath(folder, position.update);
  CheckpointFolder checkpoints(folder, files);
  bool begun = false;
  try {
    together(communicator, [&] {
      if (first)
        begun = checkpoints.begin(position.update);
    });
    StoredFile mine;
    together(communicator, [&] {
      mine = writeShard(files, partial, program, arenas, communicator.rank(),
                        start);
      files.syncFolder(partial);
    });
    Manifest manifest = manifestOf(program, arenas, position);
    manifest.files = gatherFiles(communicator, mine);
    together(communicator, [&] {
      if (!first)
        return;
      checkpoints.commit(manifest);
      begun = false;
      if (keep > 0)
        checkpoints.prune(keep);
    });
  } catch (...) {
    if (begun)
      checkpoints.abandon(position.update);
    throw;
  }
  return {inFolder(folder, name), checkpoints.takeRemarks()};
}

void zrt::agreeOnFolder(const std::string &folder, Communicator &communicator,
                        FileSystem &files) {
  const bool first = communicator.rank() == 0;
  const std::string probe =
      CheckpointFolder::probePath(folder, sharedTag(communicator));
  together(communicator, [&] {
    if (first)
      files.create(probe);
  });
  std::string error;
  if (!first && ::access(probe.c_str(), F_OK) != 0)
    error = folder + ": this rank does not see what rank 0 writes there: name "
                     "a folder of a file system that all ranks share";
  const auto forget = [&] {
    try {
      if (first)
        files.removeFile(probe);
    } catch (const std::exception &) {
      // The next checkpoint removes it.
    }
  };
  try {
    failTogether(communicator, error);
  } catch (...) {
    forget();
    throw;
  }
  forget();
}

//===----------------------------------------------------------------------===//
// While training goes on
//===----------------------------------------------------------------------===//

BackgroundSave::BackgroundSave(std::string folder, const Program &program,
                               Communicator &communicator, int64_t keep,
                               FileSystem &files)
    : folder(std::move(folder)), program(program), communicator(communicator),
      keep(keep), files(files), checkpoints(this->folder, files) {}

BackgroundSave::~BackgroundSave() {
  stop = true;
  if (thread.joinable())
    thread.join();
}

/// Runs `work` on a thread; on this one where there is none to be had.
void BackgroundSave::run(std::function<void()> work) {
  ended = false;
  const auto guarded = [this, work = std::move(work)] {
    try {
      work();
    } catch (const std::exception &failure) {
      // Who is told to stop has nothing to report.
      if (!stop)
        error = *failure.what() ? textOf(failure) : "unknown error";
    }
    ended = true;
  };
  try {
    thread = std::thread(guarded);
  } catch (const std::system_error &) {
    guarded();
  }
}

void BackgroundSave::begin(const Arenas &arenas, const RunPosition &position,
                           const StartingValues &start) {
  stop = false;
  manifest = manifestOf(program, arenas, position);
  together(communicator, [&] {
    if (communicator.rank() == 0)
      checkpoints.begin(position.update);
  });
  const std::string partial =
      CheckpointFolder::partialPath(folder, position.update);
  phase = Phase::Writing;
  try {
    together(communicator,
             [&] { copy.take(program, arenas, communicator.rank(), start); });
  } catch (...) {
    fail();
    throw;
  }
  run([this, partial] {
    mine = copy.write(files, partial, stop);
    files.syncFolder(partial);
  });
}

BackgroundSave::Progress BackgroundSave::progress() const {
  if (phase == Phase::Idle)
    return Progress::Idle;
  if (!ended)
    return Progress::Busy;
  return error.empty() ? Progress::Done : Progress::Failed;
}

/// There will be no checkpoint. Every rank's thread has ended.
void BackgroundSave::fail() {
  phase = Phase::Idle;
  if (communicator.rank() == 0)
    checkpoints.abandon(manifest.update);
}

/// Waits for the threads of all ranks.
void BackgroundSave::collect() {
  if (thread.joinable())
    thread.join();
  const std::string failure = std::exchange(error, "");
  try {
    failTogether(communicator, failure);
  } catch (...) {
    fail();
    throw;
  }
}

/// What follows once all ranks are done with their part.
std::optional<SavedCheckpoint> BackgroundSave::next() {
  collect();
  if (phase == Phase::Publishing) {
    phase = Phase::Idle;
    return SavedCheckpoint{inFolder(folder, checkpointName(manifest.update)),
                           checkpoints.takeRemarks()};
  }
  manifest.files = gatherFiles(communicator, mine);
  phase = Phase::Publishing;
  if (communicator.rank() == 0)
    run([this] {
      checkpoints.commit(manifest);
      if (keep > 0)
        checkpoints.prune(keep);
    });
  return std::nullopt;
}

std::optional<SavedCheckpoint> BackgroundSave::advance(Progress all) {
  if (all == Progress::Failed)
    stop = true; // those that still write
  const bool isOver = all == Progress::Done || all == Progress::Failed;
  return isOver ? next() : std::nullopt;
}

std::optional<SavedCheckpoint> BackgroundSave::finish() {
  std::optional<SavedCheckpoint> saved;
  while (phase != Phase::Idle)
    saved = next();
  return saved;
}
