#include "data/Tokenizer.h"

#include "data/Unicode.h"
#include "program/Nesting.h"
#include "state/FileHandle.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>

using namespace zrt;
using nlohmann::json;

namespace {

std::string utf8(unsigned code) {
  if (code < 0x80)
    return {char(code)};
  return {char(0xc0 | code >> 6), char(0x80 | (code & 0x3f))};
}

/// GPT-2's alphabet: printable bytes are themselves, the others, in their
/// order, the characters from 256 on.
std::array<std::string, 256> byteLetters() {
  std::array<std::string, 256> letters;
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') ||
                           (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    letters[byte] = utf8(printable ? byte : next++);
  }
  return letters;
}

/// The first word of `text`, which is UTF-8, by GPT-2's expression
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t firstWord(std::string_view text) {
  for (const std::string_view end :
       {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(0, end.size()) == end)
      return end.size();
  size_t begin = text[0] == ' ' && text.size() > 1;
  const CharacterClass kind = classOf(firstCharacter(text.substr(begin)).code);
  if (kind == CharacterClass::Space)
    begin = 0;
  // The end, and where the last character begins.
  size_t end = begin, last = begin;
  while (end < text.size()) {
    const Character next = firstCharacter(text.substr(end));
    if (classOf(next.code) != kind)
      break;
    last = end;
    end += next.bytes;
  }
  // The last space before a word belongs to the word.
  const bool isBefore = kind == CharacterClass::Space && end < text.size();
  return isBefore && last > 0 ? last : end;
}

} // namespace

/// Reads the file, and refuses what the class does not do.
struct Tokenizer::Reader {
  Tokenizer &tokenizer;

  [[noreturn]] void refuse(const std::string &why) const {
    throw std::runtime_error(
        "'" + tokenizer.path + "' is no tokenizer that is read here: " + why +
        "; leave --tokenizer away, give --prompt token "
        "ids, and use zero-tokenize --encode and --decode");
  }

  json parse() const {
    const std::string text = readText(tokenizer.path);
    try {
      checkNesting(text);
    } catch (const std::runtime_error &error) {
      refuse(error.what());
    }
    json file = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!file.is_object() || !file.contains("model") ||
        !file["model"].is_object())
      refuse("it is no tokenizer.json");
    return file;
  }

  /// Throws unless `owner[key]` is absent, null, false, empty or 0.
  void wantUnset(const json &owner, const char *key) const {
    const auto found = owner.find(key);
    if (found != owner.end() && !found->is_null() && *found != json(false) &&
        *found != json("") && *found != json(0.0))
      refuse("it has " + std::string(key) + " " + found->dump().substr(0, 60));
  }

  void checkKind(const json &file) const {
    const json &model = file["model"];
    if (model.value("type", json("BPE")) != json("BPE"))
      refuse("its model is " + model["type"].dump() + ", wanted BPE");
    wantUnset(file, "normalizer");
    for (const char *key :
         {"dropout", "unk_token", "continuing_subword_prefix",
          "end_of_word_suffix", "byte_fallback", "ignore_merges"})
      wantUnset(model, key);
    const json words = file.value("pre_tokenizer", json());
    const json decoder = file.value("decoder", json());
    for (const json *part : {&words, &decoder})
      if (!part->is_object() || part->value("type", json()) != "ByteLevel")
        refuse("its pre_tokenizer and decoder are not both ByteLevel");
    wantUnset(words, "add_prefix_space");
    if (words.value("use_regex", json(true)) != json(true))
      refuse("its pre_tokenizer does not use GPT-2's expression");
  }

  int32_t idOf(const json &value) const {
    if (!value.is_number_integer() || value < 0 || value > INT32_MAX)
      refuse("a token has the id " + value.dump().substr(0, 60));
    return value.get<int32_t>();
  }

  void readVocabulary(const json &model) {
    std::unordered_map<std::string, char> byteOf;
    for (size_t byte = 0; byte < 256; ++byte)
      byteOf[tokenizer.letters[byte]] = char(byte);
    const auto vocabulary = model.find("vocab");
    if (vocabulary == model.end() || !vocabulary->is_object())
      refuse("its model has no vocabulary");
    for (const auto &[token, value] : vocabulary->items()) {
      const int32_t id = idOf(value);
      std::string text;
      bool isOfBytes = true; // not an added token
      for (size_t at = 0; at < token.size() && isOfBytes;) {
        const size_t width =
            static_cast<unsigned char>(token[at]) < 0x80 ? 1 : 2;
        const auto byte = byteOf.find(token.substr(at, width));
        isOfBytes = byte != byteOf.end();
        text += isOfBytes ? byte->second : '\0';
        at += width;
      }
      tokenizer.bytes[id] = isOfBytes ? text : token;
      tokenizer.ids[token] = id;
    }
    for (const std::string &letter : tokenizer.letters)
      if (!tokenizer.ids.count(letter))
        refuse("its vocabulary does not have all 256 bytes");
  }

  void readMerges(const json &model) {
    const json merges = model.value("merges", json::array());
    for (const json &merge : merges) {
      std::pair<std::string, std::string> pair;
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
          merge[1].is_string()) {
        pair = {merge[0].get<std::string>(), merge[1].get<std::string>()};
      } else if (const std::string text =
                     merge.is_string() ? merge.get<std::string>() : "";
                 std::count(text.begin(), text.end(), ' ') == 1) {
        const size_t space = text.find(' ');
        pair = {text.substr(0, space), text.substr(space + 1)};
      } else {
        refuse("a merge is " + merge.dump().substr(0, 60));
      }
      if (!tokenizer.ids.count(pair.first + pair.second))
        refuse("its vocabulary lacks the merged '" + pair.first + pair.second +
               "'");
      tokenizer.ranks.try_emplace(pair, tokenizer.ranks.size());
    }
  }

  void readAdded(const json &file) {
    for (const json &token : file.value("added_tokens", json::array())) {
      if (!token.is_object() || !token.contains("id") ||
          !token.value("content", json()).is_string() ||
          token["content"] == json(""))
        refuse("an added token is " + token.dump().substr(0, 60));
      for (const char *key : {"single_word", "lstrip", "rstrip"})
        wantUnset(token, key);
      const auto content = token["content"].get<std::string>();
      const int32_t id = idOf(token["id"]);
      tokenizer.bytes[id] = content;
      tokenizer.added.emplace_back(content, id);
    }
  }
};

Tokenizer::Tokenizer(const std::string &path)
    : path(path), letters(byteLetters()) {
  Reader reader{*this};
  const json file = reader.parse();
  reader.checkKind(file);
  reader.readVocabulary(file["model"]);
  reader.readMerges(file["model"]);
  reader.readAdded(file);
}

std::string Tokenizer::decode(int32_t token) const {
  const auto found = bytes.find(token);
  return found == bytes.end() ? "<" + std::to_string(token) + ">"
                              : found->second;
}

void Tokenizer::encodeWord(std::string_view word,
                           std::vector<int32_t> &tokens) const {
  std::vector<std::string> parts;
  for (const char c : word)
    parts.push_back(letters[static_cast<unsigned char>(c)]);
  while (true) {
    size_t best = ranks.size(), at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      if (const auto found = ranks.find({parts[i], parts[i + 1]});
          found != ranks.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    if (best == ranks.size())
      break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + std::ptrdiff_t(at) + 1);
  }
  for (const std::string &part : parts)
    tokens.push_back(ids.at(part));
}

void Tokenizer::encodePlain(std::string_view text,
                            std::vector<int32_t> &tokens) const {
  while (!text.empty()) {
    const size_t size = firstWord(text);
    encodeWord(text.substr(0, size), tokens);
    text.remove_prefix(size);
  }
}

std::vector<int32_t> Tokenizer::encode(const std::string &text) const {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes =
        firstCharacter(std::string_view(text).substr(at)).bytes;
    if (bytes == 0)
      throw std::runtime_error("the prompt is not UTF-8: byte " +
                               std::to_string(at) +
                               " begins no character; give it in UTF-8");
    at += bytes;
  }
  std::vector<int32_t> tokens;
  std::string_view rest = text;
  while (true) {
    // The first added token in the text; of two at one place the longer.
    size_t at = rest.size(), size = 0;
    int32_t id = -1;
    for (const auto &[content, token] : added)
      if (const size_t found = rest.find(content);
          found != std::string_view::npos &&
          (found < at || (found == at && content.size() > size))) {
        at = found;
        size = content.size();
        id = token;
      }
    encodePlain(rest.substr(0, at), tokens);
    if (id < 0)
      return tokens;
    tokens.push_back(id);
    rest.remove_prefix(at + size);
  }
}
