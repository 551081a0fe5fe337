// Text for models whose tokens are not bytes.
#ifndef ZERO_RUNTIME_DATA_TOKENIZER_H
#define ZERO_RUNTIME_DATA_TOKENIZER_H

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zrt {

/// A byte-level BPE tokenizer as GPT-2's, from the tokenizer.json of Hugging
/// Face's `tokenizers`. No special tokens are added.
class Tokenizer {
public:
  /// Throws std::runtime_error with one sentence where the file is no such
  /// tokenizer, or has anything that would make other tokens.
  explicit Tokenizer(const std::string &path);

  /// The bytes of a token; "<7>" where the vocabulary has no token 7.
  std::string decode(int32_t token) const;
  /// The tokens of `text`. Throws std::runtime_error where it is not UTF-8.
  std::vector<int32_t> encode(const std::string &text) const;

private:
  struct Reader;

  void encodeWord(std::string_view word, std::vector<int32_t> &tokens) const;
  void encodePlain(std::string_view text, std::vector<int32_t> &tokens) const;

  std::string path;
  std::array<std::string, 256> letters;         ///< by byte, as vocabularies
                                                ///< write them, in UTF-8
  std::unordered_map<std::string, int32_t> ids; ///< by their letters
  std::map<std::pair<std::string, std::string>, size_t> ranks; ///< of merges
  std::unordered_map<int32_t, std::string> bytes;              ///< by token
  std::vector<std::pair<std::string, int32_t>> added; ///< looked for in texts
};

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_TOKENIZER_H
