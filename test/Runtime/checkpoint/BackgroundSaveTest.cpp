// Checkpoints that are written while the state goes on. What happens when is
// told by the order of events: writes wait until the test lets them go on.
#include "CheckpointTesting.h"

#include <condition_variable>
#include <mutex>

using namespace zrt;
using namespace zrt::testing;

namespace {

using Progress = BackgroundSave::Progress;

/// Closed until it is opened.
class Barrier {
public:
  void open() {
    const std::lock_guard<std::mutex> lock(mutex);
    isOpen = true;
    changed.notify_all();
  }
  void pass() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return isOpen; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = false;
};

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// The largest progress of all ranks.
Progress agree(Communicator &communicator, Progress mine) {
  int32_t all = int32_t(mine);
  communicator.run(Collective::AllReduce, Reduction::Max,
                   {{&all, &all, 1, DataType::I32, 0}});
  return Progress(all);
}

class BackgroundSaves : public ::testing::Test {
protected:
  /// Runs `body(communicator, arenas, save)` on two ranks with the state of
  /// round 1, which `save` has begun to write.
  template <typename Body>
  std::vector<std::string> afterBegin(FileSystem &files, Body body) {
    return onRanks(2, [&](Communicator &communicator) {
      Arenas arenas(program);
      setRound(program, arenas, communicator.rank(), 1);
      BackgroundSave save(root, program, communicator, 0, files);
      EXPECT_EQ(save.progress(), Progress::Idle);
      save.begin(arenas, positionOf(1), startOf(1));
      body(communicator, arenas, save);
    });
  }

  const Program program = checkpointProgram(2, 2, DataType::BF16);
  TemporaryFolder folder;
  const std::string root = folder.file("run");
};

} // namespace

TEST_F(BackgroundSaves, HoldTheStateOfTheirBegin) {
  Barrier barrier;
  WatchedFileSystem files(
      [&](int, const std::string &what, const std::function<void()> &) {
        if (contains(what, "append"))
          barrier.pass();
      });
  const auto errors =
      afterBegin(files, [&](Communicator &communicator, Arenas &arenas,
                            BackgroundSave &save) {
        EXPECT_EQ(save.progress(), Progress::Busy);
        EXPECT_FALSE(save.advance(Progress::Busy));
        setRound(program, arenas, communicator.rank(), 2);
        communicator.barrier();
        EXPECT_TRUE(findCheckpoints(root).complete.empty());
        communicator.barrier();
        barrier.open();
        const auto saved = save.finish();
        ASSERT_TRUE(saved);
        EXPECT_EQ(saved->path, root + "/update-0000000011");
        EXPECT_EQ(save.progress(), Progress::Idle);
        EXPECT_FALSE(save.finish());
      });
  EXPECT_EQ(errors, noErrors(program));
  EXPECT_EQ(expectNewest(program, root), 1);
}

/// As a run does: ranks meet again and again, and nobody waits.
TEST_F(BackgroundSaves, GoOnWhereRanksMeet) {
  WatchedFileSystem files;
  const auto errors =
      afterBegin(files, [&](Communicator &communicator, Arenas &arenas,
                            BackgroundSave &save) {
        for (const int round : {1, 2, 3}) {
          std::optional<SavedCheckpoint> saved;
          while (!saved)
            saved = save.advance(agree(communicator, save.progress()));
          EXPECT_EQ(saved->path,
                    inFolder(root, checkpointName(positionOf(round).update)));
          setRound(program, arenas, communicator.rank(), round + 1);
          if (round < 3)
            save.begin(arenas, positionOf(round + 1), startOf(round + 1));
        }
      });
  EXPECT_EQ(errors, noErrors(program));
  EXPECT_EQ(expectNewest(program, root), 3);
  EXPECT_EQ(findCheckpoints(root).complete.size(), 3u);
}

/// A rank fails while another still writes.
TEST_F(BackgroundSaves, FailOnAllRanksTogether) {
  Barrier barrier;
  WatchedFileSystem files(
      [&](int, const std::string &what, const std::function<void()> &) {
        if (!contains(what, "append"))
          return;
        if (contains(what, "rank-00001"))
          throw std::runtime_error(what + ": No space left on device");
        barrier.pass();
      });
  const auto errors = afterBegin(
      files, [&](Communicator &communicator, Arenas &, BackgroundSave &save) {
        Progress all = Progress::Busy;
        while (all != Progress::Failed) {
          const Progress mine = save.progress();
          if (communicator.rank() == 0)
            EXPECT_EQ(mine, Progress::Busy);
          all = agree(communicator, mine);
        }
        barrier.open();
        save.advance(all);
      });
  for (const std::string &error : errors)
    EXPECT_TRUE(contains(error, "No space left on device")) << error;
  EXPECT_TRUE(contains(errors[0], "rank 1: append ")) << errors[0];
  EXPECT_TRUE(FileSystem::disk().list(root).empty());
  EXPECT_EQ(saveRound(program, root, 2), noErrors(program));
  EXPECT_EQ(expectNewest(program, root), 2);
}

/// A run that ends meanwhile for another reason leaves no checkpoint.
TEST_F(BackgroundSaves, MayEndUnfinished) {
  WatchedFileSystem files;
  EXPECT_EQ(
      afterBegin(files, [](Communicator &, Arenas &, BackgroundSave &) {}),
      noErrors(program));
  EXPECT_TRUE(findCheckpoints(root).complete.empty());
  EXPECT_EQ(saveRound(program, root, 1), noErrors(program));
  EXPECT_EQ(FileSystem::disk().list(root),
            (std::vector<std::string>{"latest", "update-0000000011"}));
}

/// What a copy takes is what the largest file holds after its header.
TEST_F(BackgroundSaves, CopiesAreAsLargeAsFiles) {
  for (const int stage : {0, 1, 2, 3}) {
    const Program target = checkpointProgram(stage, 3, DataType::F16);
    const std::string path = folder.file(std::to_string(stage));
    ASSERT_EQ(saveRound(target, path, 1), noErrors(target));
    uint64_t most = 0;
    for (int rank = 0; rank < 3; ++rank) {
      uint64_t bytes = 0;
      const SafeTensorsFile shard(path + "/update-0000000011/" +
                                  shardName(rank, 3));
      for (const TensorEntry &entry : shard.tensors())
        bytes += entry.end - entry.begin;
      most = std::max(most, bytes);
    }
    EXPECT_EQ(ShardCopy::bytesOf(target), most) << stage;
  }
}
