// Runs that save checkpoints and go on from them.
#include "../checkpoint/FaultyFileSystem.h"
#include "TrainerTesting.h"

#include "checkpoint/Folder.h"
#include "checkpoint/Shard.h"
#include "engine/MachineMemory.h"
#include "trainer/Signals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>
#include <unistd.h>

using namespace zrt;
using namespace zrt::test;

namespace {

/// What happened, in order.
class Events {
public:
  void add(const std::string &event) {
    const std::lock_guard<std::mutex> lock(mutex);
    all.push_back(event);
    changed.notify_all();
  }
  void await(const std::string &event) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return placeOf(event) < all.size(); });
  }
  /// Its place, or the number of events where it did not happen.
  size_t find(const std::string &event) {
    const std::lock_guard<std::mutex> lock(mutex);
    return placeOf(event);
  }

private:
  size_t placeOf(const std::string &event) const {
    return size_t(std::find(all.begin(), all.end(), event) - all.begin());
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> all;
};

class TrainerCheckpoint : public ::testing::Test {
protected:
  ~TrainerCheckpoint() override { std::filesystem::remove_all(folder); }

  Outcome run(int ranks, int steps, std::vector<std::string> more,
              const EmbeddedProgram &embedded = {}) {
    more.insert(more.end(), {"--steps", std::to_string(steps), "--data",
                             text.path(), "--metrics", metrics.path(),
                             "--save-weights", weights.path()});
    return runWith(makeFakeProgram(ranks, 2), kernels, more, embedded);
  }
  Outcome resume(int ranks, int steps, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--checkpoint", folder, "--resume"});
    return run(ranks, steps, more);
  }
  std::vector<double> losses() const {
    std::vector<double> values;
    for (const Json &line : linesOf(metrics))
      values.push_back(line["loss"]);
    return values;
  }
  std::vector<int64_t> saved() const {
    std::vector<int64_t> updates;
    for (const FoundCheckpoint &found : findCheckpoints(folder).complete)
      updates.push_back(found.manifest.update);
    return updates;
  }

  FakeKernels kernels = makeFakeKernels();
  TemporaryFile text{".txt", someText()};
  TemporaryFile metrics{".jsonl"}, weights{".safetensors"};
  const std::string folder = text.path() + ".checkpoints";
};

} // namespace

TEST_F(TrainerCheckpoint, AResumedRunIsTheOneThatWasNotStopped) {
  ASSERT_EQ(run(2, 9, {}).code, 0);
  const std::vector<double> wanted = losses();
  const std::string bytes = weights.content();
  Outcome outcome = resume(2, 5, {"--checkpoint-every", "2", "--keep", "2"});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.errors, "has no checkpoint yet: the run starts "
                                       "with update 1"));
  EXPECT_TRUE(contains(outcome.out, "saved " + folder + "/update-0000000004"));
  EXPECT_EQ(saved(), (std::vector<int64_t>{4, 5}));
  outcome = resume(2, 9);
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(outcome.errors, "");
  EXPECT_TRUE(contains(outcome.out, "resumes after update 5 from " + folder +
                                        "/update-0000000005\n"));
  EXPECT_TRUE(contains(outcome.out, "9 updates, 0 skipped"));
  EXPECT_EQ(losses(), wanted); // the lines of both runs
  EXPECT_EQ(weights.content(), bytes);
  EXPECT_EQ(saved(), (std::vector<int64_t>{4, 5, 9}));
}

TEST_F(TrainerCheckpoint, NothingIsLeftToDo) {
  ASSERT_EQ(run(2, 4, {"--checkpoint", folder}).code, 0);
  const std::string bytes = weights.content();
  Outcome outcome = resume(2, 3);
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.errors, "--steps 3 counts the updates of all "
                                       "runs: there are none left"));
  EXPECT_FALSE(contains(outcome.out, "updates, "));
  EXPECT_EQ(weights.content(), bytes);
  // A checkpoint's weights without data.
  std::filesystem::resize_file(weights.path(), 0);
  outcome = runWith(makeFakeProgram(1, 1), kernels,
                    {"--steps", "0", "--checkpoint", folder, "--resume",
                     "--save-weights", weights.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(weights.content(), bytes);
  EXPECT_EQ(saved(), std::vector<int64_t>{4});
}

/// Lines of updates that are done again give way to those of the new run.
TEST_F(TrainerCheckpoint, MetricsHaveEachUpdateOnce) {
  ASSERT_EQ(run(1, 7, {"--checkpoint", folder, "--checkpoint-every", "3"}).code,
            0);
  const std::vector<double> wanted = losses();
  std::filesystem::remove_all(folder + "/update-0000000007");
  const Outcome outcome = resume(1, 7);
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.errors, "latest names update-0000000007"));
  EXPECT_EQ(losses(), wanted);
}

TEST_F(TrainerCheckpoint, ASignalSavesOne) {
  const auto update = kernels.functions.at("test.update");
  kernels.functions["test.update"] = [&](const KernelContext &context,
                                         void *const *buffers) {
    update(context, buffers);
    if (context.rank != 1 || context.control->steps != 3)
      return;
    ::kill(::getpid(), SIGTERM);
    while (StopSignals::received() == 0)
      std::this_thread::yield();
  };
  const Outcome outcome =
      run(2, 1000, {"--checkpoint", folder, "--checkpoint-every", "500"});
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  const int64_t stopped = int64_t(losses().size());
  EXPECT_LT(stopped, 100);
  EXPECT_TRUE(contains(outcome.out, "stopped by SIGTERM after update " +
                                        std::to_string(stopped)));
  EXPECT_EQ(saved(), std::vector<int64_t>{stopped});
}

/// Other rank counts see the samples that come next.
TEST_F(TrainerCheckpoint, OtherRankCountsGoOnWithTheData) {
  ASSERT_EQ(run(2, 4, {"--checkpoint", folder}).code, 0);
  const std::string bytes = weights.content();
  Outcome outcome = resume(3, 4);
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(weights.content(), bytes);
  EXPECT_TRUE(contains(outcome.errors,
                       "an update has 12 samples, and had 8 before: the data "
                       "goes on after sample 32"))
      << outcome.errors;
  ASSERT_EQ(resume(3, 6).code, 0);
  EXPECT_EQ(findCheckpoints(folder).complete.back().manifest.data.consumed,
            32u + 2 * 12);
}

TEST_F(TrainerCheckpoint, OtherRunsAreRefused) {
  ASSERT_EQ(run(2, 3, {"--checkpoint", folder}).code, 0);
  const TemporaryFile shorter(".txt", someText().substr(1000));
  std::string changed = someText();
  changed[1] ^= 1;
  const TemporaryFile other(".txt", changed);
  const auto refused = [&](const Outcome &outcome, const std::string &why) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.errors, why)) << outcome.errors;
    EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1);
  };
  const std::string was =
      ", but the run of " + folder + "/update-0000000003 had ";
  refused(resume(2, 5, {"--seed", "4"}),
          "--seed is 4" + was + "0: give --seed 0, or name another folder");
  refused(run(2, 5, {"--checkpoint", folder}),
          "has checkpoints up to update 3 of an earlier run: give --resume");
  const auto onData = [&](const TemporaryFile &file) {
    return runWith(makeFakeProgram(2, 2), kernels,
                   {"--data", file.path(), "--steps", "5", "--checkpoint",
                    folder, "--resume"});
  };
  refused(onData(shorter), was);
  refused(onData(shorter), ": give the same --data and --validation-fraction");
  refused(onData(other), was + "other ones: give the same --data");
  const TemporaryFile trace(".json");
  Outcome outcome =
      resume(2, 5, {"--trace", trace.path(), "--trace-steps", "2:3"});
  outcome.errors.erase(0, outcome.errors.rfind("error: "));
  refused(outcome, "--trace-steps 2:3: the run resumes after update 3; name "
                   "later ones");
}

TEST_F(TrainerCheckpoint, AFullDiskEndsTheRunAndLeavesTheLastOne) {
  zrt::testing::WatchedFileSystem files(
      [&](int, const std::string &what, const std::function<void()> &) {
        if (contains(what, "append") && contains(what, "update-0000000004"))
          throw std::runtime_error(what + ": No space left on device");
      });
  EmbeddedProgram embedded;
  embedded.files = &files;
  const Outcome outcome =
      run(2, 6, {"--checkpoint", folder, "--checkpoint-every", "2"}, embedded);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.errors, "No space left on device"));
  EXPECT_EQ(outcome.errors.find('\n'), outcome.errors.size() - 1);
  // Ranks find out where they next agree.
  EXPECT_GE(losses().size(), 4u);
  EXPECT_EQ(saved(), std::vector<int64_t>{2});
  EXPECT_EQ(resume(2, 6).code, 0);
  EXPECT_EQ(saved(), (std::vector<int64_t>{2, 6}));
}

/// Updates go on between the begin of a checkpoint and its end, and the next
/// one waits for that.
TEST_F(TrainerCheckpoint, TrainingGoesOnWhileOneIsWritten) {
  Events events;
  zrt::testing::WatchedFileSystem files(
      [&](int, const std::string &what, const std::function<void()> &) {
        if (contains(what, "append") && contains(what, "0002.partial/rank-")) {
          events.add("write 2");
          events.await("update 4");
        } else if (what == "rename " + folder + "/update-0000000002.partial") {
          events.add("publish 2");
        } else if (what == "make " + folder + "/update-0000000004.partial") {
          events.add("begin 4");
        }
      });
  const auto update = kernels.functions.at("test.update");
  int updates = 0;
  kernels.functions["test.update"] = [&](const KernelContext &context,
                                         void *const *buffers) {
    update(context, buffers);
    if (context.rank != 0)
      return;
    if (++updates == 3)
      events.await("write 2");
    events.add("update " + std::to_string(updates));
  };
  EmbeddedProgram embedded;
  embedded.files = &files;
  const Outcome outcome =
      run(2, 5, {"--checkpoint", folder, "--checkpoint-every", "2"}, embedded);
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  for (const auto &[first, second] :
       std::vector<std::pair<std::string, std::string>>{
           {"update 2", "write 2"},
           {"write 2", "update 3"},
           {"update 4", "publish 2"},
           {"publish 2", "begin 4"},
           {"begin 4", "update 5"}})
    EXPECT_LT(events.find(first), events.find(second)) << second;
  EXPECT_EQ(saved(), (std::vector<int64_t>{2, 4, 5}));
  for (const char *update : {"2", "4", "5"})
    EXPECT_TRUE(contains(outcome.out,
                         "saved " + folder + "/update-000000000" + update));
}

TEST_F(TrainerCheckpoint, ASignalWaitsForTheOneThatIsWritten) {
  zrt::testing::WatchedFileSystem files(
      [&](int, const std::string &what, const std::function<void()> &) {
        if (contains(what, "append") && contains(what, "update-0000000002"))
          while (StopSignals::received() == 0)
            std::this_thread::yield();
      });
  const auto update = kernels.functions.at("test.update");
  int updates = 0;
  kernels.functions["test.update"] = [&](const KernelContext &context,
                                         void *const *buffers) {
    update(context, buffers);
    if (context.rank == 1 && ++updates == 3)
      ::kill(::getpid(), SIGTERM);
  };
  EmbeddedProgram embedded;
  embedded.files = &files;
  const Outcome outcome = run(
      2, 1000, {"--checkpoint", folder, "--checkpoint-every", "2"}, embedded);
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.out, "stopped by SIGTERM"));
  const std::vector<int64_t> found = saved();
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found.front(), 2);
  EXPECT_EQ(found.back(), int64_t(losses().size()));
}

/// A launcher tells one rank after the other, and those that the first one has
/// stopped may be about to end.
TEST(StopSignals, SigtermDoesNotEndAProcessBehindThem) {
  {
    StopSignals signals;
  }
  ::kill(::getpid(), SIGTERM);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  int number = 0;
  ::sigwait(&signals, &number);
  EXPECT_EQ(number, SIGTERM);
}

/// Copies count where memory is counted.
TEST_F(TrainerCheckpoint, WithoutMemoryForACopyTrainingWaits) {
  const Program program = makeFakeProgram(2, 2);
  const uint64_t copy = ShardCopy::bytesOf(program),
                 wanted = 2 * (hostBytesOf(program, false) + copy);
  ASSERT_GT(copy, 0u);
  const TemporaryFile root(".root");
  std::filesystem::remove(root.path());
  const std::string group = root.path() + "/sys/fs/cgroup/a";
  std::filesystem::create_directories(group);
  std::filesystem::create_directories(root.path() + "/proc/self");
  std::ofstream(root.path() + "/proc/self/cgroup") << "0::/a\n";
  std::ofstream(group + "/memory.current") << "0\n";
  EmbeddedProgram embedded;
  embedded.memoryRoot = root.path();
  for (const uint64_t left : {wanted, wanted - 1}) {
    std::ofstream(group + "/memory.max") << left << "\n";
    const std::string to = folder + std::to_string(left);
    const Outcome outcome =
        run(2, 5, {"--checkpoint", to, "--checkpoint-every", "2"}, embedded);
    EXPECT_EQ(outcome.code, 0) << outcome.errors;
    EXPECT_EQ(findCheckpoints(to).complete.size(), 3u);
    std::filesystem::remove_all(to);
    EXPECT_EQ(contains(outcome.errors,
                       "remark: training waits while a checkpoint is written, "
                       "as there is no memory for a copy of the state: 2 ranks "
                       "of this machine would need "),
              left < wanted)
        << outcome.errors;
  }
  std::filesystem::remove_all(root.path());
}

/// Who gives a library its batches does not say which file they were.
TEST_F(TrainerCheckpoint, ARunThatNamedNoDataIsResumed) {
  ASSERT_EQ(run(2, 3, {"--checkpoint", folder}).code, 0);
  const std::string path = folder + "/update-0000000003/manifest.json";
  Manifest manifest = parseManifest(readText(path), path);
  manifest.data.samples = manifest.data.digest = 0;
  std::ofstream(path) << writeManifest(manifest);
  const Outcome outcome = resume(2, 5);
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(contains(outcome.errors,
                       "remark: " + folder +
                           "/update-0000000003 does not say which data its run "
                           "had: the run goes on after sample 24 of --data"))
      << outcome.errors;
  EXPECT_EQ(saved(), (std::vector<int64_t>{3, 5}));
}

/// Without --trace-steps, those after the resume.
TEST_F(TrainerCheckpoint, AResumedRunIsTracedFromItsSecondUpdate) {
  ASSERT_EQ(run(2, 5, {"--checkpoint", folder}).code, 0);
  const TemporaryFile trace(".json");
  const auto updates = [&] {
    std::set<int64_t> found;
    const Json file = Json::parse(trace.content());
    for (const Json &event : file["traceEvents"])
      if (event["args"].contains("update"))
        found.insert(event["args"]["update"].get<int64_t>());
    return found;
  };
  Outcome outcome = resume(2, 12, {"--trace", trace.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(updates(), (std::set<int64_t>{7, 8, 9}));
  outcome = resume(2, 13, {"--trace", trace.path()});
  ASSERT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_EQ(updates(), std::set<int64_t>{13});
  outcome = resume(2, 13, {"--trace", trace.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  EXPECT_TRUE(
      contains(outcome.errors, "remark: there is no update to trace: '" +
                                   trace.path() + "' is not written"));
}

TEST_F(TrainerCheckpoint, AFolderIsForOneRunAtATime) {
  std::filesystem::create_directory(folder);
  {
    const FolderLock other(folder);
    const Outcome outcome = run(2, 2, {"--checkpoint", folder});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.errors,
                         folder + ": another run writes its checkpoints there"))
        << outcome.errors;
  }
  EXPECT_EQ(run(2, 2, {"--checkpoint", folder}).code, 0);
}

TEST_F(TrainerCheckpoint, FlagsNeedAFolder) {
  for (const std::string flag :
       {"--checkpoint-every=2", "--keep=2", "--resume"}) {
    const Outcome outcome = run(1, 1, {flag});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome.errors, "requires --checkpoint"))
        << outcome.errors;
  }
  EXPECT_TRUE(contains(run(1, 1, {"--checkpoint", "/no/such/folder"}).errors,
                       "/no/such/folder: the folder cannot be made"));
}
