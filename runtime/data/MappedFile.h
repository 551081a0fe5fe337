// A file's bytes, mapped: pages come in as they are read.
#ifndef ZERO_RUNTIME_DATA_MAPPEDFILE_H
#define ZERO_RUNTIME_DATA_MAPPEDFILE_H

#include <cstddef>
#include <string>

namespace zrt {

/// A read-only mapping of a whole file.
class MappedFile {
public:
  /// Throws std::runtime_error, naming the path and the system's reason, where
  /// it cannot be opened, is no regular file, or cannot be mapped.
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return name; }
  const unsigned char *data() const { return bytes; }
  size_t size() const { return length; }

private:
  std::string name;
  const unsigned char *bytes = nullptr;
  size_t length = 0;
};

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_MAPPEDFILE_H
