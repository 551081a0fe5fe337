#include "state/Weights.h"

#include "io/Digest.h"
#include "io/SafeTensors.h"
#include "io/TensorFiles.h"
#include "io/Together.h"
#include "io/TogetherFile.h"
#include "program/Float16.h"
#include "program/StoredParameters.h"
#include "state/Elements.h"
#include "state/Initialize.h"
#include "state/PackedSlice.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <unistd.h>

using namespace zrt;

/// The type of its values in files of weights.
static TensorDataType typeInFiles(const StoredParameter &stored) {
  return storedTypeOf(stored.type, "parameter '" + stored.name + "'");
}

TensorDataType zrt::writtenType(const Program &program,
                                const Parameter &parameter) {
  return typeInFiles(describeStored(program, parameter));
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

namespace {

/// Names that one complaint is about.
class Complaint {
public:
  explicit Complaint(std::string what) : what(std::move(what)) {}

  void add(const std::string &name) {
    if (count++ < 20)
      names += (names.empty() ? "" : ", ") + name;
  }
  void appendTo(std::string &text) const {
    if (count == 0)
      return;
    text += "\n  " + what + ": " + names;
    if (count > 20)
      text += " and " + std::to_string(count - 20) + " more";
  }

private:
  std::string what, names;
  size_t count = 0;
};

} // namespace

/// The parameter in the files: under its name or, where they do not have that,
/// another one of it. Null where they have none.
static const TensorPlace *findParameter(const TensorFiles &files,
                                        const Program &program,
                                        const std::string &name) {
  const TensorPlace *place = files.find(name);
  for (const FileTensor &tensor : program.fileTensors)
    if (!place && tensor.parameter == name)
      place = files.find(tensor.name);
  return place;
}

static void checkNames(const std::string &path, const TensorFiles &files,
                       const Program &program) {
  Complaint missing("parameters that the file does not have"),
      extra("tensors that are no parameters of this model"),
      shapes("other shapes"), types("other types");
  std::set<std::string> known;
  for (const StoredParameter &wanted : storedParametersOf(program)) {
    known.insert(wanted.name);
    const TensorPlace *place = findParameter(files, program, wanted.name);
    if (!place) {
      missing.add(wanted.name);
      continue;
    }
    const TensorEntry *entry = place->entry;
    if (entry->shape != wanted.shape)
      shapes.add(wanted.name + " (found " + shapeText(entry->shape) +
                 ", wanted " + shapeText(wanted.shape) + ")");
    if (!isFloatType(entry->type))
      types.add(wanted.name + " (found " + nameOf(entry->type) +
                ", wanted F32, F16 or BF16)");
  }
  for (const FileTensor &tensor : program.fileTensors)
    known.insert(tensor.name);
  for (const TensorPlace &place : files.tensors())
    if (!known.count(place.entry->name))
      extra.add(place.entry->name);
  std::string text;
  for (const Complaint *complaint : {&missing, &extra, &shapes, &types})
    complaint->appendTo(text);
  if (!text.empty())
    throw std::runtime_error(path + ": does not match the model:" + text);
}

/// The digest of a tensor's bytes.
static uint64_t digestOf(const TensorPlace &place) {
  const TensorEntry &entry = *place.entry;
  const uint64_t each = sizeOf(entry.type), elements = entry.elements();
  const uint64_t portion = kDigestBlock / each;
  std::vector<char> bytes(std::min(elements, portion) * each);
  uint64_t digest = 0;
  for (uint64_t first = 0; first < elements; first += portion) {
    const uint64_t count = std::min(portion, elements - first);
    place.file->read(entry, first, count, bytes.data());
    digest += digestBlock(first / portion, bytes.data(), count * each);
  }
  return digest;
}

/// Throws where a buffer in the files is not the one whose values the step has
/// as constants. Each rank looks at some of them.
static void checkBuffers(const std::string &path, const TensorFiles &files,
                         const Program &program, int rank) {
  Complaint others("buffers of other values than those that it was imported "
                   "with; import it with these");
  bool differs = false;
  for (size_t i = size_t(rank); i < program.fileTensors.size();
       i += size_t(program.training.ranks)) {
    const FileTensor &tensor = program.fileTensors[i];
    const TensorPlace *place =
        tensor.digest.empty() ? nullptr : files.find(tensor.name);
    if (!place || hexadecimal(digestOf(*place)) == tensor.digest)
      continue;
    others.add(tensor.name);
    differs = true;
  }
  std::string text;
  others.appendTo(text);
  if (differs)
    throw std::runtime_error(path + ": does not match the model:" + text);
}

/// Throws where `tensor`, another name of a parameter, has other values in
/// the files than `values`, those of the parameter from `element` on.
static void checkTied(const std::string &path, const TensorFiles &files,
                      const FileTensor &tensor, const Parameter &parameter,
                      uint64_t element, uint64_t count, const float *values) {
  const TensorPlace *place = files.find(tensor.name);
  if (!place)
    return;
  std::vector<float> other(count);
  if (place->entry->shape == parameter.shape &&
      isFloatType(place->entry->type)) {
    place->readFloats(element, count, other.data());
    if (std::memcmp(other.data(), values, count * sizeof(float)) == 0)
      return;
  }
  throw std::runtime_error(path + ": '" + tensor.name + "' is '" +
                           parameter.name +
                           "' in this model, and has other values in the "
                           "file; leave one of them out");
}

/// The same for all other names of the parameter.
static void checkTies(const std::string &path, const TensorFiles &files,
                      const Program &program, const Parameter &parameter,
                      uint64_t element, uint64_t count, const float *values) {
  for (const FileTensor &tensor : program.fileTensors)
    if (tensor.parameter == parameter.name)
      checkTied(path, files, tensor, parameter, element, count, values);
}

StartingValues zrt::initialValuesOf(uint64_t seed) {
  return [seed](const Parameter &parameter, uint64_t element, uint64_t count,
                float *out) {
    initialValues(parameter, seed, element, count, out);
  };
}

StartingValues zrt::loadWeights(const std::string &path, const Program &program,
                                const Arenas &arenas,
                                Communicator &communicator) {
  std::shared_ptr<TensorFiles> files;
  together(communicator, [&] {
    files = std::make_shared<TensorFiles>(path);
    checkNames(path, *files, program);
    checkBuffers(path, *files, program, communicator.rank());
    for (const Parameter &parameter : program.parameters) {
      const TensorPlace &place =
          *findParameter(*files, program, parameter.name);
      const DataType type = partitionOf(program, parameter).computeType;
      setParameter(program, arenas, communicator.rank(), parameter,
                   [&](uint64_t element, uint64_t count, float *out) {
                     place.readFloats(element, count, out);
                     checkTies(path, *files, program, parameter, element, count,
                               out);
                     checkRange(path + ": ", "'" + parameter.name + "'", type,
                                element, out, count);
                   });
    }
  });
  return [files, &program](const Parameter &parameter, uint64_t element,
                           uint64_t count, float *out) {
    findParameter(*files, program, parameter.name)
        ->readFloats(element, count, out);
  };
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// The file's tensors, without their places.
static std::vector<TensorEntry> entriesOf(const Program &program) {
  std::vector<TensorEntry> entries;
  for (const StoredParameter &tensor : storedParametersOf(program)) {
    TensorEntry entry;
    entry.name = tensor.name;
    entry.type = typeInFiles(tensor);
    entry.shape = tensor.shape;
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool zrt::isRoundedStart(const Program &program, const Parameter &parameter) {
  const Partition &partition = partitionOf(program, parameter);
  return !partition.trainable &&
         (partition.computeType != parameter.modelType ||
          partition.isQuantized());
}

/// Throws where values of the start are not stored as `found`.
static void checkStart(const Parameter &parameter,
                       const std::vector<float> &wanted, const float *found) {
  if (std::memcmp(wanted.data(), found, wanted.size() * sizeof(float)) != 0)
    throw std::runtime_error(
        "the frozen parameter '" + parameter.name +
        "' is not what the run started from: the weights file that it was "
        "loaded from has changed since");
}

/// Exact values of what is stored in fewer bits.
static void readRounded(const Program &program, const Arenas &arenas, int rank,
                        const Parameter &parameter, const StartingValues &start,
                        const ValueSink &sink) {
  const DataType type = partitionOf(program, parameter).computeType;
  readParameter(program, arenas, rank, parameter,
                [&](uint64_t element, uint64_t count, const float *stored) {
                  std::vector<float> exact(count);
                  start(parameter, element, count, exact.data());
                  std::vector<float> rounded = exact;
                  roundTo(type, rounded.data(), count);
                  checkStart(parameter, rounded, stored);
                  sink(element, count, exact.data());
                });
}

/// The same of what is quantized, by blocks of a rank's slice.
static void readQuantized(const Program &program, const Arenas &arenas,
                          int rank, const Parameter &parameter,
                          const StartingValues &start, const ValueSink &sink) {
  const PackedSlice slice(program, arenas, rank, parameter);
  const ValueSource source = [&](uint64_t element, uint64_t count, float *out) {
    start(parameter, element, count, out);
  };
  const auto read = [&](const Piece &piece) {
    std::vector<float> stored(piece.count), rounded(piece.count),
        exact(piece.count);
    slice.read(piece.stored, piece.count, stored.data());
    slice.expect(piece.stored, piece.count, source, exact.data(),
                 rounded.data());
    checkStart(parameter, rounded, stored.data());
    sink(piece.element, piece.count, exact.data());
  };
  forEachShare(
      program, parameter, /*sharded=*/true, rank, [&](const Piece &piece) {
        for (uint64_t at = 0; at < piece.count; at += slice.portion())
          read(piece.from(at, std::min(slice.portion(), piece.count - at)));
      });
}

void zrt::readModelValues(const Program &program, const Arenas &arenas,
                          int rank, const Parameter &parameter,
                          const StartingValues &start, const ValueSink &sink) {
  if (!isRoundedStart(program, parameter))
    return readParameter(program, arenas, rank, parameter, sink);
  if (partitionOf(program, parameter).isQuantized())
    return readQuantized(program, arenas, rank, parameter, start, sink);
  readRounded(program, arenas, rank, parameter, start, sink);
}

static void writeShare(const TogetherFile &file, const Program &program,
                       const Arenas &arenas, int rank,
                       const StartingValues &start) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < file.tensors().size(); ++i)
    places[file.tensors()[i].name] = i;
  std::vector<char> bytes;
  for (const Parameter &parameter : program.parameters) {
    if (isWrittenElsewhere(program, parameter))
      continue;
    const size_t place = places.at(parameter.name);
    const TensorDataType type = file.tensors()[place].type;
    uint64_t width = sizeOf(type);
    readModelValues(
        program, arenas, rank, parameter, start,
        [&](uint64_t element, uint64_t count, const float *values) {
          bytes.resize(count * width);
          storeElements(floatTypeOf(type), false, values, bytes.data(), count);
          file.write(place, element * width, bytes.data(), bytes.size());
        });
  }
}

void zrt::saveWeights(const std::string &path, const Program &program,
                      const Arenas &arenas, Communicator &communicator,
                      const StartingValues &start) {
  TogetherFile file(path, communicator, [&] { return entriesOf(program); });
  together(communicator, [&] {
    writeShare(file, program, arenas, communicator.rank(), start);
  });
  file.publish();
}
