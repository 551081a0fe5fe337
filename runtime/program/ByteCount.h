// Numbers of bytes, as people give them.
#ifndef ZERO_RUNTIME_PROGRAM_BYTECOUNT_H
#define ZERO_RUNTIME_PROGRAM_BYTECOUNT_H

#include <cstdint>
#include <string>

namespace zrt {

/// Reads "512", "80GiB" or "80 GB": a whole number from 1 on, and a unit of
/// 1024, 1024^2 and so on bytes, in any case. Returns "", or what is wrong,
/// where `bytes` stays.
std::string readByteCount(const std::string &text, uint64_t &bytes);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_BYTECOUNT_H
