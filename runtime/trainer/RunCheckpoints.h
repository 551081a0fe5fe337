// The checkpoints of a run: when it saves one, and where it goes on.
#ifndef ZERO_RUNTIME_TRAINER_RUNCHECKPOINTS_H
#define ZERO_RUNTIME_TRAINER_RUNCHECKPOINTS_H

#include "checkpoint/Checkpoint.h"
#include "checkpoint/Save.h"
#include "data/Batches.h"
#include "trainer/Run.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace zrt {

class RunCheckpoints {
public:
  /// `batches` may be null where nothing is trained. Throws on all ranks where
  /// the folder cannot be made, where they do not see the same one, or where
  /// another run writes to it.
  RunCheckpoints(const Run &run, const Data &data, Communicator &communicator,
                 Batches *batches);

  /// With --resume, sets all state from the newest complete checkpoint and the
  /// batches to the data that it has not seen; false where there is none.
  /// Throws on all ranks where that is of another model, seed or data, and,
  /// without --resume, where there are checkpoints already.
  bool resume(const Arenas &arenas);

  /// The position and values that `resume` has loaded.
  int64_t update() const { return loaded.manifest.update; }
  int64_t skipped() const { return loaded.manifest.skipped; }
  const StartingValues &start() const { return loaded.start; }

  /// Whether --checkpoint-every asks for one after `update`.
  bool isDue(int64_t update) const;
  /// Saves the state after `update`, once the checkpoint before it is complete.
  /// Where there is memory for a copy, it returns as soon as that is made.
  /// Nothing may be in flight. Called by all ranks.
  void save(int64_t update, const Arenas &arenas, const StartingValues &start);
  /// How far this rank is with a save that goes on.
  BackgroundSave::Progress progress() const;
  /// Goes on with it; `all` is the largest progress of all ranks. Called by all
  /// ranks, and as `BackgroundSave::advance`.
  void advance(BackgroundSave::Progress all);
  /// Saves the state after the last update, unless it is saved already, and
  /// returns when all is on the disk. Called by all ranks.
  void finish(int64_t update, const Arenas &arenas,
              const StartingValues &start);
  /// Whether they are written from copies while training goes on.
  bool usesCopies() const { return background != nullptr; }
  /// The paths of checkpoints that were completed since the last call.
  std::vector<std::string> takeSaved();

private:
  void chooseCopies();
  RunPosition positionAfter(int64_t update) const;
  void saveNow(int64_t update, const Arenas &arenas,
               const StartingValues &start);
  void note(const std::optional<SavedCheckpoint> &done);
  void refuseExisting() const;
  void checkRun() const;
  void tell(const std::string &remark) const;

  const Run &run;
  const Options &options;
  Communicator &communicator;
  Batches *batches;
  FileSystem &files;
  std::unique_ptr<FolderLock> lock; ///< of the first rank
  DataPosition position; ///< of this run's data, without what it consumed
  LoadedCheckpoint loaded;
  int64_t saved = 0; ///< the last update that is, or will be, in a checkpoint
  std::vector<std::string> complete;          ///< paths, not taken yet
  std::set<std::string> told;                 ///< remarks on checkpoints
  std::unique_ptr<BackgroundSave> background; ///< null: training waits
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_RUNCHECKPOINTS_H
