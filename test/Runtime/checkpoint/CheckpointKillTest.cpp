// kill -9 at every operation of saving, also in the middle of a write.
#include "../../Sanitized.h"
#include "CheckpointTesting.h"

#include <csignal>
#include <set>
#include <sys/wait.h>

using namespace zrt;
using namespace zrt::testing;

namespace {

/// Saves `round` in a process of its own that is killed at operation `stopAt`;
/// true where it was killed.
bool saveAndKill(const Program &program, const std::string &folder, int round,
                 int stopAt, Save how) {
  const pid_t child = ::fork();
  if (child == 0) {
    WatchedFileSystem files([&](int operation, const std::string &,
                                const std::function<void()> &half) {
      if (operation != stopAt)
        return;
      if (half && round % 2)
        half();
      ::kill(::getpid(), SIGKILL);
    });
    const auto errors = saveRound(program, folder, round, 2, files, how);
    ::_exit(errors == noErrors(program) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    return true;
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return false;
}

class CheckpointKill : public ::testing::TestWithParam<Save> {};
INSTANTIATE_TEST_SUITE_P(Save, CheckpointKill,
                         ::testing::Values(Save::AtOnce, Save::InBackground));

} // namespace

/// A thousand rounds, or a tenth under a sanitizer, each of which begins with
/// what the kills before it left.
TEST_P(CheckpointKill, LosesNothing) {
  constexpr int kRounds = kIsSanitized ? 100 : 1000;
  const Program program = checkpointProgram(0, 1, DataType::F32);
  TemporaryFolder folder;
  const std::string root = folder.file("run");
  ASSERT_EQ(saveRound(program, root, 1), noErrors(program));
  int newest = 1, killed = 0, advanced = 0, stopAt = 1;
  for (int round = 2; round < 2 + kRounds; ++round) {
    const bool wasKilled =
        saveAndKill(program, root, round, stopAt, GetParam());
    stopAt = wasKilled ? stopAt + 1 : 1;
    const int found = expectNewest(program, root);
    ASSERT_TRUE(found == round || (wasKilled && found == newest))
        << "round " << round << " left round " << found << " after " << newest;
    killed += wasKilled;
    advanced += found == round;
    newest = found;
  }
  EXPECT_GT(killed, kRounds * 8 / 10);
  EXPECT_GT(advanced, 0);
  EXPECT_LE(findCheckpoints(root).complete.size(), 3u);
}
