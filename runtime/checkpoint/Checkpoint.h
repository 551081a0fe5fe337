// Finding and loading the whole state of a run, by all its ranks.
#ifndef ZERO_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define ZERO_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "checkpoint/Folder.h"
#include "checkpoint/Shard.h"
#include "communicator/Communicator.h"
#include "state/Weights.h"

#include <memory>
#include <optional>

namespace zrt {

/// A checkpoint that was loaded.
struct LoadedCheckpoint {
  std::string path;
  Manifest manifest;
  /// Values that frozen parameters had when the first of the runs began. They
  /// may be read after the checkpoint is removed.
  StartingValues start;
};

/// `takeNewest` of the first rank, whose remarks the others do not have. Called
/// by all ranks; where it throws, all throw.
std::optional<FoundCheckpoint> findNewest(const std::string &folder,
                                          Communicator &communicator,
                                          std::vector<std::string> &remarks);

/// A checkpoint that `program` can load, and its open files.
struct CheckedCheckpoint {
  FoundCheckpoint found;
  std::shared_ptr<const ShardReader> reader;
};

/// Finds out whether `found` can be loaded, before anything is set: the ranks
/// together read all its files. Called by all ranks; where one fails, all throw
/// std::runtime_error: a file is missing or not what was written, the program
/// has other parameters or states, or a type that cannot hold a value.
CheckedCheckpoint checkCheckpoint(const FoundCheckpoint &found,
                                  const Program &program,
                                  Communicator &communicator);

/// Sets parameters, states and the control block, whatever stage, rank count,
/// mesh and tiers the checkpoint was written with: each rank reads what it
/// stores. Called by all ranks; fails, on all, only where a file that was
/// checked cannot be read any more.
///
/// The region `initialize` must run afterwards, as at the start of a run.
LoadedCheckpoint loadCheckpoint(const CheckedCheckpoint &checked,
                                const Program &program, const Arenas &arenas,
                                Communicator &communicator);
/// Checks `found` first.
LoadedCheckpoint loadCheckpoint(const FoundCheckpoint &found,
                                const Program &program, const Arenas &arenas,
                                Communicator &communicator);

/// Throws where `file` of the checkpoint at `path` is not what was written.
void verifyFile(const std::string &path, const StoredFile &file);

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_CHECKPOINT_H
