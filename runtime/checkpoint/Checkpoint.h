// Finding and loading the whole state of a run, by all its ranks.
#ifndef ZERO_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define ZERO_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "checkpoint/Folder.h"
#include "communicator/Communicator.h"
#include "state/Weights.h"

#include <optional>

namespace zrt {

/// What was loaded.
struct LoadedCheckpoint {
  std::string path;
  Manifest manifest;
  /// Values that frozen parameters had when the first of the runs began. They
  /// may be read after the checkpoint is removed.
  StartingValues start;
};

/// The newest complete checkpoint of a folder, or none. `remarks` says what was
/// passed over; it is empty on all ranks but the first. Called by all ranks.
std::optional<FoundCheckpoint> findNewest(const std::string &folder,
                                          Communicator &communicator,
                                          std::vector<std::string> &remarks);

/// Sets parameters, states and the control block from `found`, whatever stage,
/// rank count, mesh and tiers it was written with: each rank reads what it
/// stores. Before that, the ranks together verify all its files. Called by all
/// ranks; where one fails, all throw std::runtime_error: a file is missing or
/// not what was written, or the program has other parameters or states.
///
/// The region `initialize` must run afterwards, as at the start of a run.
LoadedCheckpoint loadCheckpoint(const FoundCheckpoint &found,
                                const Program &program, const Arenas &arenas,
                                Communicator &communicator);

/// Throws where `file` of the checkpoint at `path` is not what was written.
void verifyFile(const std::string &path, const StoredFile &file);

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_CHECKPOINT_H
