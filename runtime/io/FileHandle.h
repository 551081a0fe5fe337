// Files, open as long as they are wanted.
#ifndef ZERO_RUNTIME_IO_FILEHANDLE_H
#define ZERO_RUNTIME_IO_FILEHANDLE_H

#include <cstdint>
#include <string>

namespace zrt {

/// Why a call of the system failed, given `errno`, with advice where it helps:
/// on the limit on the size of files. That sends SIGXFSZ, too, which whoever
/// writes must ignore or block.
std::string describeError(int number);

/// A file descriptor that closes itself.
class FileHandle {
public:
  FileHandle() = default;
  /// `flags` and `mode` as in open(2). Throws std::runtime_error, naming the
  /// file and the reason; at once where `path` is a pipe or a device, and, but
  /// with O_DIRECTORY, a folder.
  FileHandle(const std::string &path, int flags, unsigned mode = 0);
  FileHandle(FileHandle &&other) noexcept;
  FileHandle &operator=(FileHandle &&other) noexcept;
  ~FileHandle();

  /// Keeps others from locking the file while this is open; false where another
  /// process of whatever machine has. A file system without locks gives none.
  bool lock() const;

  uint64_t size() const;
  void resize(uint64_t bytes) const;
  /// All `count` bytes at `offset`, or an exception.
  void read(uint64_t offset, void *out, uint64_t count) const;
  void write(uint64_t offset, const void *from, uint64_t count) const;
  /// Returns when what was written will survive a loss of power.
  void sync() const;

private:
  [[noreturn]] void fail(const char *what) const;

  std::string path;
  int descriptor = -1;
};

/// The text of a small file. Throws std::runtime_error.
std::string readText(const std::string &path);

} // namespace zrt

#endif // ZERO_RUNTIME_IO_FILEHANDLE_H
