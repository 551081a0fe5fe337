#include "io/Digest.h"

#include "io/SafeTensors.h"

#define XXH_INLINE_ALL // no library to link
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <vector>

using namespace zrt;

uint64_t zrt::digestBlock(uint64_t block, const void *data, uint64_t bytes) {
  return XXH3_64bits_withSeed(data, bytes, block);
}

uint64_t zrt::digestBytes(const void *data, uint64_t bytes) {
  uint64_t digest = 0;
  for (uint64_t block = 0; block * kDigestBlock < bytes; ++block) {
    const uint64_t begin = block * kDigestBlock;
    digest += digestBlock(block, static_cast<const char *>(data) + begin,
                          std::min(kDigestBlock, bytes - begin));
  }
  return digest;
}

PartialDigest zrt::digestPart(const std::string &path, uint64_t part,
                              uint64_t parts) {
  const FileHandle file(path, O_RDONLY);
  const uint64_t size = file.size();
  PartialDigest digest;
  std::vector<char> buffer(std::min(size, kDigestBlock));
  for (uint64_t block = part; block * kDigestBlock < size; block += parts) {
    const uint64_t begin = block * kDigestBlock;
    const uint64_t bytes = std::min(kDigestBlock, size - begin);
    file.read(begin, buffer.data(), bytes);
    digest.value += digestBlock(block, buffer.data(), bytes);
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
