#include "checkpoint/Checkpoint.h"

#include "checkpoint/Shard.h"
#include "program/Control.h"
#include "state/Digest.h"
#include "state/Elements.h"
#include "state/Pieces.h"

#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <stdexcept>

using namespace zrt;

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

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
  const uint64_t numbers[2] = {mine.bytes, mine.digest};
  std::vector<uint64_t> all(2 * size_t(ranks));
  communicator.run(Collective::AllGather, Reduction::Sum,
                   {{numbers, all.data(), 2, DataType::I64, 0}});
  std::vector<StoredFile> files;
  for (int rank = 0; rank < ranks; ++rank)
    files.push_back({shardName(rank, ranks), all[2 * size_t(rank)],
                     all[2 * size_t(rank) + 1]});
  return files;
}

std::string zrt::saveCheckpoint(const std::string &folder,
                                const Program &program, const Arenas &arenas,
                                Communicator &communicator,
                                const RunPosition &position,
                                const StartingValues &start, int64_t keep,
                                FileSystem &files) {
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
  return inFolder(folder, name);
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// `text` of the first rank, on all.
static std::string broadcastText(Communicator &communicator, std::string text) {
  uint64_t size = text.size();
  communicator.run(Collective::Broadcast, Reduction::Sum,
                   {{&size, &size, 1, DataType::I64, 0}});
  text.resize(size);
  if (size)
    communicator.run(Collective::Broadcast, Reduction::Sum,
                     {{text.data(), text.data(), size, DataType::I8, 0}});
  return text;
}

/// What to say of checkpoints that are newer than the one that is taken, and
/// of a pointer that names another one.
static std::vector<std::string> remarksOn(const std::string &folder,
                                          const Checkpoints &found) {
  std::vector<std::string> remarks;
  const std::string taken =
      found.complete.empty() ? "" : found.complete.back().path;
  for (const BrokenCheckpoint &broken : found.broken)
    if (broken.path > taken)
      remarks.push_back(broken.path + " is not complete and is passed over (" +
                        broken.reason + ")");
  const auto names = FileSystem::disk().list(folder);
  if (std::binary_search(names.begin(), names.end(),
                         std::string(kPointerName))) {
    std::string name = readText(inFolder(folder, kPointerName));
    name.erase(name.find_last_not_of('\n') + 1);
    if (inFolder(folder, name) > taken)
      remarks.push_back(inFolder(folder, kPointerName) + " names " + name +
                        ", which is not there or not complete; the newest "
                        "complete checkpoint is taken");
  }
  return remarks;
}

std::optional<FoundCheckpoint>
zrt::findNewest(const std::string &folder, Communicator &communicator,
                std::vector<std::string> &remarks) {
  // One rank decides: others may see an older state of a shared file system.
  std::string path, text;
  together(communicator, [&] {
    if (communicator.rank() != 0)
      return;
    const Checkpoints found = findCheckpoints(folder);
    remarks = remarksOn(folder, found);
    if (found.complete.empty())
      return;
    path = found.complete.back().path;
    text = writeManifest(found.complete.back().manifest);
  });
  path = broadcastText(communicator, path);
  text = broadcastText(communicator, text);
  if (path.empty())
    return std::nullopt;
  return FoundCheckpoint{path, parseManifest(text, path)};
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void zrt::verifyFile(const std::string &path, const StoredFile &file) {
  const std::string name = inFolder(path, file.name);
  const auto refuse = [&](const std::string &why) {
    throw std::runtime_error(
        name + ": " + why +
        ": the checkpoint is damaged; restore the file, or "
        "remove the folder '" +
        path + "' to go on from the one before it");
  };
  uint64_t bytes = 0;
  try {
    bytes = FileHandle(name, O_RDONLY).size();
  } catch (const std::exception &error) {
    const std::string what = error.what();
    refuse(what.substr(std::min(what.size(), name.size() + 2)));
  }
  if (bytes != file.bytes)
    refuse("found " + std::to_string(bytes) + " bytes, wanted " +
           std::to_string(file.bytes));
  const uint64_t digest = digestPart(name, 0, 1).value;
  if (digest != file.digest)
    refuse("found the checksum " + hexadecimal(digest) + ", wanted " +
           hexadecimal(file.digest));
}

static std::string namesOf(const std::vector<StoredState> &states) {
  std::string names;
  for (const StoredState &state : states)
    if (state.name != kValueName)
      names += (names.empty() ? "" : ", ") + state.name;
  return names.empty() ? "no states" : names;
}

/// What is different between a stored tensor and the program's; "" if nothing.
static std::string differenceOf(const StoredTensor *found,
                                const StoredTensor &wanted) {
  if (!found)
    return "'" + wanted.name + "' is not in the checkpoint";
  if (found->shape != wanted.shape)
    return "'" + wanted.name + "' has the shape " + shapeText(found->shape) +
           " in the checkpoint and " + shapeText(wanted.shape) +
           " in this program";
  if (namesOf(found->states) != namesOf(wanted.states))
    return "'" + wanted.name + "' is kept with " + namesOf(found->states) +
           ", and this program trains it with " + namesOf(wanted.states);
  return "";
}

/// Most differences that one error lists.
static constexpr size_t kMostDifferences = 20;

/// Throws where the checkpoint is of another model or optimizer.
static void checkTensors(const FoundCheckpoint &found, const Program &program) {
  std::map<std::string, const StoredTensor *> kept;
  for (const StoredTensor &tensor : found.manifest.tensors)
    kept[tensor.name] = &tensor;
  std::vector<std::string> differences;
  for (const StoredTensor &wanted : tensorsOf(program)) {
    const auto entry = kept.find(wanted.name);
    const std::string difference =
        differenceOf(entry == kept.end() ? nullptr : entry->second, wanted);
    if (!difference.empty())
      differences.push_back(difference);
    if (entry != kept.end())
      kept.erase(entry);
  }
  for (const auto &[name, tensor] : kept)
    differences.push_back("'" + name + "' is no parameter of this program");
  if (differences.empty())
    return;
  std::string text;
  for (size_t i = 0; i < std::min(differences.size(), kMostDifferences); ++i)
    text += "\n  " + differences[i];
  if (differences.size() > kMostDifferences)
    text += "\n  and " + std::to_string(differences.size() - kMostDifferences) +
            " more";
  throw std::runtime_error(
      found.path +
      ": does not match this program; compile the model and optimizer that it "
      "was written with, or start from its weights (zero-checkpoint export, "
      "--weights):" +
      text);
}

/// The control block as it was; hyperparameters are the program's.
static void restoreControl(const Program &program, const Arenas &arenas,
                           const Manifest &manifest) {
  Control control;
  arenas.read(&control, &arenas.control(), sizeof(control));
  control.steps = manifest.steps;
  control.skipped = manifest.skipped;
  control.seed = manifest.data.seed;
  // A scaler of another kind starts as it always does.
  if (program.training.lossScale.kind == LossScaleKind::Dynamic &&
      manifest.scalerKind == LossScaleKind::Dynamic) {
    control.scale = manifest.scaler.scale;
    control.iteration = manifest.scaler.iteration;
    control.lastOverflow = manifest.scaler.lastOverflow;
    control.hysteresis = manifest.scaler.hysteresis;
    control.lossSeed =
        control.scale / static_cast<float>(program.training.accumulation);
  }
  arenas.write(&arenas.control(), &control, sizeof(control));
}

/// Sets the elements that `rank` stores of all parameters and states.
static void restoreElements(const Program &program, const Arenas &arenas,
                            int rank, const ShardReader &reader) {
  setConstantStates(program, arenas, rank); // padding, too
  for (const Parameter &parameter : program.parameters) {
    const auto source = [&](const std::string &state) -> ValueSource {
      return [&reader, &parameter, state](uint64_t element, uint64_t count,
                                          float *out) {
        reader.read(parameter.name, state, element, count, out);
      };
    };
    setParameter(program, arenas, rank, parameter, source(kValueName));
    for (const State &state : partitionOf(program, parameter).states)
      if (state.start == StateStart::Constant)
        setState(program, arenas, rank, parameter, state, source(state.name));
    if (isRoundedStart(program, parameter))
      reader.hold(parameter.name);
  }
}

LoadedCheckpoint zrt::loadCheckpoint(const FoundCheckpoint &found,
                                     const Program &program,
                                     const Arenas &arenas,
                                     Communicator &communicator) {
  const size_t rank = size_t(communicator.rank());
  const std::vector<StoredFile> &files = found.manifest.files;
  std::shared_ptr<ShardReader> reader;
  together(communicator, [&] {
    checkTensors(found, program);
    for (size_t i = rank; i < files.size(); i += size_t(communicator.ranks()))
      verifyFile(found.path, files[i]);
  });
  together(communicator, [&] {
    reader = std::make_shared<ShardReader>(found.path, found.manifest);
    restoreElements(program, arenas, int(rank), *reader);
    restoreControl(program, arenas, found.manifest);
  });
  return {found.path, found.manifest,
          [reader](const Parameter &parameter, uint64_t element, uint64_t count,
                   float *out) {
            reader->read(parameter.name, kValueName, element, count, out);
          }};
}
