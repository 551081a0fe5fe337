#include "ScratchFile.h"

#include <cstdlib>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

using namespace fuzz;

/// One file for all, since a run takes microseconds.
static int rewrite(const std::string &content) {
  static const int file = ::memfd_create("zero-fuzz", 0);
  if (file < 0 || ::ftruncate(file, 0) != 0 ||
      ::pwrite(file, content.data(), content.size(), 0) !=
          ssize_t(content.size()))
    throw std::runtime_error("cannot write a file in memory");
  return file;
}

ScratchFile::ScratchFile(const std::string &content,
                         const std::string &suffix) {
  const char *folder = std::getenv("TMPDIR");
  name = std::string(folder ? folder : "/tmp") + "/zero-fuzz-" +
         std::to_string(::getpid()) + suffix;
  const std::string file = "/proc/self/fd/" + std::to_string(rewrite(content));
  ::unlink(name.c_str());
  if (::symlink(file.c_str(), name.c_str()) != 0)
    throw std::runtime_error("cannot make '" + name + "'");
}

ScratchFile::~ScratchFile() { ::unlink(name.c_str()); }
