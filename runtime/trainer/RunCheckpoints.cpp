#include "trainer/RunCheckpoints.h"

#include "data/DataDigest.h"
#include "io/Together.h"
#include "program/QuantizedKernels.h"

#include <ostream>
#include <stdexcept>
#include <utility>

using namespace zrt;

RunCheckpoints::RunCheckpoints(const Run &run, const Data &data,
                               Communicator &communicator, Batches *batches)
    : run(run), options(run.options), communicator(communicator),
      batches(batches), files(run.files ? *run.files : FileSystem::disk()) {
  position.seed = options.seed;
  if (batches) {
    position.globalBatch = batches->samplesPerUpdate();
    position.samples = data.training->samples();
    position.digest = digestOfData(run.program.inputs, *data.training);
  }
  together(communicator, [&] {
    if (communicator.rank() != 0)
      return;
    CheckpointFolder(options.checkpoint, files).make();
    lock = std::make_unique<FolderLock>(options.checkpoint);
  });
  if (communicator.ranks() > 1)
    agreeOnFolder(options.checkpoint, communicator, files);
  if (batches && options.checkpointEvery > 0)
    chooseCopies();
}

/// Whether checkpoints are written from copies, on all ranks or on none.
void RunCheckpoints::chooseCopies() {
  try {
    failTogether(communicator, run.lackForCopies);
    background = std::make_unique<BackgroundSave>(
        options.checkpoint, run.program, communicator, options.keep, files);
  } catch (const CommunicationError &) {
    throw;
  } catch (const std::runtime_error &lack) {
    tell("training waits while a checkpoint is written, as there is no memory "
         "for a copy of the state: " +
         std::string(lack.what()));
  }
}

void RunCheckpoints::tell(const std::string &remark) const {
  if (communicator.rank() == 0)
    run.errors << "remark: " << remark << std::endl;
}

void RunCheckpoints::refuseExisting() const {
  together(communicator, [&] {
    if (communicator.rank() != 0)
      return;
    const Checkpoints found = findCheckpoints(options.checkpoint);
    if (!found.complete.empty())
      throw std::runtime_error(
          "--checkpoint '" + options.checkpoint +
          "' has checkpoints up to update " +
          std::to_string(found.complete.back().manifest.update) +
          " of an earlier run: give --resume to go on with it, or name another "
          "folder");
    if (!found.broken.empty())
      throw std::runtime_error(
          "--checkpoint '" + options.checkpoint + "' holds " +
          found.broken.back().path + ", which cannot be read (" +
          found.broken.back().reason +
          "): restore or remove it, or name another folder");
  });
}

/// Throws where the checkpoint is of a run with another seed or other data.
void RunCheckpoints::checkRun() const {
  const DataPosition &then = loaded.manifest.data;
  const auto refuse = [&](const std::string &found, const std::string &wanted) {
    throw std::runtime_error(found + ", but the run of " + loaded.path +
                             " had " + wanted +
                             ", or name another folder for a new run");
  };
  if (then.seed != position.seed)
    refuse("--seed is " + std::to_string(position.seed),
           std::to_string(then.seed) + ": give --seed " +
               std::to_string(then.seed));
  if (!batches)
    return;
  // Who gives a library its batches does not say where they come from.
  if (then.samples == 0)
    return tell(loaded.path +
                " does not say which data its run had: the run goes on after "
                "sample " +
                std::to_string(then.consumed) + " of --data");
  if (then.samples != position.samples)
    refuse("--data has " + std::to_string(position.samples) +
               " training samples",
           std::to_string(then.samples) +
               ": give the same --data and --validation-fraction");
  if (then.digest != position.digest)
    refuse("--data has " + std::to_string(position.samples) +
               " training samples",
           "other ones: give the same --data");
}

bool RunCheckpoints::resume(const Arenas &arenas) {
  if (!options.resume) {
    refuseExisting();
    return false;
  }
  std::vector<std::string> remarks;
  const auto found = findNewest(options.checkpoint, communicator, remarks);
  for (const std::string &remark : remarks)
    tell(remark);
  if (!found) {
    tell("'" + options.checkpoint +
         "' has no checkpoint yet: the run starts with update 1");
    return false;
  }
  loaded = {found->path, found->manifest, {}};
  checkRun();
  loaded = loadCheckpoint(*found, run.program, arenas, communicator);
  saved = update();
  const DataPosition &then = loaded.manifest.data;
  if (batches)
    batches->startAt(uint64_t(update()), then.consumed);
  if (communicator.rank() == 0)
    run.out << "resumes after update " << update() << " from " << loaded.path
            << std::endl;
  if (feedsErrorsBack(run.program))
    tell("what quantized gradients have lost before is not fed back: "
         "checkpoints leave it out");
  if (batches && then.globalBatch != 0 &&
      then.globalBatch != position.globalBatch)
    tell("an update has " + std::to_string(position.globalBatch) +
         " samples, and had " + std::to_string(then.globalBatch) +
         " before: the data goes on after sample " +
         std::to_string(then.consumed));
  if (options.steps > 0 && options.steps <= update())
    tell("--steps " + std::to_string(options.steps) +
         " counts the updates of all runs: there are none left");
  return true;
}

bool RunCheckpoints::isDue(int64_t update) const {
  return options.checkpointEvery > 0 && update % options.checkpointEvery == 0;
}

RunPosition RunCheckpoints::positionAfter(int64_t update) const {
  RunPosition now{update, position};
  now.data.consumed = batches->samplesBefore(uint64_t(update));
  return now;
}

/// Takes down what is complete; says once what there is to say.
void RunCheckpoints::note(const std::optional<SavedCheckpoint> &done) {
  if (!done)
    return;
  complete.push_back(done->path);
  for (const std::string &remark : done->remarks)
    if (told.insert(remark).second)
      tell(remark);
}

void RunCheckpoints::saveNow(int64_t update, const Arenas &arenas,
                             const StartingValues &start) {
  note(saveCheckpoint(options.checkpoint, run.program, arenas, communicator,
                      positionAfter(update), start, options.keep, files));
  saved = update;
}

void RunCheckpoints::save(int64_t update, const Arenas &arenas,
                          const StartingValues &start) {
  if (!background)
    return saveNow(update, arenas, start);
  note(background->finish());
  background->begin(arenas, positionAfter(update), start);
  saved = update;
}

BackgroundSave::Progress RunCheckpoints::progress() const {
  return background ? background->progress() : BackgroundSave::Progress::Idle;
}

void RunCheckpoints::advance(BackgroundSave::Progress all) {
  if (background)
    note(background->advance(all));
}

void RunCheckpoints::finish(int64_t update, const Arenas &arenas,
                            const StartingValues &start) {
  if (background)
    note(background->finish());
  if (update != saved && batches)
    saveNow(update, arenas, start);
}

std::vector<std::string> RunCheckpoints::takeSaved() {
  return std::exchange(complete, {});
}
