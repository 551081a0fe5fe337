// Files of tokens: text, and 16-bit ids.
#ifndef ZERO_RUNTIME_DATA_TOKENFILE_H
#define ZERO_RUNTIME_DATA_TOKENFILE_H

#include "data/Dataset.h"
#include "data/MappedFile.h"

#include <memory>

namespace zrt {

/// A mapped file of tokens.
class TokenFile {
public:
  /// Throws std::runtime_error where the file is not what its name says.
  explicit TokenFile(const std::string &path);

  const std::string &path() const { return file.path(); }
  uint64_t size() const { return count; }
  int32_t operator[](uint64_t position) const;
  /// True where a token is a byte of text.
  bool isText() const { return bytesPerToken == 1; }

private:
  void readHeader();

  MappedFile file;
  const unsigned char *tokens = nullptr;
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
