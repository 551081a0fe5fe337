// Which samples a rank sees, and when.
#ifndef ZERO_RUNTIME_DATA_BATCHES_H
#define ZERO_RUNTIME_DATA_BATCHES_H

#include "data/Dataset.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zrt {

/// Ids that an input may hold, from the program: those from 0 to `size` - 1,
/// and `ignored`.
struct Vocabulary {
  int64_t size = -1; ///< rows of the table; negative: the input is not an id
  std::optional<int64_t> ignored; ///< what all losses leave out
  std::string unit;               ///< "rows" or "classes"
  std::string where;              ///< the operation that reads it, for messages
};

/// The rows of the embedding table that the step's input `input` indexes, or
/// the classes of the cross entropy that it is the target of, on each rank by
/// itself or a part of it on each.
Vocabulary vocabularyOf(const Program &program, const Input &input);

/// The vocabulary of the input of token ids, of which a part may be looked up;
/// negative if there is no such input.
Vocabulary tokenVocabularyOf(const Program &program);
/// Whether token ids may be bytes of text: there are at most 256.
bool isOfBytes(const Vocabulary &vocabulary);

/// As `openData` for the inputs of `program`. Text whose bytes would be tokens
/// is refused where the program has more ids than bytes have values, unless
/// `format` asks for it.
Data openData(const DataOptions &options, const Program &program);

/// Fills a rank's inputs. Which samples an update sees is a function of the
/// seed alone: sample i of update u is number u * (global batch) + i of a
/// sequence of epochs, each a permutation of the data. Rank r of n takes, in
/// micro-batch a, the samples from (a * n + r) * micro-batch onward.
class Batches {
public:
  /// `data` is borrowed. Throws std::runtime_error where inputs disagree.
  Batches(const Program &program, const Data &data, uint64_t seed, int rank);

  /// Fills `inputs` (addresses in the order of `Program::inputs`) for
  /// micro-batch `micro` of update `update`. Throws std::runtime_error where
  /// an id is outside its table. The samples are those of the rank that is
  /// `moved` places on among those that have samples.
  void fillTraining(uint64_t update, int micro, void *const *inputs,
                    uint64_t moved = 0) const;

  /// Samples in a micro-batch of a rank.
  uint64_t rows() const { return microBatch; }
  /// The place in the data of row `row` of this rank's batch, for messages.
  std::string placeOf(uint64_t update, int micro, uint64_t row) const;

  /// Fills `inputs` for batch `batch` of an evaluation: the same samples in
  /// every evaluation, whatever the seed. Throws as `fillTraining`, and where
  /// there is no validation data.
  void fillValidation(uint64_t batch, void *const *inputs) const;

  /// Fills `inputs` for batch `batch` of an evaluation with the samples in the
  /// order of the data; after the last one the first ones follow. Throws as
  /// `fillValidation`.
  void fillInOrder(uint64_t batch, void *const *inputs) const;
  /// Rows of samples in the validation data, and the batches of a rank that
  /// `fillInOrder` takes for all of them. Throw where there is no such data.
  uint64_t validationRows() const;
  uint64_t validationBatches() const;
  /// Whether so many batches of each rank take some validation samples more
  /// often than others, and all of them at least once.
  bool repeatsUnevenly(uint64_t batchCount) const;

  /// Makes update `update` (from 0) begin with sample `sample` of the
  /// sequence, and later updates follow; without it, update 0 begins with
  /// sample 0.
  void startAt(uint64_t update, uint64_t sample);
  /// The number of the sample that update `update` begins with.
  uint64_t samplesBefore(uint64_t update) const;
  uint64_t samplesPerUpdate() const;

  /// Tokens (or samples, where there are no sequences) in an update, over all
  /// ranks.
  uint64_t tokensPerUpdate() const;

private:
  /// The key that epochs are permuted by; without it, samples keep the data's
  /// order.
  using OrderKey = std::optional<uint64_t>;

  void fill(const Dataset &dataset, OrderKey key, uint64_t first,
            void *const *inputs) const;
  const Dataset &validation() const;
  uint64_t firstOf(uint64_t batch) const;
  uint64_t firstOfTraining(uint64_t update, int micro, uint64_t place) const;
  uint64_t rowsOf(const Dataset &dataset) const;
  void check(const Dataset &dataset, OrderKey key, uint64_t first,
             void *const *inputs) const;

  const Program &program;
  const Data &data;
  uint64_t seed;
  uint64_t index; ///< of the rank among those that have samples
  uint64_t microBatch;
  uint64_t firstUpdate = 0, firstSample = 0;
  std::vector<Vocabulary> vocabularies; ///< by input
};

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_BATCHES_H
