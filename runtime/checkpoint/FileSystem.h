// The operations of a file system that writing checkpoints needs.
//
// The file system is an interface so that tests can lose data that was not
// synchronised, at any operation. Reading needs no interface: what a crash
// leaves is on the disk.
#ifndef ZERO_RUNTIME_CHECKPOINT_FILESYSTEM_H
#define ZERO_RUNTIME_CHECKPOINT_FILESYSTEM_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zrt {

/// A new file, written from its begin to its end. It closes itself.
class OutputFile {
public:
  virtual ~OutputFile();
  virtual void append(const void *data, uint64_t bytes) = 0;
  /// Returns when what was written will survive a loss of power. The file's
  /// name needs `FileSystem::syncFolder`.
  virtual void sync() = 0;
};

/// All throw std::runtime_error, naming the path and the reason. Several
/// threads may call it at once.
class FileSystem {
public:
  virtual ~FileSystem();

  /// False where the folder exists.
  virtual bool makeFolder(const std::string &path) = 0;
  /// Refuses where something of that name exists.
  virtual std::unique_ptr<OutputFile> create(const std::string &path) = 0;

  /// At once; a file may take the place of a file.
  virtual void rename(const std::string &from, const std::string &to) = 0;
  virtual void removeFile(const std::string &path) = 0;
  virtual void removeFolder(const std::string &path) = 0; ///< empty
  /// Returns when the names in the folder will survive a loss of power.
  virtual void syncFolder(const std::string &path) = 0;

  /// Names in a folder, sorted; none where there is no such folder.
  virtual std::vector<std::string> list(const std::string &path) = 0;

  /// The real one.
  static FileSystem &disk();
};

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_FILESYSTEM_H
