// Digests that tell bytes apart that differ by accident, not by intent.
#ifndef ZERO_RUNTIME_IO_DIGEST_H
#define ZERO_RUNTIME_IO_DIGEST_H

#include <cstdint>
#include <string>

namespace zrt {

/// Bytes of a block. The digest of a file is the sum of its blocks' digests,
/// modulo 2^64, so that blocks may be digested in any order and by anyone.
inline constexpr uint64_t kDigestBlock = uint64_t(4) << 20;

/// The digest of block number `block`: XXH3 of its bytes, with the number as
/// the seed.
uint64_t digestBlock(uint64_t block, const void *data, uint64_t bytes);

/// The digest of a file that held these bytes.
uint64_t digestBytes(const void *data, uint64_t bytes);

/// The part of a file that one of `parts` readers digests: every `parts`th
/// block from block `part` on. The sum of all parts is the file's digest,
/// whatever `parts` is. Throws std::runtime_error where `path` cannot be read.
struct PartialDigest {
  uint64_t value = 0;
  uint64_t bytesRead = 0;
};
PartialDigest digestPart(const std::string &path, uint64_t part,
                         uint64_t parts);

/// Sixteen hexadecimal digits, and what they say; false where they are not.
std::string hexadecimal(uint64_t value);
bool readHexadecimal(const std::string &text, uint64_t &value);

} // namespace zrt

#endif // ZERO_RUNTIME_IO_DIGEST_H
