// Saving the whole state of a run, by all its ranks: at once, or from a copy
// while training goes on.
#ifndef ZERO_RUNTIME_CHECKPOINT_SAVE_H
#define ZERO_RUNTIME_CHECKPOINT_SAVE_H

#include "checkpoint/Folder.h"
#include "checkpoint/Shard.h"
#include "communicator/Communicator.h"
#include "state/Weights.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace zrt {

/// The position of a run between two updates, which is not in its memory.
struct RunPosition {
  int64_t update = 0; ///< updates begun, skipped ones included
  DataPosition data;
};

struct SavedCheckpoint {
  std::string path;
  /// Folders that could not be removed, and those that got another name; on the
  /// first rank.
  std::vector<std::string> remarks;
};

/// Saves the state of a run between two updates, when nothing is in flight, as
/// a folder in `folder`, and then removes all checkpoints but the newest
/// `keep`; 0 keeps all. Whenever the process or the machine stops, the earlier
/// checkpoints are intact, and this one is complete or not there. Called by all
/// ranks, which see one file system; where one fails, all throw
/// std::runtime_error, and nothing but the new checkpoint is lost.
SavedCheckpoint saveCheckpoint(const std::string &folder,
                               const Program &program, const Arenas &arenas,
                               Communicator &communicator,
                               const RunPosition &position,
                               const StartingValues &start, int64_t keep = 0,
                               FileSystem &files = FileSystem::disk());

/// Throws on all ranks where one does not see what the first writes to
/// `folder`, which exists. Called by all ranks.
void agreeOnFolder(const std::string &folder, Communicator &communicator,
                   FileSystem &files = FileSystem::disk());

/// Saves a checkpoint as `saveCheckpoint` does, from a copy of the state, on a
/// thread of each rank: ranks meet at `begin`, and then at points of the run
/// that all of them reach, where they agree on their progress. The manifest is
/// still written last, and only after every rank's file is on the disk. All
/// functions but `progress` are called by all ranks together.
class BackgroundSave {
public:
  /// The progress of a rank's save. Ranks agree on the largest value.
  enum class Progress : int32_t {
    Idle,  ///< nothing is being saved
    Done,  ///< this rank's part of what all do now is
    Busy,  ///< it is not
    Failed ///< it never will be
  };

  /// All references are borrowed.
  BackgroundSave(std::string folder, const Program &program,
                 Communicator &communicator, int64_t keep, FileSystem &files);
  /// Ends without a checkpoint where one is being saved.
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave &) = delete;
  BackgroundSave &operator=(const BackgroundSave &) = delete;

  /// Copies the state, between two updates and when nothing is in flight, and
  /// returns while it is written. Throws as `saveCheckpoint`.
  /// \pre Nothing is being saved.
  void begin(const Arenas &arenas, const RunPosition &position,
             const StartingValues &start);

  /// Does not wait.
  Progress progress() const;

  /// Goes on where all ranks are done with their part, and returns the
  /// checkpoint once it is complete; waits for nobody who is busy. Where a rank
  /// has failed, all throw std::runtime_error. `all` is the largest progress of
  /// all ranks.
  std::optional<SavedCheckpoint> advance(Progress all);
  /// Waits until nothing is being saved; otherwise as `advance`.
  std::optional<SavedCheckpoint> finish();

private:
  enum class Phase { Idle, Writing, Publishing };

  void run(std::function<void()> work);
  void collect();
  void fail();
  std::optional<SavedCheckpoint> next();

  const std::string folder;
  const Program &program;
  Communicator &communicator;
  const int64_t keep;
  FileSystem &files;
  CheckpointFolder checkpoints;

  Phase phase = Phase::Idle; ///< the same on all ranks
  ShardCopy copy;
  Manifest manifest;
  StoredFile mine;
  std::string error; ///< of `thread`; read once `ended` is true
  std::atomic<bool> ended{true}, stop{false};
  std::thread thread; ///< uses the rest
};

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_SAVE_H
