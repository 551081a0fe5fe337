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
/// every input of the program.
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
  /// Writes row `row` of each input, in the order of `Program::inputs`, from
  /// sample `index` of epoch `epoch`. `inputs` are the whole inputs' addresses.
  virtual void read(uint64_t epoch, uint64_t index, int64_t row,
                    void *const *inputs) const = 0;
};

/// What to read.
struct DataOptions {
  std::string path;
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
};

/// Opens the data for `inputs`; the kind of file follows from its name:
/// `.safetensors` holds one array an input, of the input's name, with samples
/// along the first dimension, and a remark names any others; `.bin` holds
/// 16-bit token ids, with llm.c's header or without one; anything else is text,
/// whose bytes are the tokens. Token files fill the input `tokens` and, one
/// token later, `targets`.
///
/// Throws std::runtime_error with one sentence: which file, what is wrong.
Data openData(const DataOptions &options, const std::vector<Input> &inputs);

/// Samples in a micro-batch of one rank: the inputs' first dimension. Throws
/// std::runtime_error where the inputs disagree.
int64_t microBatchOf(const std::vector<Input> &inputs);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_DATASET_H
