// Functions for all files of data.
#ifndef ZERO_RUNTIME_DATA_DATAFILE_H
#define ZERO_RUNTIME_DATA_DATAFILE_H

#include <cstdint>
#include <functional>
#include <string>

namespace zrt {

bool endsWith(const std::string &text, const std::string &end);

/// The size of a file in bytes, or 0 if there is none.
uint64_t sizeOfFile(const std::string &path);

/// Runs `read`. Where it throws and the file, which had `bytes` at the start,
/// has fewer now, says that instead.
void readUncut(const std::string &path, uint64_t bytes,
               const std::function<void()> &read);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_DATAFILE_H
