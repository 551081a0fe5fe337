// The folder of a run's checkpoints: a folder for each, and a pointer.
#ifndef ZERO_RUNTIME_CHECKPOINT_FOLDER_H
#define ZERO_RUNTIME_CHECKPOINT_FOLDER_H

#include "checkpoint/FileSystem.h"
#include "checkpoint/Manifest.h"
#include "io/FileHandle.h"

#include <optional>

namespace zrt {

/// The file that names the newest complete checkpoint.
inline constexpr const char *kPointerName = "latest";

/// "update-0000000040"
std::string checkpointName(int64_t update);

/// A complete checkpoint: it has its name and a manifest.
struct FoundCheckpoint {
  std::string path;
  Manifest manifest;
};

/// A checkpoint that is not complete, and the reason.
struct BrokenCheckpoint {
  std::string path;
  std::string reason;
  /// Another user, machine or version may read it: its manifest is there and
  /// cannot be read, or is of a version that this program does not know.
  bool mayBeWhole = false;
};

struct Checkpoints {
  std::vector<FoundCheckpoint> complete; ///< by rising update
  std::vector<BrokenCheckpoint> broken;
  std::vector<std::string> damaged; ///< paths of what was set aside
};

/// The checkpoints in a folder; none if it does not exist. Remains of a crash
/// while a checkpoint was written or removed are not listed.
Checkpoints findCheckpoints(const std::string &folder);

/// The paths of all that a folder holds of checkpoints, whole or not; none
/// where it does not exist.
std::vector<std::string> checkpointFolders(const std::string &folder);

/// The checkpoint that has `path` for a file, or would have it, of those in
/// `checkpoints` by whatever name; "" where none has.
std::string replacedCheckpoint(const std::string &path,
                               const std::vector<std::string> &checkpoints);

/// The newest complete checkpoint of a folder; none where it has none of any
/// kind. `remarks` says what is passed over: newer ones that are damaged, and a
/// pointer that names another one. Throws std::runtime_error where there is
/// something and nothing is complete, and where a newer one may be whole: going
/// on without it would lose what it has.
std::optional<FoundCheckpoint> takeNewest(const std::string &folder,
                                          std::vector<std::string> &remarks);

/// `path` + "/" + `name`
std::string inFolder(const std::string &path, const std::string &name);

/// The steps by which a checkpoint comes into being and goes, for one rank. At
/// any moment each is complete, or it is not there under its name.
class CheckpointFolder {
public:
  CheckpointFolder(std::string path, FileSystem &files)
      : path(std::move(path)), files(files) {}

  /// Makes the folder where it is missing. Throws where nothing can be written
  /// into it.
  void make();
  /// Makes the folder where it is missing, removes what crashes have left, and
  /// makes an empty folder for the checkpoint of `update`. Throws where there
  /// is a complete one of that update or of a later one; one of that update
  /// that cannot be read gets another name. Returns true.
  bool begin(int64_t update);
  /// The folder in which the files are written until the checkpoint is
  /// complete.
  static std::string partialPath(const std::string &folder, int64_t update);
  /// A file by which ranks find out whether they see one folder.
  static std::string probePath(const std::string &folder, uint64_t tag);
  /// Publishes what `begin` began, whose files are synchronised. The pointer
  /// stays where it names a later one that is there, readable or not.
  void commit(const Manifest &manifest);
  /// Removes what `begin` began, as far as that is possible.
  void abandon(int64_t update) noexcept;
  /// Removes all but the newest `keep`, as far as that is possible.
  void prune(int64_t keep);

  /// Remarks since the last call: folders that could not be removed, and those
  /// that got another name.
  std::vector<std::string> takeRemarks();

private:
  void write(const std::string &folder, const std::string &name,
             const std::string &text);
  void remove(const std::string &folder);
  void tryToRemove(const std::string &name);
  void setAside(const BrokenCheckpoint &broken);
  void clean();
  bool isPointedBeyond(int64_t update) const;

  std::string path;
  FileSystem &files;
  std::vector<std::string> remarks;
};

/// Keeps a folder for one run, as long as it lives.
class FolderLock {
public:
  /// Throws where another run, of this machine or of one that shares the file
  /// system, holds it. A file system without locks gives none.
  explicit FolderLock(const std::string &path);

private:
  FileHandle folder;
};

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_FOLDER_H
