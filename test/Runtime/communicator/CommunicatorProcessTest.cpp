// What goes wrong in a job of processes is an error on every rank, and never a
// hang, whatever connects them.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Outcome {
  std::string output;
  int status = -1;
};

/// What starts three ranks.
Outcome runBy(const std::string &launcher, const std::string &fault) {
  std::string command = launcher + " " ZERO_FAULTS " " + fault + " 2>&1";
  Outcome outcome;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return outcome;
  char text[4096];
  while (size_t size = std::fread(text, 1, sizeof(text), pipe))
    outcome.output.append(text, size);
  int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class Processes : public ::testing::TestWithParam<const char *> {
protected:
  /// Runs three ranks of the faulty program.
  static Outcome run(const std::string &fault) {
    return runBy(GetParam(), fault);
  }
  static Outcome runWithFile(const std::string &fault);
};

/// The same with a file that a rank can make for another one.
Outcome Processes::runWithFile(const std::string &fault) {
  char folder[] = "/tmp/zero-test-XXXXXX";
  EXPECT_NE(mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/late";
  Outcome outcome = run(fault + " " + file);
  unlink(file.c_str());
  rmdir(folder);
  return outcome;
}

void expectCaught(const Outcome &outcome, std::initializer_list<int> ranks,
                  const std::string &text) {
  for (int rank : ranks) {
    std::string start = "rank " + std::to_string(rank) + " caught: ";
    size_t line = outcome.output.find(start);
    ASSERT_NE(line, std::string::npos) << start << " in:\n" << outcome.output;
    std::string rest =
        outcome.output.substr(line, outcome.output.find('\n', line) - line);
    EXPECT_NE(rest.find(text), std::string::npos)
        << rest << "\nlacks: " << text;
  }
}

} // namespace

TEST_P(Processes, MismatchIsAnErrorOnAllRanks) {
  Outcome outcome = run("mismatch");
  expectCaught(
      outcome, {0, 1, 2},
      "operation 1: rank 0 started all-reduce sum of 1 part, 100 elements "
      "(first part: "
      "100 x f32), but rank 1 started all-reduce sum of 1 part, 90 elements");
  EXPECT_EQ(outcome.status, 3);
}

TEST_P(Processes, LateRankTimesOut) {
  Outcome outcome = runWithFile("late");
  expectCaught(outcome, {0, 1, 2},
               "operation 1 of a group of 3 ranks (barrier): rank 1 did not "
               "start it within 3 s");
  EXPECT_EQ(outcome.status, 3);
}

TEST_P(Processes, ALateRankIsNamedAndWaitedFor) {
  Outcome outcome = runWithFile("slow");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find(
                "notice: operation 1 of a group of 3 ranks (barrier): rank 1 "
                "did not start it within 0.2 s, rank 0 did\n"),
            std::string::npos)
      << outcome.output;
  for (const char *rank : {"0", "1", "2"})
    EXPECT_NE(outcome.output.find(std::string("rank ") + rank + " went on"),
              std::string::npos)
        << outcome.output;
}

TEST_P(Processes, AMessageThatIsLateTimesOut) {
  Outcome outcome = runWithFile("late-message");
  expectCaught(outcome, {0, 1, 2},
               "a receive of 5 x f32 from rank 1 of a group of 3 ranks, on "
               "rank 0: nothing moved within 3 s");
  EXPECT_EQ(outcome.status, 3);
}

TEST_P(Processes, AMessageThatIsLateIsNamedAndWaitedFor) {
  Outcome outcome = runWithFile("slow-message");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find(
                "notice: a receive of 5 x f32 from rank 1 of a "
                "group of 3 ranks, on rank 0: nothing moved within 0.2 s\n"),
            std::string::npos)
      << outcome.output;
}

TEST_P(Processes, HangingRankDoesNotHoldTheJob) {
  Outcome outcome = run("hang");
  expectCaught(outcome, {0, 2}, "rank 1 did not start it within 3 s");
  EXPECT_NE(outcome.output.find("ends the job, because not all ranks ended"),
            std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.status, 0);
}

TEST_P(Processes, RankThatLeavesIsNamed) {
  Outcome outcome = run("leave");
  expectCaught(outcome, {0, 2}, "rank 1 has ended");
  EXPECT_EQ(outcome.output.find("rank 1 caught"), std::string::npos);
  EXPECT_EQ(outcome.status, 3);
}

TEST_P(Processes, AbortReachesThePeersFirst) {
  Outcome outcome = run("abort");
  expectCaught(outcome, {0, 2}, "rank 1 of 3 aborted: the loss is not finite");
  EXPECT_NE(
      outcome.output.find("error: rank 1 of 3 aborted: the loss is not finite"),
      std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.status, 0);
}

/// What has failed is known already, and what the rank was doing is not.
TEST_P(Processes, AbortAddsWhatTheRankWasDoing) {
  Outcome outcome = run("abort-with-place");
  EXPECT_NE(outcome.output.find(
                "error: rank 0: in the forward pass: a receive of 5 x f32"),
            std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.status, 0);
}

TEST_P(Processes, RefusedArgumentsFailAllRanks) {
  expectCaught(run("invalid"), {0, 1, 2},
               "the receive buffer is null on rank 2");
}

/// Over sockets alone: of MPI the launcher notices.
TEST(Sockets, ARankThatDiesIsNamed) {
  const Outcome outcome = runBy(ZERO_LAUNCH, "die");
  expectCaught(outcome, {0, 2},
               "the process of rank 1 has ended without a word");
  EXPECT_EQ(outcome.status, 9) << outcome.output;
}

TEST(Sockets, VariablesThatSayNothingAreErrors) {
  const auto run = [](const std::string &variables) {
    return runBy("env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "
                 "MASTER_PORT=29511 " +
                     variables,
                 "")
        .output;
  };
  EXPECT_NE(run("RANK=x").find("RANK: found 'x', wanted a number from 0 to "),
            std::string::npos);
  EXPECT_NE(run("RANK=2").find("RANK: found 2, wanted less than WORLD_SIZE, "
                               "which is 2"),
            std::string::npos);
  EXPECT_NE(run("MASTER_PORT=70000").find("MASTER_PORT: found '70000'"),
            std::string::npos);
  EXPECT_NE(run("RANK=1 MASTER_ADDR=no.such.host.invalid")
                .find("rank 1 of 2, at the start: cannot find rank 0 at "
                      "no.such.host.invalid"),
            std::string::npos);
}

#ifdef ZERO_MPIEXEC
INSTANTIATE_TEST_SUITE_P(Mpi, Processes,
                         ::testing::Values(ZERO_MPIEXEC " -n 3"));
#endif
INSTANTIATE_TEST_SUITE_P(Sockets, Processes, ::testing::Values(ZERO_LAUNCH));
