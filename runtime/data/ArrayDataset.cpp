#include "data/ArrayDataset.h"

#include "data/DataFile.h"
#include "data/ElementConversion.h"
#include "data/Nearest.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

using namespace zrt;

namespace {

std::string quoted(const std::string &text) { return "'" + text + "'"; }

std::string listOf(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + quoted(name);
  return text;
}

std::vector<std::string> namesOf(const StoredArrays &file) {
  std::vector<std::string> names;
  for (const StoredArray &array : file.arrays())
    names.push_back(array.name);
  return names;
}

[[noreturn]] void refuseMissing(const StoredArrays &file,
                                const std::string &input) {
  const std::vector<std::string> names = namesOf(file);
  const std::string nearest = nearestOf(input, names);
  throw std::runtime_error(
      quoted(file.path()) + " has no array '" + input +
      "', which the step has as input; it has " +
      (names.empty() ? "no array" : listOf(names)) +
      (nearest.empty() ? "" : "; name " + quoted(nearest) + " as the input"));
}

/// Whether the rows of `input` are samples.
bool hasSamples(const Input &input, int64_t microBatch) {
  return !input.type.shape.empty() && input.type.shape[0] == microBatch;
}

/// What an array of `input` must look like, in words.
std::string describeWanted(const Input &input, int64_t microBatch) {
  const std::vector<int64_t> &shape = input.type.shape;
  if (!hasSamples(input, microBatch))
    return shapeText(shape) +
           ", shared by all samples as the first dimension "
           "is not the micro-batch, " +
           std::to_string(microBatch) + ", or micro-batches of this shape";
  return "samples of shape " +
         shapeText(std::vector<int64_t>(shape.begin() + 1, shape.end()));
}

ArrayRole roleOf(const StoredArrays &file, const StoredArray &array,
                 const Input &input, int64_t microBatch) {
  const std::vector<int64_t> &shape = input.type.shape;
  const auto restIs = [&](auto begin) {
    return !array.shape.empty() &&
           std::equal(array.shape.begin() + 1, array.shape.end(), begin,
                      shape.end());
  };
  if (restIs(shape.begin()))
    return ArrayRole::Batches;
  if (hasSamples(input, microBatch) && restIs(shape.begin() + 1))
    return ArrayRole::Samples;
  if (!hasSamples(input, microBatch) && array.shape == shape) {
    if (array.pieces.size() > 1)
      throw std::runtime_error(
          quoted(file.path()) + ": the array '" + input.name +
          "', which all samples share, is in " +
          std::to_string(array.pieces.size()) +
          " files: put it into one, since it has no samples to divide");
    return ArrayRole::Shared;
  }
  throw std::runtime_error(quoted(file.path()) + ": the array '" + input.name +
                           "' has shape " + shapeText(array.shape) +
                           ", wanted " + describeWanted(input, microBatch));
}

BoundArray bind(const StoredArrays &file, const Input &input,
                int64_t microBatch) {
  const StoredArray *array = file.find(input.name);
  if (!array)
    refuseMissing(file, input.name);
  if (!canConvert(array->type, input.type.type))
    throw std::runtime_error(
        quoted(file.path()) + ": the array '" + input.name + "' holds " +
        zrt::nameOf(array->type) + ", which cannot be read as " +
        zrt::nameOf(input.type.type) +
        ": convert it, so that what its values mean is your choice");
  return {array, roleOf(file, *array, input, microBatch)};
}

/// Where a file's rows are in an array: the first, and their number.
using Span = std::pair<uint64_t, uint64_t>;

/// Throws where a file that holds parts of several arrays holds other rows of
/// one than of another: rows that belong together would come apart.
void checkAlignment(const BoundArrays &arrays) {
  std::map<std::string, std::pair<Span, const StoredArray *>> spans;
  for (const BoundArray &bound : arrays.byInput) {
    if (bound.role == ArrayRole::Shared)
      continue;
    uint64_t first = 0;
    for (const ArrayPiece &piece : bound.array->pieces) {
      const Span span(first, piece.rows);
      const auto found =
          spans.try_emplace(piece.path, span, bound.array).first->second;
      if (found.first != span)
        throw std::runtime_error(
            quoted(piece.path) + " has " + std::to_string(piece.rows) +
            " samples of '" + bound.array->name + "' from number " +
            std::to_string(first) + " on, but " +
            std::to_string(found.first.second) + " of '" + found.second->name +
            "' from number " + std::to_string(found.first.first) +
            " on: they would not be of the same samples");
      first += piece.rows;
    }
  }
}

/// Sets what the arrays' first dimensions agree on. Throws where they do not.
void countSamples(BoundArrays &arrays) {
  const BoundArray *first = nullptr;
  for (const BoundArray &bound : arrays.byInput) {
    if (bound.role == ArrayRole::Shared)
      continue;
    const uint64_t count = uint64_t(bound.array->shape[0]);
    const bool whole = bound.role == ArrayRole::Batches;
    if (!first) {
      first = &bound;
      arrays.count = count;
      arrays.wholeBatches = whole;
    }
    const std::string where =
        quoted(arrays.file->path()) + ": the array '" + bound.array->name + "'";
    if (whole != arrays.wholeBatches)
      throw std::runtime_error(where + " holds " +
                               (whole ? "whole micro-batches" : "samples") +
                               ", '" + first->array->name + "' holds " +
                               (whole ? "samples" : "whole micro-batches") +
                               ": give all in one of the two forms");
    if (count != arrays.count)
      throw std::runtime_error(where + " has " + std::to_string(count) +
                               " samples, '" + first->array->name + "' has " +
                               std::to_string(arrays.count));
  }
  if (!first)
    throw std::runtime_error(quoted(arrays.file->path()) +
                             " has no array of samples: all are shared");
}

class ArrayDataset : public Dataset {
public:
  ArrayDataset(const BoundArrays &arrays, uint64_t begin, uint64_t end,
               const std::vector<Input> &inputs)
      : arrays(arrays), begin(begin), count(end - begin), inputs(inputs) {
    if (end <= begin)
      throw std::runtime_error(quoted(path()) +
                               " has no sample for this part of the data");
  }

  const std::string &path() const override { return arrays.file->path(); }
  uint64_t samples() const override { return count; }
  bool wholeBatches() const override { return arrays.wholeBatches; }

  uint64_t tokensPerSample() const override {
    const std::vector<int64_t> &first = inputs[0].type.shape;
    const uint64_t rows = arrays.wholeBatches ? uint64_t(first[0]) : 1;
    for (const Input &input : inputs)
      if (isTokenInput(input.name) && input.type.shape.size() == 2)
        return rows * uint64_t(input.type.shape[1]);
    return rows;
  }

  std::string placeOf(size_t input, uint64_t, uint64_t index,
                      uint64_t element) const override {
    const BoundArray &bound = arrays.byInput[input];
    const bool shared = bound.role == ArrayRole::Shared;
    const uint64_t row = shared ? 0 : begin + index;
    return quoted(bound.array->pathOf(row)) + ": the array '" +
           bound.array->name + "'" +
           (shared ? "" : ", sample " + std::to_string(row)) + ", element " +
           std::to_string(element);
  }

  void read(uint64_t, uint64_t index, int64_t row,
            void *const *destinations) const override {
    for (size_t i = 0; i < inputs.size(); ++i)
      // What is shared is read with the first of a micro-batch's samples.
      if (arrays.byInput[i].role != ArrayRole::Shared || row == 0)
        readInput(i, index, uint64_t(row), destinations[i]);
  }

private:
  void readInput(size_t i, uint64_t index, uint64_t row, void *to) const {
    // One a rank's thread, so that a step allocates nothing.
    static thread_local std::vector<char> raw;
    const auto [array, role] = arrays.byInput[i];
    const TensorType &type = inputs[i].type;
    const bool isRow = role == ArrayRole::Samples;
    const uint64_t elements =
        uint64_t(isRow ? type.elements() / type.shape[0] : type.elements());
    const uint64_t sample = role == ArrayRole::Shared ? 0 : begin + index;
    raw.resize(elements * zrt::sizeOf(array->type));
    array->read(sample * elements, elements, raw.data());
    const std::string problem = convertElements(
        array->type, raw.data(), type.type,
        static_cast<char *>(to) +
            (isRow ? row * elements * zrt::sizeOf(type.type) : 0),
        elements);
    if (!problem.empty())
      throw std::runtime_error(quoted(array->pathOf(sample)) + ": sample " +
                               std::to_string(sample) + " of the array '" +
                               array->name + "' has " + problem +
                               ", the type of the step's input");
  }

  BoundArrays arrays;
  uint64_t begin, count;
  std::vector<Input> inputs;
};

} // namespace

BoundArrays zrt::bindArrays(const std::string &path,
                            const std::vector<Input> &inputs) {
  const int64_t microBatch = microBatchOf(inputs);
  const bool isOne = endsWith(path, ".npy");
  if (isOne && inputs.size() > 1) {
    std::vector<std::string> files;
    for (const Input &input : inputs)
      files.push_back(input.name + ".npy");
    throw std::runtime_error(
        quoted(path) + " is one array, but the step has " +
        std::to_string(inputs.size()) + " inputs: give a folder that holds " +
        listOf(files) + ", or one .safetensors file with an array for each");
  }
  BoundArrays result;
  result.file = std::make_shared<StoredArrays>(path, inputs[0].name);
  for (const Input &input : inputs)
    result.byInput.push_back(bind(*result.file, input, microBatch));
  countSamples(result);
  checkAlignment(result);
  return result;
}

std::string zrt::remarkOnOthers(const StoredArrays &file,
                                const std::vector<Input> &inputs) {
  std::vector<std::string> arrays;
  for (const StoredArray &array : file.arrays())
    if (std::none_of(inputs.begin(), inputs.end(), [&](const Input &input) {
          return input.name == array.name;
        }))
      arrays.push_back(array.name);
  std::string text;
  if (!arrays.empty())
    text = quoted(file.path()) +
           " has arrays that the step has no input for, and that are not "
           "read: " +
           listOf(arrays);
  if (!file.otherFiles().empty())
    text += (text.empty() ? quoted(file.path()) + " has" : "; it has") +
            " files that are not read: " + listOf(file.otherFiles());
  return text;
}

std::unique_ptr<Dataset>
zrt::makeArrayDataset(const BoundArrays &arrays, uint64_t begin, uint64_t end,
                      const std::vector<Input> &inputs) {
  return std::make_unique<ArrayDataset>(arrays, begin, end, inputs);
}
