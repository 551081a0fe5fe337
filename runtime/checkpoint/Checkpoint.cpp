#include "checkpoint/Checkpoint.h"

#include "io/Digest.h"
#include "io/Together.h"
#include "program/Control.h"
#include "state/Elements.h"
#include "state/Pieces.h"

#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <stdexcept>

using namespace zrt;

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

std::optional<FoundCheckpoint>
zrt::findNewest(const std::string &folder, Communicator &communicator,
                std::vector<std::string> &remarks) {
  // One rank decides: others may see an older state of a shared file system.
  std::string path, text;
  together(communicator, [&] {
    if (communicator.rank() != 0)
      return;
    remarks.clear();
    const auto found = takeNewest(folder, remarks);
    if (!found)
      return;
    path = found->path;
    text = writeManifest(found->manifest);
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

[[noreturn]] static void refuseFile(const std::string &path,
                                    const StoredFile &file,
                                    const std::string &why) {
  throw std::runtime_error(inFolder(path, file.name) + ": " + why +
                           ": the checkpoint is damaged; restore the file, or "
                           "remove the folder '" +
                           path + "' to go on from the one before it");
}

/// The digest of one of `parts` parts of a file of the right size.
static uint64_t digestOf(const std::string &path, const StoredFile &file,
                         uint64_t part, uint64_t parts) {
  const std::string name = inFolder(path, file.name);
  uint64_t bytes = 0;
  try {
    bytes = FileHandle(name, O_RDONLY).size();
  } catch (const std::exception &error) {
    const std::string what = error.what();
    refuseFile(path, file, what.substr(std::min(what.size(), name.size() + 2)));
  }
  if (bytes != file.bytes)
    refuseFile(path, file,
               "found " + std::to_string(bytes) + " bytes, wanted " +
                   std::to_string(file.bytes));
  return digestPart(name, part, parts).value;
}

static void checkDigest(const std::string &path, const StoredFile &file,
                        uint64_t digest) {
  if (digest != file.digest)
    refuseFile(path, file,
               "found the checksum " + hexadecimal(digest) + ", wanted " +
                   hexadecimal(file.digest));
}

void zrt::verifyFile(const std::string &path, const StoredFile &file) {
  checkDigest(path, file, digestOf(path, file, 0, 1));
}

/// Every rank reads an equal part of every file, however large each is.
static void verifyTogether(const FoundCheckpoint &found,
                           Communicator &communicator) {
  const std::vector<StoredFile> &files = found.manifest.files;
  const uint64_t ranks = uint64_t(communicator.ranks());
  std::vector<uint64_t> digests(files.size());
  together(communicator, [&] {
    for (size_t i = 0; i < files.size(); ++i)
      digests[i] = digestOf(found.path, files[i],
                            (uint64_t(communicator.rank()) + i) % ranks, ranks);
  });
  if (!digests.empty())
    communicator.run(
        Collective::AllReduce, Reduction::Sum,
        {{digests.data(), digests.data(), digests.size(), DataType::I64, 0}});
  for (size_t i = 0; i < files.size(); ++i)
    checkDigest(found.path, files[i], digests[i]);
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
  // As after a skipped update: errors of quantized gradients begin anew.
  control.finite = 0;
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

/// Calls `body(name, type)` for each state of a parameter that a checkpoint
/// has, with the type in which the program stores it.
template <typename Body>
static void forEachStored(const Partition &partition, Body body) {
  body(kValueName, partition.computeType);
  for (const State &state : partition.states)
    if (state.start == StateStart::Constant)
      body(state.name, state.type);
}

/// Throws where the type of a parameter or state cannot hold one of its values.
/// Each rank looks at an equal part of them.
static void checkValues(const FoundCheckpoint &found, const Program &program,
                        const ShardReader &reader,
                        const Communicator &communicator) {
  const auto ranks = uint64_t(communicator.ranks());
  const auto rank = uint64_t(communicator.rank());
  std::vector<float> values;
  for (const Parameter &parameter : program.parameters)
    forEachStored(partitionOf(program, parameter), [&](const std::string &state,
                                                       DataType type) {
      if (type == DataType::F32) // as in the files, or wider
        return;
      const std::string what = (state == kValueName ? "" : state + " of ") +
                               "'" + parameter.name + "'";
      const auto elements = uint64_t(parameter.elements());
      for (uint64_t at = rank * kPortion; at < elements;
           at += ranks * kPortion) {
        values.resize(std::min(kPortion, elements - at));
        reader.read(parameter.name, state, at, values.size(), values.data());
        checkRange(found.path + ": ", what, type, at, values.data(),
                   values.size());
      }
    });
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

CheckedCheckpoint zrt::checkCheckpoint(const FoundCheckpoint &found,
                                       const Program &program,
                                       Communicator &communicator) {
  std::shared_ptr<const ShardReader> reader;
  together(communicator, [&] { checkTensors(found, program); });
  verifyTogether(found, communicator);
  together(communicator, [&] {
    reader = std::make_shared<ShardReader>(found.path, found.manifest);
    checkValues(found, program, *reader, communicator);
  });
  return {found, reader};
}

LoadedCheckpoint zrt::loadCheckpoint(const CheckedCheckpoint &checked,
                                     const Program &program,
                                     const Arenas &arenas,
                                     Communicator &communicator) {
  const FoundCheckpoint &found = checked.found;
  const std::shared_ptr<const ShardReader> reader = checked.reader;
  together(communicator, [&] {
    restoreElements(program, arenas, communicator.rank(), *reader);
    reader->closeOthers();
    restoreControl(program, arenas, found.manifest);
  });
  return {found.path, found.manifest,
          [reader](const Parameter &parameter, uint64_t element, uint64_t count,
                   float *out) {
            reader->read(parameter.name, kValueName, element, count, out);
          }};
}

LoadedCheckpoint zrt::loadCheckpoint(const FoundCheckpoint &found,
                                     const Program &program,
                                     const Arenas &arenas,
                                     Communicator &communicator) {
  return loadCheckpoint(checkCheckpoint(found, program, communicator), program,
                        arenas, communicator);
}
