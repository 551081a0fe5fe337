#include "data/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;

namespace {

/// Closes a descriptor at the end of a scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

[[noreturn]] void fail(const std::string &path, const char *what, int error) {
  throw std::runtime_error(std::string("cannot ") + what + " '" + path +
                           "': " + std::strerror(error));
}

} // namespace

MappedFile::MappedFile(const std::string &path) : name(path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0)
    fail(path, "open", errno);
  struct stat status;
  if (::fstat(file.value, &status) != 0)
    fail(path, "read the size of", errno);
  if (!S_ISREG(status.st_mode))
    throw std::runtime_error("cannot read '" + path +
                             "': it is not a regular file");
  length = static_cast<size_t>(status.st_size);
  if (length == 0) // mmap refuses an empty range
    return;
  void *address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.value, 0);
  if (address == MAP_FAILED)
    fail(path, "map", errno);
  bytes = static_cast<const unsigned char *>(address);
}

MappedFile::~MappedFile() {
  if (bytes)
    ::munmap(const_cast<unsigned char *>(bytes), length);
}
