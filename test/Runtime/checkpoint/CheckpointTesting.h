// State that is known element by element, whoever stores it.
#ifndef ZERO_TEST_RUNTIME_CHECKPOINT_CHECKPOINTTESTING_H
#define ZERO_TEST_RUNTIME_CHECKPOINT_CHECKPOINTTESTING_H

#include "../state/StateTesting.h"
#include "FaultyFileSystem.h"

#include "checkpoint/Checkpoint.h"
#include "checkpoint/Save.h"
#include "files/FileMemory.h"
#include "io/Digest.h"
#include "state/Initialize.h"

#include <cstring>

namespace zrt::testing {

/// The program of the weights' tests, of any stage, whose optimizer keeps
/// states that start at 0 and at 0.5, as Adam and Adagrad do.
inline Program checkpointProgram(int stage, int ranks, DataType type,
                                 bool splitMaster = false,
                                 Tier offloaded = Tier::Host) {
  ProgramBuilder builder(stage, ranks, type, splitMaster);
  builder.offloaded = offloaded;
  builder.kept = {{"exp_avg", 0.0}, {"sum", 0.5}};
  const auto parameter = [](const char *name, std::vector<int64_t> shape) {
    Parameter result;
    result.name = name;
    result.shape = std::move(shape);
    result.init = {InitKind::Normal, 0.0, 0.5};
    return result;
  };
  builder.add(true, {parameter("fc1.w", {7, 11}), parameter("fc1.b", {5}),
                     parameter("one", {1})});
  builder.add(true, {parameter("deep/er.w", {3, 4, 5})});
  builder.add(false, {parameter("frozen", {6, 6})});
  return builder.program;
}

/// The value of an element in `round`: a function of names and numbers alone.
/// It has 8 bits, so that every type keeps it.
inline float elementValue(const std::string &tensor, const std::string &state,
                          uint64_t element, int round) {
  const std::string key = tensor + "/" + state;
  const uint64_t bits =
      digestBlock(element * 1009 + uint64_t(round), key.data(), key.size());
  return float(int(bits % 256) - 128) / 64;
}

inline ValueSource valuesOf(const Parameter &parameter,
                            const std::string &state, int round) {
  return [=](uint64_t element, uint64_t count, float *out) {
    for (uint64_t i = 0; i < count; ++i)
      out[i] = elementValue(parameter.name, state, element + i, round);
  };
}

/// What the state of `round` started from.
inline StartingValues startOf(int round) {
  return [=](const Parameter &parameter, uint64_t element, uint64_t count,
             float *out) {
    valuesOf(parameter, kValueName, round)(element, count, out);
  };
}

inline bool isKept(const State &state) {
  return state.start == StateStart::Constant;
}

/// Sets all that a rank stores to the state of `round`.
inline void setRound(const Program &program, const Arenas &arenas, int rank,
                     int round) {
  initializeControl(program, arenas, 7);
  setConstantStates(program, arenas, rank);
  for (const Parameter &parameter : program.parameters) {
    setParameter(program, arenas, rank, parameter,
                 valuesOf(parameter, kValueName, round));
    for (const State &state : partitionOf(program, parameter).states)
      if (isKept(state))
        setState(program, arenas, rank, parameter, state,
                 valuesOf(parameter, state.name, round));
  }
  Control &control = arenas.control();
  control.steps = 10 * round;
  control.skipped = round;
  control.scale = float(1 << round % 24);
  control.iteration = 11 * round;
  control.lastOverflow = 3 * round;
  control.hysteresis = 2;
}

inline RunPosition positionOf(int round) {
  RunPosition position;
  position.update = 11 * round;
  position.data = {7, 12, uint64_t(132 * round), 1000, 99};
  return position;
}

/// The bytes of all that training keeps, padding included.
inline std::vector<std::string> bytesOf(const Program &program,
                                        const Arenas &arenas, int rank) {
  std::vector<std::string> all;
  const auto add = [&](const BufferRef &buffer) {
    std::string bytes(buffer.bytes, '\0');
    arenas.read(bytes.data(), arenas.resolve(buffer, rank), bytes.size());
    all.push_back(std::move(bytes));
  };
  for (const Partition &partition : program.partitions) {
    add(partition.parameters);
    for (const State &state : partition.states)
      for (const StateRange &range : state.ranges)
        add(range.buffer);
  }
  return all;
}

/// The memory of a rank, and its file where the program has something in one.
class RankMemory {
public:
  RankMemory(const Program &program, int rank)
      : files(makeFileMemory(
            program, std::filesystem::temp_directory_path().string(), rank)),
        arenas(program, /*hugePages=*/false, files.get()) {}

private:
  std::unique_ptr<FileMemory> files;

public:
  Arenas arenas;
};

/// Whether training waits, or goes on with other state meanwhile.
enum class Save { AtOnce, InBackground };

/// Saves the state of `round` on one rank; returns what there is to say.
inline SavedCheckpoint saveRank(const Program &program,
                                Communicator &communicator,
                                const std::string &folder, int round,
                                int64_t keep, FileSystem &files, Save how) {
  const int rank = communicator.rank();
  RankMemory memory(program, rank);
  Arenas &arenas = memory.arenas;
  setRound(program, arenas, rank, round);
  if (how == Save::AtOnce)
    return saveCheckpoint(folder, program, arenas, communicator,
                          positionOf(round), startOf(round), keep, files);
  BackgroundSave save(folder, program, communicator, keep, files);
  save.begin(arenas, positionOf(round), startOf(round));
  setRound(program, arenas, rank, round + 1);
  return *save.finish();
}

/// Saves the state of `round` on all ranks; returns what each threw.
inline std::vector<std::string>
saveRound(const Program &program, const std::string &folder, int round,
          int64_t keep, FileSystem &files, Save how = Save::AtOnce,
          std::vector<std::string> *remarks = nullptr) {
  return onRanks(program.training.ranks, [&](Communicator &communicator) {
    const SavedCheckpoint saved =
        saveRank(program, communicator, folder, round, keep, files, how);
    if (remarks && communicator.rank() == 0)
      *remarks = saved.remarks;
  });
}

/// The same without waiting for the disk.
inline std::vector<std::string> saveRound(const Program &program,
                                          const std::string &folder, int round,
                                          int64_t keep = 0) {
  WatchedFileSystem files;
  return saveRound(program, folder, round, keep, files);
}

inline std::vector<std::string> noErrors(const Program &program) {
  return std::vector<std::string>(size_t(program.training.ranks));
}

/// Loads the newest checkpoint on all ranks and expects all of its round's
/// state, bit by bit; returns the round, or -1 where there is none.
inline int expectNewest(const Program &program, const std::string &folder) {
  std::vector<int> rounds(size_t(program.training.ranks), -1);
  const auto errors =
      onRanks(program.training.ranks, [&](Communicator &communicator) {
        const int rank = communicator.rank();
        std::vector<std::string> remarks;
        const auto found = findNewest(folder, communicator, remarks);
        if (!found)
          return;
        const int round = int(found->manifest.update / 11);
        RankMemory memory(program, rank), wanted(program, rank);
        initializeControl(program, memory.arenas, 0);
        loadCheckpoint(*found, program, memory.arenas, communicator);
        setRound(program, wanted.arenas, rank, round);
        const auto same = bytesOf(program, memory.arenas, rank) ==
                          bytesOf(program, wanted.arenas, rank);
        rounds[size_t(rank)] = same ? round : -2;
      });
  EXPECT_EQ(errors, noErrors(program));
  for (const int round : rounds) {
    EXPECT_EQ(round, rounds.front());
    EXPECT_NE(round, -2) << "the state is not that of its round";
  }
  return rounds.front();
}

} // namespace zrt::testing

#endif // ZERO_TEST_RUNTIME_CHECKPOINT_CHECKPOINTTESTING_H
