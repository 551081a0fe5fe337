// Which file a path is.
#ifndef ZERO_RUNTIME_IO_FILEIDENTITY_H
#define ZERO_RUNTIME_IO_FILEIDENTITY_H

#include <cstdint>
#include <string>

namespace zrt {

/// The folder of a path, "." where it names none, and what comes after.
struct Location {
  std::string folder, file;
};
Location locationOf(const std::string &path);

/// The identity of a file, whatever its path: its own number, or its folder's
/// and its name if it does not exist yet. A file that several may write to,
/// such as a device, is equal to nothing.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t number = 0; ///< 0: it cannot be a file
  std::string name;

  bool operator==(const FileIdentity &other) const {
    return number != 0 && number == other.number && device == other.device &&
           name == other.name;
  }
};
FileIdentity identityOf(const std::string &path);

/// Whether both are folders, and one.
bool areOneFolder(const std::string &a, const std::string &b);

} // namespace zrt

#endif // ZERO_RUNTIME_IO_FILEIDENTITY_H
