// Samples for the inputs of a training step.
#ifndef ZERO_RUNTIME_DATA_DATASET_H
#define ZERO_RUNTIME_DATA_DATASET_H

#include "program/Program.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zrt {

/// Samples by number. One sample is one row (index of the first dimension) of
/// every input of the program but those that all samples share.
class Dataset {
public:
  virtual ~Dataset();

  /// The file, for messages.
  virtual const std::string &path() const = 0;
  /// Samples in one epoch, at least 1.
  virtual uint64_t samples() const = 0;
  /// Tokens that a sample counts for in tokens a second: the sequence length,
  /// or 1 where samples are no sequences.
  virtual uint64_t tokensPerSample() const = 0;
  /// True where what counts as a sample fills all rows, a whole micro-batch.
  virtual bool wholeBatches() const { return false; }
  /// The place of element `element` of input `input` in sample `index` of epoch
  /// `epoch`, for messages: the file, and the place in it.
  virtual std::string placeOf(size_t input, uint64_t epoch, uint64_t index,
                              uint64_t element) const = 0;
  /// Writes row `row` of each input, in the order of `Program::inputs`, from
  /// sample `index` of epoch `epoch`. `inputs` are the whole inputs' addresses.
  /// Rows are written in order, the first of a micro-batch first.
  virtual void read(uint64_t epoch, uint64_t index, int64_t row,
                    void *const *inputs) const = 0;
};

/// The data to read, and how to split it.
struct DataOptions {
  std::string path;
  std::string format;               ///< of token files; empty: by name
  int ranks = 0;                    ///< that want a micro-batch each; 0: any
  std::string validationPath;       ///< empty: split off the end of `path`
  double validationFraction = 0.05; ///< of the tokens or samples, in [0, 1)
  uint64_t seed = 0;
};

/// The two parts. `validation` is null where the fraction is 0 or its part
/// holds no whole sample; then `noValidation` says why. `remark` is something
/// that the user may not have meant, or empty.
struct Data {
  std::unique_ptr<Dataset> training;
  std::unique_ptr<Dataset> validation;
  std::string noValidation;
  std::string remark;
  std::string text; ///< a file whose bytes are tokens by its name; or empty
};

/// Opens the data for `inputs`; the kind of file follows from its name. A
/// folder, `.npy` and `.safetensors` are arrays by the inputs' names, and a
/// remark names what is not read. Anything else is a file of tokens, see
/// `TokenFormat`; a file whose name ends as that of a format which is not read
/// is refused unless `format` is given.
///
/// Throws std::runtime_error with one sentence: which file, what is wrong.
Data openData(const DataOptions &options, const std::vector<Input> &inputs);

/// Samples in a micro-batch of one rank: the first dimension of the first
/// input. Inputs that have another one are shared by all samples. Throws
/// std::runtime_error where there is no input, or the first is a scalar or
/// holds no samples.
int64_t microBatchOf(const std::vector<Input> &inputs);

/// True for the names that inputs of token ids have: "tokens", and "input_ids"
/// as in transformers.
bool isTokenInput(const std::string &name);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_DATASET_H
