#include "io/FileIdentity.h"

#include <cerrno>
#include <sys/stat.h>

using namespace zrt;

Location zrt::locationOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

FileIdentity zrt::identityOf(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0)
    return S_ISREG(status.st_mode)
               ? FileIdentity{status.st_dev, status.st_ino, ""}
               : FileIdentity();
  const Location at = locationOf(path);
  if (errno == ENOENT && ::stat(at.folder.c_str(), &status) == 0)
    return {status.st_dev, status.st_ino, at.file};
  return {};
}

bool zrt::areOneFolder(const std::string &a, const std::string &b) {
  struct stat first, second;
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         S_ISDIR(first.st_mode) && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}
