// The file of one rank of a checkpoint, and reading any range from all files.
//
// A tensor of a file is a run of elements of one state of one parameter, flat:
// "fc1.w/exp_avg/128" begins at element 128 of exp_avg of fc1.w. Of a parameter
// that is cut among ranks it is as many runs as it has rows: each of
// "fc1.w/exp_avg/128+4096" begins 4096 elements behind the one before.
#ifndef ZERO_RUNTIME_CHECKPOINT_SHARD_H
#define ZERO_RUNTIME_CHECKPOINT_SHARD_H

#include "checkpoint/FileSystem.h"
#include "checkpoint/Manifest.h"
#include "state/Arenas.h"
#include "state/Weights.h"

#include <atomic>
#include <map>

namespace zrt {

/// Writes and synchronises what is `rank`'s to write of all states: the files
/// of all ranks have every element once.
StoredFile writeShard(FileSystem &files, const std::string &folder,
                      const Program &program, const Arenas &arenas, int rank,
                      const StartingValues &start);

/// A copy in memory of what the file of a rank will hold, so that the state may
/// go on while it is written.
class ShardCopy {
public:
  /// Bytes that a copy takes, of the rank that has most to write.
  static uint64_t bytesOf(const Program &program);

  /// Takes the memory where there is none yet. Throws std::runtime_error where
  /// it cannot be had.
  void take(const Program &program, const Arenas &arenas, int rank,
            const StartingValues &start);

  /// Writes and synchronises the file. Once `stop` is true, it throws instead
  /// of writing more.
  StoredFile write(FileSystem &files, const std::string &folder,
                   const std::atomic<bool> &stop) const;

private:
  std::string name, header;
  Mapping values;
  uint64_t used = 0;
};

/// The logical tensors of a checkpoint, whichever rank wrote what. Few files
/// are open at a time. One thread at a time may use it.
class ShardReader {
public:
  /// Reads the files' headers. Throws std::runtime_error, naming the file,
  /// where one cannot be read, or where an element is in no file or in two.
  ShardReader(std::string folder, const Manifest &manifest);

  /// Elements [first, first + count) of a state, as f32.
  void read(const std::string &tensor, const std::string &state, uint64_t first,
            uint64_t count, float *out) const;

  /// Opens the files that hold `tensor`'s own values and keeps them open, so
  /// that they can be read after they are removed.
  void hold(const std::string &tensor) const;

  /// Closes all other files: the disk keeps what is open, also once it is
  /// removed.
  void closeOthers() const { recent.clear(); }

private:
  struct Run {
    uint64_t element = 0, count = 0;
    size_t file = 0;
    uint64_t place = 0; ///< in the file
    TensorDataType type = TensorDataType::F32;
  };
  using Key = std::pair<std::string, std::string>;

  void addFile(size_t file);
  void checkCover(const Manifest &manifest);
  const std::vector<Run> &runsOf(const std::string &tensor,
                                 const std::string &state) const;
  const FileHandle &open(size_t file) const;

  std::vector<std::string> paths; ///< of the files
  std::map<Key, std::vector<Run>> runs;
  mutable std::map<size_t, FileHandle> held;
  mutable std::map<size_t, FileHandle> recent;
};

} // namespace zrt

#endif // ZERO_RUNTIME_CHECKPOINT_SHARD_H
