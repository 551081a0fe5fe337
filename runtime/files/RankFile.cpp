#include "files/RankFile.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

using namespace zrt;

//===----------------------------------------------------------------------===//
// Making the file
//===----------------------------------------------------------------------===//

static std::string hostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 ? name : "localhost";
}

[[noreturn]] static void refuseFolder(const std::string &folder) {
  const int reason = errno;
  const char *todo = "name another one";
  if (reason == ENOENT)
    todo = "make it, or name another one (nvme_path)";
  else if (reason == EACCES || reason == EPERM)
    todo = "allow this user to make files in it, or name another one";
  throw std::runtime_error(
      "folder '" + folder +
      "' for states in files: no file can be made in it: " +
      std::strerror(reason) + ": " + todo);
}

/// Others of the same name have been killed between their two calls, or are in
/// another container that sees the folder, so there may be some.
void RankFile::create(const std::string &folder, int rank) {
  const std::string stem = folder + "/zero-states-" + hostName() + "-" +
                           std::to_string(::getpid()) + "-" +
                           std::to_string(rank);
  for (int attempt = 0; handle < 0 && attempt < 1000; ++attempt) {
    name = stem + (attempt ? "-" + std::to_string(attempt) : "");
    handle = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                    S_IRUSR | S_IWUSR);
    if (handle < 0 && errno != EEXIST && errno != EINTR)
      refuseFolder(folder);
  }
  if (handle < 0)
    refuseFolder(folder);
  if (::unlink(name.c_str()) == 0)
    return;
  const int reason = errno;
  ::close(handle);
  throw std::runtime_error(
      name + ": cannot be removed from its folder: " + std::strerror(reason) +
      ": remove it, and name another folder for states");
}

RankFile::RankFile(const std::string &folder, int rank) {
  create(folder, rank);
  tryDirect();
}

RankFile::~RankFile() { ::close(handle); }

//===----------------------------------------------------------------------===//
// Past the page cache
//===----------------------------------------------------------------------===//

/// What the file system says of transfers past the page cache, or 4,096 where
/// it says nothing. Zeros where there are none. Smaller blocks than a page are
/// not worth it: file systems serialise them.
static FileAlignment directAlignment(int file) {
  constexpr uint64_t kUsual = 4096;
  struct statx status = {};
#ifdef STATX_DIOALIGN
  if (::statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN)) {
    if (status.stx_dio_offset_align == 0)
      return {0, 0};
    return {std::max<uint64_t>(status.stx_dio_offset_align, kUsual),
            std::max<uint64_t>(status.stx_dio_mem_align, 1)};
  }
#endif
  return {kUsual, kUsual};
}

/// The largest file that this process may make. Who writes more is killed by a
/// signal rather than told.
static uint64_t mostBytes() {
  rlimit limit = {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur
                                                : RLIM_INFINITY;
}

/// Writes a block, since some file systems promise what they refuse then.
/// Returns 0 or an errno.
static int tryBlock(int file, const FileAlignment &alignment) {
  const AlignedBuffer block = makeAlignedBuffer(alignment.offset, alignment);
  if (!block)
    return ENOMEM;
  if (alignment.offset > mostBytes())
    return EFBIG;
  std::memset(block.get(), 0, alignment.offset);
  const bool refused = ::pwrite(file, block.get(), alignment.offset, 0) < 0 &&
                       errno != ENOSPC && errno != EDQUOT;
  const int reason = refused ? errno : 0;
  const bool emptied = ::ftruncate(file, 0) == 0;
  return reason ? reason : emptied ? 0 : errno;
}

void RankFile::tryDirect() {
  struct statfs system = {};
  // Newer kernels take the flag there, and copy all the same.
  if (::fstatfs(handle, &system) == 0 && system.f_type == TMPFS_MAGIC) {
    whyNotDirect = "tmpfs is memory";
    return;
  }
  const FileAlignment wanted = directAlignment(handle);
  const int flags = ::fcntl(handle, F_GETFL);
  int reason = EINVAL;
  if (wanted.offset != 0)
    reason = ::fcntl(handle, F_SETFL, flags | O_DIRECT) == 0
                 ? tryBlock(handle, wanted)
                 : errno;
  if (reason == 0) {
    aligned = wanted;
    return;
  }
  whyNotDirect = std::strerror(reason);
  ::fcntl(handle, F_SETFL, flags);
}

std::string RankFile::describe() const {
  if (!whyNotDirect.empty())
    return "no O_DIRECT: " + whyNotDirect;
  return "O_DIRECT, blocks of " + std::to_string(aligned.offset) + " bytes";
}

//===----------------------------------------------------------------------===//
// Space
//===----------------------------------------------------------------------===//

static std::string freeSpace(int file) {
  struct statfs system = {};
  if (::fstatfs(file, &system) != 0)
    return "";
  const uint64_t bytes = uint64_t(system.f_bavail) * uint64_t(system.f_bsize);
  return ", " + std::to_string(bytes) + " bytes are free";
}

static const char *adviceOnSpace(int reason) {
  if (reason == EFBIG)
    return "raise the limit on the size of files (ulimit -f), or compile for "
           "more ranks";
  return "make room there, name a folder with more of it, or compile for more "
         "ranks";
}

void RankFile::grow(uint64_t begin, uint64_t end, const char *what) {
  int reason = end > mostBytes() ? EFBIG : EINTR;
  while (reason == EINTR)
    reason = ::fallocate(handle, 0, static_cast<off_t>(begin),
                         static_cast<off_t>(end - begin)) == 0
                 ? 0
                 : errno;
  if (reason == EOPNOTSUPP || reason == ENOSYS)
    reason = fill(begin, end);
  if (reason == 0)
    return;
  const std::string left = freeSpace(handle);
  shrink(begin); // What there was of it.
  const std::string why = std::string(what) + ": " + name + " cannot have " +
                          std::to_string(end - begin) +
                          " bytes more: " + std::strerror(reason) + left +
                          ": " + adviceOnSpace(reason);
  if (reason == ENOSPC || reason == EDQUOT)
    throw NoSpaceError(why);
  throw std::runtime_error(why);
}

void RankFile::moveToMemory() {
  const std::string stem = name.substr(name.rfind('/') + 1);
  const int memory = ::memfd_create(stem.c_str(), MFD_CLOEXEC);
  if (memory < 0)
    throw std::runtime_error(
        name + ": cannot be in host memory instead: " + std::strerror(errno));
  ::close(handle);
  handle = memory;
  name = "host memory, " + stem;
  whyNotDirect = "host memory";
}

/// Writes zeros, for file systems that set no space aside. Returns 0 or an
/// errno.
int RankFile::fill(uint64_t begin, uint64_t end) {
  constexpr uint64_t kAtOnce = uint64_t(1) << 20;
  const AlignedBuffer zeros = makeAlignedBuffer(kAtOnce, aligned);
  if (!zeros)
    return ENOMEM;
  std::memset(zeros.get(), 0, kAtOnce);
  while (begin < end) {
    const ssize_t done =
        ::pwrite(handle, zeros.get(), std::min(kAtOnce, end - begin),
                 static_cast<off_t>(begin));
    if (done < 0 && errno != EINTR)
      return errno;
    if (done < 0)
      continue;
    // A part of a block is written once more.
    const uint64_t whole = uint64_t(done) - uint64_t(done) % aligned.offset;
    if (whole == 0)
      return EIO;
    begin += whole;
  }
  return 0;
}

void RankFile::shrink(uint64_t end) {
  // If it fails, the space comes back when the file is closed.
  if (::ftruncate(handle, static_cast<off_t>(end)) != 0)
    return;
}
