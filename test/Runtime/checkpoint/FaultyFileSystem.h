// File systems that fail, lose power, or end the process at an operation.
#ifndef ZERO_TEST_RUNTIME_CHECKPOINT_FAULTYFILESYSTEM_H
#define ZERO_TEST_RUNTIME_CHECKPOINT_FAULTYFILESYSTEM_H

#include "checkpoint/FileSystem.h"

#include <functional>
#include <map>
#include <mutex>

namespace zrt::testing {

/// Calls `before(operation)` before each operation that changes something, and
/// then does it on the disk, but that it synchronises nothing: that takes long,
/// and matters to a loss of power only. `operation` counts from 1; `half` is
/// there where the operation appends to a file: it appends the first half of
/// the data.
class WatchedFileSystem : public FileSystem {
public:
  using Hook = std::function<void(int operation, const std::string &what,
                                  const std::function<void()> &half)>;
  explicit WatchedFileSystem(Hook before = nullptr)
      : before(std::move(before)) {}

  bool makeFolder(const std::string &path) override;
  std::unique_ptr<OutputFile> create(const std::string &path) override;
  void rename(const std::string &from, const std::string &to) override;
  void removeFile(const std::string &path) override;
  void removeFolder(const std::string &path) override;
  void syncFolder(const std::string &path) override;
  std::vector<std::string> list(const std::string &path) override;

  /// Counts an operation.
  void step(const std::string &what,
            const std::function<void()> &half = nullptr);
  int operations() const { return count; }

private:
  Hook before;
  std::mutex mutex;
  int count = 0;
};

/// What survives of operations that nothing has synchronised.
enum class Loss {
  Everything, ///< nothing of them does
  Data,       ///< names do, contents do not
  Nothing,    ///< all of them do: the process ends, the machine does not
  Arbitrary,  ///< each name may or may not; contents are torn
};

/// Remembers what is synchronised, so that a loss of power can be played.
class LosingFileSystem final : public FileSystem {
public:
  /// Everything in `root` is taken as synchronised. From operation `stopAt` on
  /// every operation throws and does nothing; 0: none does. Of files whose name
  /// contains `neverSynced`, where that is not empty, no content is.
  LosingFileSystem(const std::string &root, int stopAt,
                   std::string neverSynced = "");
  ~LosingFileSystem() override;

  bool makeFolder(const std::string &path) override;
  std::unique_ptr<OutputFile> create(const std::string &path) override;
  void rename(const std::string &from, const std::string &to) override;
  void removeFile(const std::string &path) override;
  void removeFolder(const std::string &path) override;
  void syncFolder(const std::string &path) override;
  std::vector<std::string> list(const std::string &path) override;

  bool hasStopped() const { return stopped; }
  int operations() const { return count; }
  /// Writes what a loss of power now would leave of the root to `folder`.
  void survive(const std::string &folder, Loss loss, uint64_t seed) const;

  struct Node;

private:
  class File;
  void step();
  std::shared_ptr<Node> &parentOf(const std::string &path, std::string &name);
  std::shared_ptr<Node> find(const std::string &path);

  std::string root;
  int stopAt;
  std::string neverSynced;
  std::shared_ptr<Node> top;
  mutable std::recursive_mutex mutex;
  int count = 0;
  bool stopped = false;
};

} // namespace zrt::testing

#endif // ZERO_TEST_RUNTIME_CHECKPOINT_FAULTYFILESYSTEM_H
