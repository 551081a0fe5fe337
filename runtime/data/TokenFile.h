// Files of tokens: text, and 16-bit ids.
#ifndef ZERO_RUNTIME_DATA_TOKENFILE_H
#define ZERO_RUNTIME_DATA_TOKENFILE_H

#include "data/Dataset.h"
#include "state/SafeTensors.h"

#include <memory>

namespace zrt {

/// An open file of tokens. They are read, not mapped: a file that is cut short
/// while it is in use gives an error and no signal.
class TokenFile {
public:
  /// Throws std::runtime_error where the file is not what its name says.
  explicit TokenFile(const std::string &path);

  const std::string &path() const { return name; }
  uint64_t size() const { return count; }
  /// Writes the `number` tokens from `first` on to `out`. Throws
  /// std::runtime_error where they are not there any more.
  void read(uint64_t first, uint64_t number, int32_t *out) const;
  /// True where a token is a byte of text.
  bool isText() const { return bytesPerToken == 1; }

private:
  void readHeader();
  void readBytes(uint64_t offset, void *out, uint64_t number) const;

  std::string name;
  FileHandle file;
  uint64_t bytes = 0; ///< of the file
  uint64_t begin = 0; ///< of the tokens, in bytes
  uint64_t count = 0;
  int bytesPerToken = 1;
};

/// The sequence length of token inputs: the second dimension of `tokens` and
/// `targets`. Throws std::runtime_error where `inputs` are not `tokens` and
/// optionally `targets`, both integers of one shape [samples, length].
int64_t sequenceLength(const std::vector<Input> &inputs);

/// Windows of the tokens [begin, end) of `file`. With `shift` each epoch cuts
/// them at another place, a function of `seed` and the epoch. Throws
/// std::runtime_error where there is no window of `sequenceLength` + 1 tokens.
std::unique_ptr<Dataset> makeTokenDataset(std::shared_ptr<TokenFile> file,
                                          uint64_t begin, uint64_t end,
                                          const std::vector<Input> &inputs,
                                          bool shift, uint64_t seed);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_TOKENFILE_H
