#include "state/Digest.h"

#include "state/SafeTensors.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>

using namespace zrt;

uint64_t zrt::mixDigest(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A digest of the words of a block, in four chains that run side by side.
/// Each step is a bijection of the chain and of the word, so that no single
/// change of a word goes unseen.
static uint64_t digestWords(const std::vector<uint64_t> &words) {
  uint64_t chains[4] = {1, 2, 3, 4};
  for (size_t i = 0; i < words.size(); i += 4)
    for (size_t j = 0; j < 4; ++j) {
      const uint64_t x = (chains[j] ^ words[i + j]) * 0x9e3779b97f4a7c15u;
      chains[j] = (x << 29 | x >> 35) + j;
    }
  uint64_t digest = 0;
  for (const uint64_t chain : chains)
    digest = mixDigest(digest ^ chain);
  return digest;
}

/// Words that hold `bytes`, with zeros at the end.
static size_t paddedWords(uint64_t bytes) { return (bytes + 31) / 32 * 4; }

uint64_t zrt::digestBlock(uint64_t block, const std::vector<uint64_t> &words,
                          uint64_t bytes) {
  // Zeros fill up the last words; the length tells them from the file's.
  return mixDigest(digestWords(words) + mixDigest(block) + bytes);
}

uint64_t zrt::digestBytes(const void *data, uint64_t bytes) {
  uint64_t digest = 0;
  std::vector<uint64_t> words;
  for (uint64_t block = 0; block * kDigestBlock < bytes; ++block) {
    const uint64_t begin = block * kDigestBlock;
    const uint64_t part = std::min(kDigestBlock, bytes - begin);
    words.assign(paddedWords(part), 0);
    std::memcpy(words.data(), static_cast<const char *>(data) + begin, part);
    digest += digestBlock(block, words, part);
  }
  return digest;
}

PartialDigest zrt::digestPart(const std::string &path, uint64_t part,
                              uint64_t parts) {
  const FileHandle file(path, O_RDONLY);
  const uint64_t size = file.size();
  PartialDigest digest;
  std::vector<uint64_t> words;
  for (uint64_t block = part; block * kDigestBlock < size; block += parts) {
    const uint64_t begin = block * kDigestBlock;
    const uint64_t bytes = std::min(kDigestBlock, size - begin);
    words.assign(paddedWords(bytes), 0);
    file.read(begin, words.data(), bytes);
    digest.value += digestBlock(block, words, bytes);
    digest.bytesRead += bytes;
  }
  return digest;
}

std::string zrt::hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(value));
  return text;
}

bool zrt::readHexadecimal(const std::string &text, uint64_t &value) {
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc() && stop == end && text.size() == 16;
}
