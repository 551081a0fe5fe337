#include "io/FileHandle.h"

#include "program/FileKind.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace zrt;

// Without O_NONBLOCK, opening a pipe waits for its other end, maybe for ever;
// to a regular file the flag means nothing.
FileHandle::FileHandle(const std::string &path, int flags, unsigned mode)
    : path(path),
      descriptor(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, mode)) {
  const int reason = errno;
  struct stat status = {};
  const bool isKnown = descriptor < 0 ? ::stat(path.c_str(), &status) == 0
                                      : ::fstat(descriptor, &status) == 0;
  const bool isWanted = S_ISREG(status.st_mode) || (flags & O_DIRECTORY) != 0;
  if (descriptor >= 0 && isKnown && isWanted)
    return;
  if (descriptor >= 0)
    close(descriptor);
  errno = reason;
  if (isKnown && !isWanted)
    throw std::runtime_error(path + ": " + whyNotRegular(status.st_mode));
  fail("cannot be opened");
}

FileHandle::FileHandle(FileHandle &&other) noexcept
    : path(std::move(other.path)),
      descriptor(std::exchange(other.descriptor, -1)) {}

FileHandle &FileHandle::operator=(FileHandle &&other) noexcept {
  std::swap(path, other.path);
  std::swap(descriptor, other.descriptor);
  return *this;
}

FileHandle::~FileHandle() {
  if (descriptor >= 0)
    close(descriptor);
}

void FileHandle::fail(const char *what) const {
  throw std::runtime_error(path + ": " + what + ": " + describeError(errno));
}

std::string zrt::describeError(int number) {
  const std::string text = std::strerror(number);
  return number == EFBIG
             ? text + ": raise the limit on the size of files (ulimit -f)"
             : text;
}

bool FileHandle::lock() const {
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

uint64_t FileHandle::size() const {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    fail("its size cannot be read");
  return static_cast<uint64_t>(status.st_size);
}

void FileHandle::resize(uint64_t bytes) const {
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0)
    fail("cannot be made as large as the model");
}

/// The most that one call moves on Linux.
static constexpr uint64_t kMostAtOnce = 0x7ffff000;

void FileHandle::read(uint64_t offset, void *out, uint64_t count) const {
  char *to = static_cast<char *>(out);
  while (count) {
    ssize_t done = pread(descriptor, to, std::min(count, kMostAtOnce),
                         static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      fail("cannot be read");
    if (done == 0)
      throw std::runtime_error(path + ": ends at byte " +
                               std::to_string(offset) + ", wanted " +
                               std::to_string(count) + " more");
    to += done;
    offset += static_cast<uint64_t>(done);
    count -= static_cast<uint64_t>(done);
  }
}

void FileHandle::write(uint64_t offset, const void *from,
                       uint64_t count) const {
  const char *at = static_cast<const char *>(from);
  while (count) {
    ssize_t done = pwrite(descriptor, at, std::min(count, kMostAtOnce),
                          static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      fail("cannot be written");
    at += done;
    offset += static_cast<uint64_t>(done);
    count -= static_cast<uint64_t>(done);
  }
}

void FileHandle::sync() const {
  // A directory on some file systems cannot be synchronised, and needs not.
  if (fsync(descriptor) != 0 && errno != EINVAL)
    fail("cannot be brought to the disk");
}

/// Many more than a manifest has of the largest model on the most ranks.
static constexpr uint64_t kMostTextBytes = uint64_t(1) << 30;

std::string zrt::readText(const std::string &path) {
  const FileHandle file(path, O_RDONLY);
  const uint64_t bytes = file.size();
  if (bytes > kMostTextBytes)
    throw std::runtime_error(path + ": found " + std::to_string(bytes) +
                             " bytes, wanted at most " +
                             std::to_string(kMostTextBytes));
  std::string text(bytes, '\0');
  file.read(0, text.data(), text.size());
  return text;
}
