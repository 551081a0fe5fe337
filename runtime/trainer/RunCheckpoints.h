// The checkpoints of a run: when it saves one, and where it goes on.
#ifndef ZERO_RUNTIME_TRAINER_RUNCHECKPOINTS_H
#define ZERO_RUNTIME_TRAINER_RUNCHECKPOINTS_H

#include "checkpoint/Checkpoint.h"
#include "data/Batches.h"
#include "trainer/Run.h"

namespace zrt {

class RunCheckpoints {
public:
  /// `batches` may be null where nothing is trained. Throws on all ranks where
  /// the folder cannot be made, or another run writes to it.
  RunCheckpoints(const Run &run, const Data &data, Communicator &communicator,
                 Batches *batches);

  /// With --resume, sets all state from the newest complete checkpoint and the
  /// batches to the data that it has not seen; false where there is none.
  /// Throws on all ranks where that is of another model, seed or data, and,
  /// without --resume, where there are checkpoints already.
  bool resume(const Arenas &arenas);

  /// What `resume` has loaded.
  int64_t update() const { return loaded.manifest.update; }
  int64_t skipped() const { return loaded.manifest.skipped; }
  const StartingValues &start() const { return loaded.start; }

  /// Whether --checkpoint-every asks for one after `update`.
  bool isDue(int64_t update) const;
  /// Saves the state after `update`, unless it is saved already; returns the
  /// checkpoint's path, or "". Nothing may be in flight. Called by all ranks.
  std::string save(int64_t update, const Arenas &arenas,
                   const StartingValues &start);

private:
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
  int64_t saved = 0; ///< the last update that is in a checkpoint
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_RUNCHECKPOINTS_H
