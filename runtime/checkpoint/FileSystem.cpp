#include "checkpoint/FileSystem.h"

#include "io/SafeTensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;

OutputFile::~OutputFile() = default;
FileSystem::~FileSystem() = default;

namespace {

[[noreturn]] void fail(const std::string &path, const char *what) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(errno));
}

class DiskFile final : public OutputFile {
public:
  explicit DiskFile(const std::string &path)
      : file(path, O_WRONLY | O_CREAT | O_EXCL, 0666) {}
  void append(const void *data, uint64_t bytes) override {
    file.write(end, data, bytes);
    end += bytes;
  }
  void sync() override { file.sync(); }

private:
  FileHandle file;
  uint64_t end = 0;
};

class Disk final : public FileSystem {
public:
  bool makeFolder(const std::string &path) override {
    if (::mkdir(path.c_str(), 0777) == 0)
      return true;
    const int reason = errno;
    struct stat status;
    if (reason == EEXIST && ::stat(path.c_str(), &status) == 0 &&
        S_ISDIR(status.st_mode))
      return false;
    errno = reason;
    fail(path, "the folder cannot be made");
  }
  std::unique_ptr<OutputFile> create(const std::string &path) override {
    return std::make_unique<DiskFile>(path);
  }
  void rename(const std::string &from, const std::string &to) override {
    if (::rename(from.c_str(), to.c_str()) != 0)
      fail(to, ("cannot be replaced by " + from).c_str());
  }
  void removeFile(const std::string &path) override {
    if (::unlink(path.c_str()) != 0)
      fail(path, "cannot be removed");
  }
  void removeFolder(const std::string &path) override {
    if (::rmdir(path.c_str()) != 0)
      fail(path, "cannot be removed");
  }
  void syncFolder(const std::string &path) override {
    FileHandle(path, O_RDONLY | O_DIRECTORY).sync();
  }
  std::vector<std::string> list(const std::string &path) override {
    DIR *folder = ::opendir(path.c_str());
    if (!folder) {
      if (errno == ENOENT)
        return {};
      fail(path, "cannot be listed");
    }
    std::vector<std::string> names;
    const auto next = [&] {
      errno = 0; // the end is no error
      return ::readdir(folder);
    };
    while (const dirent *entry = next())
      if (const std::string name = entry->d_name; name != "." && name != "..")
        names.push_back(name);
    const int reason = errno;
    ::closedir(folder);
    errno = reason;
    if (reason != 0)
      fail(path, "cannot be listed");
    std::sort(names.begin(), names.end());
    return names;
  }
};

} // namespace

FileSystem &FileSystem::disk() {
  static Disk disk;
  return disk;
}
