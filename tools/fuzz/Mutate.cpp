#include "Mutate.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

using namespace fuzz;

namespace {

/// Where counts, sizes and enumerations break.
constexpr uint64_t kIntegers[] = {0,
                                  1,
                                  2,
                                  7,
                                  8,
                                  9,
                                  127,
                                  128,
                                  255,
                                  256,
                                  1024,
                                  65535,
                                  65536,
                                  (1ull << 31) - 1,
                                  1ull << 31,
                                  (1ull << 32) - 1,
                                  1ull << 32,
                                  1ull << 40,
                                  (1ull << 53) + 1,
                                  (1ull << 63) - 1,
                                  1ull << 63,
                                  ~0ull};

constexpr const char *kNumbers[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "3",
                                    "7",
                                    "16",
                                    "1000",
                                    "65536",
                                    "2147483647",
                                    "2147483648",
                                    "4294967296",
                                    "9007199254740993",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "18446744073709551616",
                                    "-9223372036854775808",
                                    "0.5",
                                    "1e-30",
                                    "1e308",
                                    "1e999",
                                    "-0.0",
                                    "0x7FC00000",
                                    "true",
                                    "null",
                                    "\"\"",
                                    "[]",
                                    "{}",
                                    "?"};

/// A part of a text or of bytes.
struct Range {
  size_t begin = 0, size = 0;
};

Range rangeOf(const std::string &bytes, Random &random) {
  const size_t begin = random.below(bytes.size() + 1);
  const size_t most = random.oneIn(4) ? 256 : 8;
  return {begin, std::min(random.below(most + 1), bytes.size() - begin)};
}

/// `value` as a little-endian integer of 1, 2, 4 or 8 bytes, or as LEB128.
std::string integerBytes(uint64_t value, Random &random) {
  std::string bytes;
  if (random.oneIn(2)) {
    for (; value >= 0x80; value >>= 7)
      bytes.push_back(char(value | 0x80));
    bytes.push_back(char(value));
    return bytes;
  }
  for (size_t left = size_t(1) << random.below(4); left; --left, value >>= 8)
    bytes.push_back(char(value));
  return bytes;
}

void changeBytes(std::string &bytes, const std::string &other, Random &random) {
  const Range range = rangeOf(bytes, random);
  switch (random.below(9)) {
  case 0:
  case 1:
    if (!bytes.empty())
      bytes[random.below(bytes.size())] ^= char(1 << random.below(8));
    return;
  case 2:
    if (!bytes.empty())
      bytes[random.below(bytes.size())] = char(random.next());
    return;
  case 3: {
    const std::string integer = integerBytes(random.pick(kIntegers), random);
    const size_t at = random.below(bytes.size() + 1);
    const size_t replaced = random.oneIn(3) ? 0 : integer.size();
    bytes.replace(at, std::min(replaced, bytes.size() - at), integer);
    return;
  }
  case 4:
    bytes.erase(range.begin, range.size);
    return;
  case 5:
    bytes.insert(random.below(bytes.size() + 1),
                 bytes.substr(range.begin, range.size));
    return;
  case 6: {
    const std::string moved = bytes.substr(range.begin, range.size);
    bytes.erase(range.begin, range.size);
    bytes.insert(random.below(bytes.size() + 1), moved);
    return;
  }
  case 7: {
    const Range taken = rangeOf(other, random);
    bytes.replace(range.begin, random.oneIn(2) ? 0 : range.size,
                  other.substr(taken.begin, taken.size));
    return;
  }
  default:
    if (random.oneIn(4))
      bytes.resize(random.below(bytes.size() + 1));
    else
      bytes.insert(range.begin, 1, char(random.next()));
  }
}

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
         c == '$' || c == '@' || c == '%' || c == '!' || c == '#' || c == '-';
}

/// Words, with the marks that begin a name in MLIR, and other characters one
/// by one; no white space.
std::vector<Range> tokensOf(const std::string &text) {
  std::vector<Range> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (isWord(text[i]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    if (!std::isspace(static_cast<unsigned char>(text[i])))
      tokens.push_back({i, end - i});
    i = end;
  }
  return tokens;
}

/// Lines with their ends.
std::vector<Range> linesOf(const std::string &text) {
  std::vector<Range> lines;
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    lines.push_back({i, end - i});
    i = end;
  }
  return lines;
}

std::string textOf(const std::string &text, Range range) {
  return text.substr(range.begin, range.size);
}

/// Swaps two parts of `text`.
void swapParts(std::string &text, Range a, Range b) {
  if (a.begin > b.begin)
    std::swap(a, b);
  if (a.begin + a.size > b.begin)
    return;
  const std::string first = textOf(text, a), second = textOf(text, b);
  text.replace(b.begin, b.size, first);
  text.replace(a.begin, a.size, second);
}

/// One change of a list of parts, lines or tokens.
void changeParts(std::string &text, const std::vector<Range> &parts,
                 const std::string &other, const std::vector<Range> &others,
                 Random &random) {
  if (parts.empty())
    return;
  const size_t index = random.below(parts.size());
  const Range part = parts[index], second = random.pick(parts);
  switch (random.below(7)) {
  case 0:
    text.erase(part.begin, part.size);
    return;
  case 1:
    text.insert(part.begin, textOf(text, part));
    return;
  case 2: // with the next one
    swapParts(text, part, parts[std::min(index + 1, parts.size() - 1)]);
    return;
  case 3:
    swapParts(text, part, second);
    return;
  case 4:
    text.replace(part.begin, part.size, textOf(text, second));
    return;
  case 5:
    text.insert(part.begin, textOf(text, second));
    return;
  default:
    if (!others.empty())
      text.replace(part.begin, random.oneIn(2) ? part.size : 0,
                   textOf(other, random.pick(others)));
  }
}

/// Replaces a token that begins with a digit.
void changeNumber(std::string &text, Random &random) {
  std::vector<Range> numbers;
  for (const Range token : tokensOf(text))
    if (std::isdigit(static_cast<unsigned char>(text[token.begin])))
      numbers.push_back(token);
  if (numbers.empty())
    return;
  const Range number = random.pick(numbers);
  text.replace(number.begin, number.size, random.pick(kNumbers));
}

} // namespace

std::string fuzz::mutateBytes(std::string bytes, const std::string &other,
                              int most, Random &random) {
  for (size_t left = 1 + random.below(size_t(most)); left; --left)
    changeBytes(bytes, other, random);
  return bytes;
}

std::string fuzz::mutateText(std::string text, const std::string &other,
                             int most, Random &random) {
  for (size_t left = 1 + random.below(size_t(most)); left; --left) {
    const size_t kind = random.below(16);
    if (kind < 5)
      changeParts(text, linesOf(text), other, linesOf(other), random);
    else if (kind < 11)
      changeParts(text, tokensOf(text), other, tokensOf(other), random);
    else if (kind < 15)
      changeNumber(text, random);
    else
      changeBytes(text, other, random);
  }
  return text;
}
