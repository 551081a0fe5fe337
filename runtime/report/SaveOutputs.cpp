#include "report/SaveOutputs.h"

#include "io/TogetherFile.h"

#include <algorithm>
#include <stdexcept>

using namespace zrt;

std::vector<const Output *> zrt::namedOutputs(const Program &program) {
  std::vector<const Output *> found;
  for (const Output &output : program.outputs())
    if (output.name != "loss")
      found.push_back(&output);
  if (found.empty())
    throw std::runtime_error(
        "the model names no output but its loss: add some to zero.yield, or "
        "import it with --output-tensor");
  return found;
}

bool zrt::hasRowsOfSamples(const Program &program, const Output &output) {
  return !output.type.shape.empty() &&
         output.type.shape[0] == microBatchOf(program.inputs);
}

namespace {

/// Where the outputs of all micro-batches of all ranks are in the file.
class OutputLayout {
public:
  OutputLayout(const Program &program, const Batches &batches)
      : program(program), rows(batches.validationRows()),
        micros(batches.validationBatches() * program.sampleRanks()) {}

  std::vector<TensorEntry>
  entriesOf(const std::vector<const Output *> &outputs) const {
    std::vector<TensorEntry> entries;
    for (const Output *output : outputs) {
      TensorEntry entry;
      entry.name = output->name;
      entry.type = typeInFile(output->type.type);
      entry.shape = output->type.shape;
      if (hasRowsOfSamples(program, *output))
        entry.shape[0] = int64_t(rows);
      else
        entry.shape.insert(entry.shape.begin(), int64_t(micros));
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  /// Bytes of the output of micro-batch `micro` that go to the file: less
  /// than all where the samples end.
  uint64_t bytesOf(const Output &output, uint64_t micro) const {
    if (!hasRowsOfSamples(program, output))
      return output.type.bytes();
    const auto microBatch = uint64_t(output.type.shape[0]);
    const uint64_t first = std::min(micro * microBatch, rows);
    return std::min(rows - first, microBatch) *
           (output.type.bytes() / microBatch);
  }

private:
  const Program &program;
  uint64_t rows, micros;
};

} // namespace

uint64_t zrt::saveOutputs(const std::string &path, const Program &program,
                          Backend &backend, Trainer &trainer,
                          const Batches &batches, Communicator &communicator,
                          const std::function<bool()> &goesOn) {
  const std::vector<const Output *> outputs = namedOutputs(program);
  const OutputLayout layout(program, batches);
  const auto ranks = uint64_t(program.sampleRanks());
  const auto index = uint64_t(program.sampleIndex(communicator.rank()));
  // Ranks that compute one model have the same outputs, in its last stage.
  const auto placeOf = [&](int64_t rank) {
    return program.mesh.numberOf(program.mesh.samples, rank);
  };
  const bool writes =
      placeOf(communicator.rank()) == placeOf(program.firstLossRank());
  TogetherFile file(path, communicator,
                    [&] { return layout.entriesOf(outputs); });
  // A rank that cannot write goes on: others wait for it in collectives.
  std::string error;
  std::vector<char> bytes;
  const auto write = [&](uint64_t number) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      bytes.resize(layout.bytesOf(*outputs[i], number));
      backend.read(outputs[i]->buffer, 0, bytes.data(), bytes.size());
      file.write(i, number * outputs[i]->type.bytes(), bytes.data(),
                 bytes.size());
    }
  };
  const EvaluationReport report = trainer.evaluate(
      int64_t(batches.validationBatches()),
      [&](int64_t micro, void *const *inputs) {
        batches.fillInOrder(uint64_t(micro), inputs);
      },
      [&](int64_t micro) {
        try {
          if (error.empty() && writes)
            write(uint64_t(micro) * ranks + index);
        } catch (const std::runtime_error &failure) {
          error = failure.what();
        }
      },
      goesOn);
  if (!report.isWhole)
    return 0;
  file.publish(error);
  return batches.validationRows();
}
