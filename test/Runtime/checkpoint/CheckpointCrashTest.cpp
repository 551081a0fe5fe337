// A loss of power at any operation: the old checkpoint or the new one.
#include "CheckpointTesting.h"

#include <set>

using namespace zrt;
using namespace zrt::testing;

namespace {

/// What each kind of loss leaves, several times where it is left to chance.
const std::vector<std::pair<Loss, uint64_t>> &losses() {
  static const std::vector<std::pair<Loss, uint64_t>> all = {
      {Loss::Everything, 0}, {Loss::Data, 0},      {Loss::Nothing, 0},
      {Loss::Arbitrary, 1},  {Loss::Arbitrary, 2}, {Loss::Arbitrary, 3}};
  return all;
}

/// Saving a round over those before it.
struct Saving {
  explicit Saving(Program program) : writer(program), reader(program) {}

  Program writer;
  Program reader; ///< goes on with what is left
  int olds = 1;   ///< rounds that were saved before, by the writer
  int64_t keep = 0;
  std::string neverSynced;
};

/// What was found after losses of power at every operation of saving a round.
struct Found {
  std::set<int> rounds;
  int operations = 0, damaged = 0;
};

/// The round that survived, -1 without one, -2 where it cannot be loaded.
int survivor(const Program &program, const std::string &folder) {
  int found = -1;
  onRanks(program.training.ranks, [&](Communicator &communicator) {
    std::vector<std::string> remarks;
    try {
      const auto newest = findNewest(folder, communicator, remarks);
      if (!newest)
        return;
      RankMemory memory(program, communicator.rank());
      initializeControl(program, memory.arenas, 0);
      loadCheckpoint(*newest, program, memory.arenas, communicator);
      if (communicator.rank() == 0)
        found = int(newest->manifest.update / 11);
    } catch (const std::exception &) {
      if (communicator.rank() == 0)
        found = -2;
      throw;
    }
  });
  return found;
}

/// What is left stands in nobody's way, and no old one went before its time.
void expectToGoOn(const Saving &saving, const std::string &left, int round) {
  expectNewest(saving.reader, left);
  const size_t complete = findCheckpoints(left).complete.size();
  const size_t wanted = saving.keep ? size_t(saving.keep) : 1;
  EXPECT_GE(complete, std::min(wanted, size_t(saving.olds)));
  const int next = saving.olds + 2;
  ASSERT_LT(round, next);
  EXPECT_EQ(saveRound(saving.reader, left, next, saving.keep),
            noErrors(saving.reader));
  EXPECT_EQ(expectNewest(saving.reader, left), next);
  if (saving.keep) {
    EXPECT_LE(findCheckpoints(left).complete.size(), wanted);
  }
}

Found loseEverywhere(const Saving &saving, Save how) {
  const int last = saving.olds + 1;
  Found found;
  TemporaryFolder home;
  const std::string before = home.file("before");
  for (int round = 1; round < last; ++round)
    EXPECT_EQ(saveRound(saving.writer, before, round), noErrors(saving.writer));
  for (int stopAt = 1;; ++stopAt) {
    TemporaryFolder folder;
    const std::string root = folder.file("run"), left = folder.file("left");
    std::filesystem::copy(before, root,
                          std::filesystem::copy_options::recursive);
    LosingFileSystem files(root, stopAt, saving.neverSynced);
    saveRound(saving.writer, root, last, saving.keep, files, how);
    for (const auto &[loss, seed] : losses()) {
      files.survive(left, loss, seed * 1000 + uint64_t(stopAt));
      const int round = survivor(saving.reader, left);
      found.damaged += round < 0;
      found.rounds.insert(round);
      if (!files.hasStopped() && saving.neverSynced.empty())
        EXPECT_EQ(round, last) << "a checkpoint was lost after it was saved";
      if (round >= 0 && saving.neverSynced.empty())
        expectToGoOn(saving, left, round);
    }
    if (!files.hasStopped()) {
      found.operations = files.operations();
      return found;
    }
  }
}

/// The round before or the one that was saved, and never less.
Found expectTheLastTwo(const Saving &saving, Save how) {
  const Found found = loseEverywhere(saving, how);
  EXPECT_EQ(found.rounds, (std::set<int>{saving.olds, saving.olds + 1}));
  EXPECT_EQ(found.damaged, 0);
  return found;
}

} // namespace

class CheckpointCrash : public ::testing::TestWithParam<Save> {};
INSTANTIATE_TEST_SUITE_P(Save, CheckpointCrash,
                         ::testing::Values(Save::AtOnce, Save::InBackground));

TEST_P(CheckpointCrash, LeavesTheOldOrTheNewOne) {
  Saving saving(checkpointProgram(3, 1, DataType::F32));
  saving.keep = 1;
  EXPECT_GE(expectTheLastTwo(saving, GetParam()).operations, 15);
}

TEST_P(CheckpointCrash, LeavesTheOldOrTheNewOneOfTwoRanks) {
  expectTheLastTwo(Saving(checkpointProgram(3, 2, DataType::F32)), GetParam());
}

/// Several are removed, the oldest first.
TEST_P(CheckpointCrash, LeavesAsManyAsAreKept) {
  Saving saving(checkpointProgram(1, 1, DataType::F16));
  saving.olds = 4;
  saving.keep = 2;
  expectTheLastTwo(saving, GetParam());
}

TEST_P(CheckpointCrash, LeavesStatesThatAreInFiles) {
  Saving saving(checkpointProgram(3, 2, DataType::BF16, false, Tier::File));
  ASSERT_GT(bytesOfTier(saving.writer, Tier::File), 0u);
  saving.keep = 1;
  expectTheLastTwo(saving, GetParam());
}

/// Those who go on are more or fewer, and a mesh, with states elsewhere.
TEST_P(CheckpointCrash, LeavesWhatOtherRanksGoOnWith) {
  Saving saving(checkpointProgram(3, 2, DataType::F32));
  saving.reader = replicated(
      checkpointProgram(2, 2, DataType::F32, false, Tier::File), 2, true);
  expectTheLastTwo(saving, GetParam());
  saving.writer = replicated(checkpointProgram(1, 2, DataType::F32), 2, false);
  saving.reader = checkpointProgram(3, 1, DataType::F32);
  saving.keep = 1;
  expectTheLastTwo(saving, GetParam());
}

/// The test sees what it is there for.
TEST_P(CheckpointCrash, IsSeenWhereFilesAreNotSynchronised) {
  Saving saving(checkpointProgram(3, 1, DataType::F32));
  saving.keep = 1;
  for (const char *never : {"rank-", "/"}) {
    saving.neverSynced = never;
    EXPECT_GT(loseEverywhere(saving, GetParam()).damaged, 0);
  }
}

/// The first checkpoint of a run, in a folder that is not there yet.
TEST_P(CheckpointCrash, LeavesNothingOrTheFirstOne) {
  const Program program = checkpointProgram(1, 1, DataType::F16);
  std::set<int> rounds;
  for (int stopAt = 1;; ++stopAt) {
    TemporaryFolder folder;
    std::filesystem::create_directory(folder.file("home"));
    LosingFileSystem files(folder.file("home"), stopAt);
    saveRound(program, folder.file("home/run"), 1, 0, files, GetParam());
    for (const auto &[loss, seed] : losses()) {
      files.survive(folder.file("left"), loss, seed * 1000 + uint64_t(stopAt));
      const int round = survivor(program, folder.file("left/run"));
      rounds.insert(round);
      if (!files.hasStopped())
        EXPECT_EQ(round, 1);
    }
    if (!files.hasStopped())
      break;
  }
  EXPECT_EQ(rounds, (std::set<int>{-1, 1}));
}
