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

/// What was found after losses of power at every operation of saving round 2
/// over round 1.
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
      Arenas arenas(program);
      initializeControl(program, arenas, 0);
      loadCheckpoint(*newest, program, arenas, communicator);
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

Found loseEverywhere(int ranks, int64_t keep, const std::string &neverSynced,
                     Save how) {
  const Program program = checkpointProgram(3, ranks, DataType::F32);
  Found found;
  for (int stopAt = 1;; ++stopAt) {
    TemporaryFolder folder;
    const std::string root = folder.file("run");
    EXPECT_EQ(saveRound(program, root, 1), noErrors(program));
    LosingFileSystem files(root, stopAt, neverSynced);
    saveRound(program, root, 2, keep, files, how);
    for (const auto &[loss, seed] : losses()) {
      const std::string left = folder.file("left");
      files.survive(left, loss, seed * 1000 + uint64_t(stopAt));
      const int round = survivor(program, left);
      found.damaged += round < 0;
      found.rounds.insert(round);
      if (!files.hasStopped() && neverSynced.empty())
        EXPECT_EQ(round, 2) << "a checkpoint was lost after it was saved";
      if (round < 0 || !neverSynced.empty())
        continue;
      expectNewest(program, left);
      // What is left stands in nobody's way.
      EXPECT_EQ(saveRound(program, left, 3, keep), noErrors(program));
      EXPECT_EQ(expectNewest(program, left), 3);
    }
    if (!files.hasStopped()) {
      found.operations = files.operations();
      return found;
    }
  }
}

} // namespace

class CheckpointCrash : public ::testing::TestWithParam<Save> {};
INSTANTIATE_TEST_SUITE_P(Save, CheckpointCrash,
                         ::testing::Values(Save::AtOnce, Save::InBackground));

TEST_P(CheckpointCrash, LeavesTheOldOrTheNewOne) {
  const Found found = loseEverywhere(1, 1, "", GetParam());
  EXPECT_EQ(found.rounds, (std::set<int>{1, 2}));
  EXPECT_EQ(found.damaged, 0);
  EXPECT_GE(found.operations, 15);
}

TEST_P(CheckpointCrash, LeavesTheOldOrTheNewOneOfTwoRanks) {
  const Found found = loseEverywhere(2, 0, "", GetParam());
  EXPECT_EQ(found.rounds, (std::set<int>{1, 2}));
  EXPECT_EQ(found.damaged, 0);
}

/// The test sees what it is there for.
TEST_P(CheckpointCrash, IsSeenWhereFilesAreNotSynchronised) {
  EXPECT_GT(loseEverywhere(1, 1, "rank-", GetParam()).damaged, 0);
  EXPECT_GT(loseEverywhere(1, 1, "/", GetParam()).damaged, 0);
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
