// What all files of data have in common.
#ifndef ZERO_RUNTIME_DATA_DATAFILE_H
#define ZERO_RUNTIME_DATA_DATAFILE_H

#include <cstdint>
#include <functional>
#include <string>

namespace zrt {

bool endsWith(const std::string &text, const std::string &end);

/// Its bytes, or 0 where there is no such file.
uint64_t sizeOfFile(const std::string &path);

/// Runs `read`. Where it throws and the file, which had `bytes` at the start,
/// has fewer now, says that instead.
void readUncut(const std::string &path, uint64_t bytes,
               const std::function<void()> &read);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_DATAFILE_H
