// A file system whose writes fail where a fault is injected.
#ifndef ZERO_RUNTIME_CHECKPOINT_FAULTYDISK_H
#define ZERO_RUNTIME_CHECKPOINT_FAULTYDISK_H

#include "checkpoint/FileSystem.h"
#include "injection/Faults.h"

namespace zrt {

/// Hands all on to `files`; both are borrowed.
class FaultyDisk final : public FileSystem {
public:
  FaultyDisk(FileSystem &files, Faults &faults)
      : files(files), faults(faults) {}

  bool makeFolder(const std::string &path) override {
    return files.makeFolder(path);
  }
  std::unique_ptr<OutputFile> create(const std::string &path) override;
  void rename(const std::string &from, const std::string &to) override {
    files.rename(from, to);
  }
  void removeFile(const std::string &path) override { files.removeFile(path); }
  void removeFolder(const std::string &path) override {
    files.removeFolder(path);
  }
  void syncFolder(const std::string &path) override { files.syncFolder(path); }
  std::vector<std::string> list(const std::string &path) override {
    return files.list(path);
  }

private:
  FileSystem &files;
  Faults &faults;
};

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_FAULTYDISK_H
