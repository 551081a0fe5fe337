#include "data/Batches.h"

#include "data/Permutation.h"
#include "program/Loss.h"

#include <algorithm>
#include <stdexcept>

using namespace zrt;

namespace {

/// The seed of the order of validation samples.
constexpr uint64_t kValidationSeed = 0;

/// Which operand of a loss its targets are, and how many classes it has.
struct Targets {
  size_t operand;
  int64_t classes;
};

/// Those of a loss; nothing of other kernels.
std::optional<Targets> targetsOf(const KernelSpec &spec) {
  if (spec.name == "nn.cross_entropy" ||
      spec.name == "nn.partial_cross_entropy")
    return Targets{1, spec.integer("classes", spec.operands[0].shape.back())};
  if (spec.name == "nn.linear_partial_cross_entropy")
    return Targets{2, spec.integer("classes")};
  const bool isGradient = spec.name == "nn.linear_cross_entropy_grad";
  if (!isGradient && spec.name != "nn.linear_cross_entropy")
    return std::nullopt;
  const size_t weight = isGradient ? 2 : 1;
  const int64_t columns =
      spec.operands[weight].shape[spec.integer("transposed") ? 0 : 1];
  return Targets{weight + 1, spec.integer("classes", columns)};
}

/// Where the elements of an input are as a region goes on: in the input, and
/// wherever they are moved to as they are.
class Places {
public:
  /// Of the whole input, or of a part of it as well.
  Places(const Input &input, bool hasParts) : hasParts(hasParts) {
    found.push_back(input.buffer);
  }

  bool hold(const BufferRef &buffer) const {
    return std::any_of(found.begin(), found.end(), [&](const BufferRef &place) {
      return hasParts ? meet(place, buffer) : isWhole(place, buffer);
    });
  }

  /// Follows what a kernel moves, and forgets what it overwrites.
  void pass(const KernelSpec &spec, const Command &command) {
    const size_t results = spec.name == "zero.copy" ? 1 : spec.operands.size();
    const bool moves =
        isMove(spec.name) &&
        std::any_of(command.buffers.begin(), command.buffers.begin() + results,
                    [&](const BufferRef &from) { return hold(from); });
    for (size_t i = results; i < command.buffers.size(); ++i) {
      const BufferRef &to = command.buffers[i];
      found.erase(std::remove_if(
                      found.begin() + 1, found.end(),
                      [&](const BufferRef &place) { return meet(place, to); }),
                  found.end());
      if (moves)
        found.push_back(to);
    }
  }

private:
  static bool meet(const BufferRef &a, const BufferRef &b) {
    return a.space() == b.space() && a.offset < b.offset + b.bytes &&
           b.offset < a.offset + a.bytes;
  }
  /// A rank may have a slice, of which those of all ranks are the whole.
  static bool isWhole(const BufferRef &place, const BufferRef &buffer) {
    return place.space() == buffer.space() && place.offset == buffer.offset &&
           (place.bytes == buffer.bytes ||
            (buffer.stride == buffer.bytes && buffer.bytes > 0 &&
             place.bytes % buffer.bytes == 0));
  }
  bool isMove(const std::string &name) const {
    if (name == "nn.transpose" || name == "zero.copy")
      return true;
    return hasParts &&
           (name == "tensor.extract_slice" || name == "tensor.insert_slice" ||
            name == "tensor.concat" || name == "tensor.pad" ||
            name == "nn.broadcast" || name == "nn.split");
  }

  bool hasParts;
  std::vector<BufferRef> found; ///< the first is the input
};

/// The limit that one kernel puts on what is in `places`.
Vocabulary limitOf(const KernelSpec &spec, const Command &command,
                   const Places &places) {
  const std::string where =
      command.location.empty() ? "" : " at " + command.location;
  if ((spec.name == "nn.embedding" || spec.name == "nn.partial_embedding") &&
      places.hold(command.buffers[0]))
    return {spec.integer("num_embeddings", spec.operands[1].shape.front()),
            std::nullopt, "rows", "the embedding table" + where};
  const std::optional<Targets> targets = targetsOf(spec);
  if (targets && places.hold(command.buffers[targets->operand]))
    return {targets->classes, spec.integer("ignore_index", kIgnoreIndex),
            "classes", "the loss" + where};
  return {};
}

/// The least of the limits on an input, or on a part of it as well.
Vocabulary leastLimit(const Program &program, const Input &input,
                      bool hasParts) {
  Vocabulary result;
  for (const auto &[name, region] : program.regions()) {
    Places places(input, hasParts);
    for (const Command &command : region->commands) {
      if (command.opcode != Opcode::Kernel)
        continue;
      const KernelSpec &spec = program.kernels[command.kernel];
      Vocabulary found = limitOf(spec, command, places);
      places.pass(spec, command);
      if (found.size < 0)
        continue;
      if (result.size >= 0 && found.ignored != result.ignored)
        found.ignored = result.ignored = std::nullopt;
      if (result.size < 0 || found.size < result.size)
        result = std::move(found);
    }
  }
  return result;
}

/// The first id in `ids` that `limit` leaves out, or -1.
template <typename T>
int64_t firstOutside(const T *ids, int64_t count, const Vocabulary &limit) {
  for (int64_t i = 0; i < count; ++i)
    if ((ids[i] < 0 || ids[i] >= limit.size) && limit.ignored != ids[i])
      return i;
  return -1;
}

/// A sample by its epoch and its number there.
struct Sample {
  uint64_t epoch, index;
};

/// The sample at `position` of the sequence of epochs of order `key`.
Sample sampleAt(const Dataset &dataset, std::optional<uint64_t> key,
                uint64_t position) {
  const uint64_t samples = dataset.samples(), epoch = position / samples;
  const uint64_t place = position % samples;
  return {epoch, key ? permute(place, samples, mixBits(*key, epoch)) : place};
}

} // namespace

Vocabulary zrt::vocabularyOf(const Program &program, const Input &input) {
  return leastLimit(program, input, /*hasParts=*/false);
}

Vocabulary zrt::tokenVocabularyOf(const Program &program) {
  for (const Input &input : program.inputs)
    if (isTokenInput(input.name))
      return leastLimit(program, input, /*hasParts=*/true);
  return {};
}

bool zrt::isOfBytes(const Vocabulary &vocabulary) {
  return vocabulary.size >= 0 && vocabulary.size <= 256;
}

Data zrt::openData(const DataOptions &options, const Program &program) {
  Data data = openData(options, program.inputs);
  const Vocabulary vocabulary = tokenVocabularyOf(program);
  if (data.text.empty() || vocabulary.size < 0 || isOfBytes(vocabulary))
    return data;
  throw std::runtime_error(
      "'" + data.text +
      "' is read as text, and its bytes would be the tokens, "
      "but " +
      vocabulary.where + " has " + std::to_string(vocabulary.size) + " " +
      vocabulary.unit +
      ": make token ids of it with the model's tokenizer, by zero-tokenize "
      "--tokenizer tokenizer.json -o data.bin '" +
      data.text + "'; --data-format text trains on its bytes");
}

Batches::Batches(const Program &program, const Data &data, uint64_t seed,
                 int rank)
    : program(program), data(data), seed(seed),
      index(uint64_t(program.sampleIndex(rank))),
      microBatch(microBatchOf(program.inputs)) {
  for (const Input &input : program.inputs)
    vocabularies.push_back(vocabularyOf(program, input));
}

uint64_t Batches::rowsOf(const Dataset &dataset) const {
  return dataset.wholeBatches() ? 1 : microBatch;
}

void Batches::check(const Dataset &dataset, OrderKey key, uint64_t first,
                    void *const *inputs) const {
  for (size_t i = 0; i < vocabularies.size(); ++i) {
    const Vocabulary &limit = vocabularies[i];
    const TensorType &type = program.inputs[i].type;
    if (limit.size < 0)
      continue;
    const int64_t count = type.elements();
    int64_t at = -1, id = 0;
    if (type.type == DataType::I32) {
      const auto *ids = static_cast<const int32_t *>(inputs[i]);
      at = firstOutside(ids, count, limit);
      id = at < 0 ? 0 : ids[at];
    } else if (type.type == DataType::I64) {
      const auto *ids = static_cast<const int64_t *>(inputs[i]);
      at = firstOutside(ids, count, limit);
      id = at < 0 ? 0 : ids[at];
    }
    if (at < 0)
      continue;
    // All samples of a micro-batch share an input that has no rows of them.
    const bool hasRows =
        !type.shape.empty() && uint64_t(type.shape[0]) == microBatch;
    const uint64_t width =
        uint64_t(count) / (hasRows ? rowsOf(dataset) : uint64_t(1));
    const Sample sample = sampleAt(dataset, key, first + uint64_t(at) / width);
    throw std::runtime_error(
        dataset.placeOf(i, sample.epoch, sample.index, uint64_t(at) % width) +
        " has id " + std::to_string(id) + " for the input '" +
        program.inputs[i].name + "', but " + limit.where + " has " +
        std::to_string(limit.size) + " " + limit.unit +
        (limit.ignored ? " and ignores " + std::to_string(*limit.ignored)
                       : "") +
        ": use other data or compile the model with more");
  }
}

void Batches::fill(const Dataset &dataset, OrderKey key, uint64_t first,
                   void *const *inputs) const {
  const uint64_t rows = rowsOf(dataset);
  for (uint64_t row = 0; row < rows; ++row) {
    const Sample sample = sampleAt(dataset, key, first + row);
    dataset.read(sample.epoch, sample.index, int64_t(row), inputs);
  }
  check(dataset, key, first, inputs);
}

/// The number of the first sample of a micro-batch of the rank at `place`.
uint64_t Batches::firstOfTraining(uint64_t update, int micro,
                                  uint64_t place) const {
  return samplesBefore(update) +
         (uint64_t(micro) * program.sampleRanks() + place) *
             rowsOf(*data.training);
}

void Batches::fillTraining(uint64_t update, int micro, void *const *inputs,
                           uint64_t moved) const {
  const uint64_t place = (index + moved) % uint64_t(program.sampleRanks());
  fill(*data.training, seed, firstOfTraining(update, micro, place), inputs);
}

std::string Batches::placeOf(uint64_t update, int micro, uint64_t row) const {
  const Dataset &dataset = *data.training;
  const uint64_t first = firstOfTraining(update, micro, index);
  const Sample sample =
      sampleAt(dataset, seed, first + (dataset.wholeBatches() ? 0 : row));
  return dataset.placeOf(0, sample.epoch, sample.index, 0);
}

void Batches::startAt(uint64_t update, uint64_t sample) {
  firstUpdate = update;
  firstSample = sample;
}

uint64_t Batches::samplesBefore(uint64_t update) const {
  return firstSample + (update - firstUpdate) * samplesPerUpdate();
}

uint64_t Batches::samplesPerUpdate() const {
  return rowsOf(*data.training) * program.sampleRanks() *
         program.training.accumulation;
}

const Dataset &Batches::validation() const {
  if (!data.validation)
    throw std::runtime_error(data.noValidation);
  return *data.validation;
}

/// The number of the first sample of this rank's batch `batch`.
uint64_t Batches::firstOf(uint64_t batch) const {
  return (batch * program.sampleRanks() + index) * rowsOf(validation());
}

void Batches::fillValidation(uint64_t batch, void *const *inputs) const {
  fill(validation(), kValidationSeed, firstOf(batch), inputs);
}

void Batches::fillInOrder(uint64_t batch, void *const *inputs) const {
  fill(validation(), std::nullopt, firstOf(batch), inputs);
}

uint64_t Batches::validationRows() const {
  const uint64_t rowsOfSample = microBatch / rowsOf(validation());
  return validation().samples() * rowsOfSample;
}

uint64_t Batches::validationBatches() const {
  const uint64_t rows = microBatch * program.sampleRanks();
  return (validationRows() + rows - 1) / rows;
}

bool Batches::repeatsUnevenly(uint64_t batchCount) const {
  const uint64_t rows = batchCount * microBatch * program.sampleRanks();
  return rows > validationRows() && rows % validationRows() != 0;
}

uint64_t Batches::tokensPerUpdate() const {
  return data.training->tokensPerSample() * samplesPerUpdate();
}
