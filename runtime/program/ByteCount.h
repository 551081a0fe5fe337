// Numbers of bytes and of other things, as people write and read them.
#ifndef ZERO_RUNTIME_PROGRAM_BYTECOUNT_H
#define ZERO_RUNTIME_PROGRAM_BYTECOUNT_H

#include <cstdint>
#include <string>
#include <vector>

namespace zrt {

/// Reads "512", "1.5GiB" or "80 GB": a number, and a unit of 1024, 1024^2 and
/// so on bytes, in any case; at least one byte, and a fraction of one is cut
/// off. Returns "", or what is wrong, where `bytes` stays.
std::string readByteCount(const std::string &text, uint64_t &bytes);

/// "512 B", "1.50 KiB", "63.72 GiB".
std::string formatBytes(int64_t bytes);

/// The digits in groups of three: "1,234,567".
std::string formatCount(int64_t count);

/// "1 rank", "4 ranks", "1,024 ranks".
std::string plural(int64_t count, const std::string &what,
                   const std::string &ending = "s");

/// "rank 1", "ranks 0, 2", and of more than `most` "ranks 0, 1 and 5 others".
std::string listRanks(const std::vector<int> &ranks, size_t most = SIZE_MAX);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_BYTECOUNT_H
