// Files of tokens: text, and 16-bit ids.
#ifndef ZERO_RUNTIME_DATA_TOKENFILE_H
#define ZERO_RUNTIME_DATA_TOKENFILE_H

#include "data/Dataset.h"
#include "io/SafeTensors.h"

#include <memory>

namespace zrt {

/// How a file of tokens is read. By name, `.bin` has the header of llm.c, which
/// says the width of its ids, or is raw 16-bit ids; anything else is text,
/// whose bytes are the tokens. Ids are little-endian.
enum class TokenFormat { ByName, Text, U16, U32, LlmC };

/// The format of that name: "", "text", "uint16", "uint32", "llm.c". Throws
/// std::runtime_error for others.
TokenFormat tokenFormatOf(const std::string &name);

/// Throws std::runtime_error where the name of `path` ends as that of a format
/// which is not read, and whose bytes nobody wants as text.
void refuseForeignFile(const std::string &path);

/// An open file of tokens. They are read, not mapped: a file that is cut short
/// while it is in use gives an error and no signal.
class TokenFile {
public:
  /// Throws std::runtime_error where the file is not what its name says.
  explicit TokenFile(const std::string &path,
                     TokenFormat format = TokenFormat::ByName);

  const std::string &path() const { return name; }
  uint64_t size() const { return count; }
  /// Writes the `number` tokens from `first` on to `out`. Throws
  /// std::runtime_error where they are not there any more.
  void read(uint64_t first, uint64_t number, int32_t *out) const;
  /// True where a token is a byte of text.
  bool isText() const { return bytesPerToken == 1; }
  /// An assumption about the file that cannot be checked by reading it, or "".
  const std::string &remark() const { return assumption; }

private:
  void readHeader(uint32_t magic);
  void checkWide(uint64_t first, uint64_t number, const int32_t *ids) const;
  void readBytes(uint64_t offset, void *out, uint64_t number) const;

  std::string name;
  FileHandle file;
  uint64_t bytes = 0; ///< of the file
  uint64_t begin = 0; ///< of the tokens, in bytes
  uint64_t count = 0;
  int bytesPerToken = 1;
  std::string assumption;
};

/// The sequence length of token inputs, their second dimension. `tokens` and
/// `input_ids` are the tokens, `targets` one token later, `labels` the tokens
/// themselves, as models of transformers shift them. Throws std::runtime_error
/// where there is another input, none of the first two, or where they are not
/// integers of one shape [samples, length], with a length of at least 1.
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
