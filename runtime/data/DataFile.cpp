#include "data/DataFile.h"

#include <stdexcept>
#include <sys/stat.h>

using namespace zrt;

bool zrt::endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

uint64_t zrt::sizeOfFile(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? uint64_t(status.st_size) : 0;
}

void zrt::readUncut(const std::string &path, uint64_t bytes,
                    const std::function<void()> &read) {
  try {
    read();
  } catch (const std::runtime_error &) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || uint64_t(status.st_size) >= bytes)
      throw;
    throw std::runtime_error(
        "'" + path + "' was cut short during the run: it had " +
        std::to_string(bytes) + " bytes at the start and has " +
        std::to_string(status.st_size) +
        " now; leave data alone while it is "
        "used");
  }
}
