// The file of a rank: it has no name, and its space is its own.
#ifndef ZERO_RUNTIME_FILES_RANKFILE_H
#define ZERO_RUNTIME_FILES_RANKFILE_H

#include "files/FileCuts.h"

#include <stdexcept>
#include <string>

namespace zrt {

/// A folder has not the space that was asked for.
struct NoSpaceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Made in a folder under a name of its own, readable by its owner only, and
/// removed from the folder at once: whatever ends the process, nothing remains.
/// Transfers go past the page cache (O_DIRECT) where the file system can do so,
/// since states are read once an update, long after they were written.
class RankFile {
public:
  /// Throws std::runtime_error, naming the folder and the reason, where no file
  /// can be made in it.
  RankFile(const std::string &folder, int rank);
  RankFile(const RankFile &) = delete;
  RankFile &operator=(const RankFile &) = delete;
  ~RankFile();

  /// Space from `begin`, the end of the file, to `end`: there for certain, and
  /// all zeros. Throws NoSpaceError, naming `what`, the bytes, and what is
  /// free, where the folder has not that much, and std::runtime_error where
  /// that is not allowed; the file is as before then.
  void grow(uint64_t begin, uint64_t end, const char *what);
  /// Becomes a file in host memory, which is empty; its blocks stay as large.
  void moveToMemory();
  /// Gives back what comes after `end`.
  void shrink(uint64_t end);

  int descriptor() const { return handle; }
  /// The path at which the file was made, for messages.
  const std::string &path() const { return name; }
  /// The alignment of transfers: blocks of the file, of 4,096 bytes or a
  /// multiple. It holds without O_DIRECT, too, since the file is compared by
  /// blocks.
  const FileAlignment &alignment() const { return aligned; }
  /// "O_DIRECT, blocks of 4096 bytes", or why there is none.
  std::string describe() const;

private:
  void create(const std::string &folder, int rank);
  void tryDirect();
  int fill(uint64_t begin, uint64_t end);

  std::string name;
  int handle = -1;
  FileAlignment aligned = {4096, 1};
  std::string whyNotDirect;
};

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_RANKFILE_H
