// The executable from outside: streams, exit codes, signals, launchers.
#include "TemporaryFile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>

using namespace zrt::test;
using Json = nlohmann::json;

namespace {

/// A child process with its output in files.
class Child {
public:
  Child(std::vector<std::string> arguments, int ranks, int accumulation) {
    process = ::fork();
    if (process != 0)
      return;
    ::setenv("ZERO_TEST_RANKS", std::to_string(ranks).c_str(), 1);
    ::setenv("ZERO_TEST_ACCUMULATION", std::to_string(accumulation).c_str(), 1);
    redirect(out, STDOUT_FILENO);
    redirect(errors, STDERR_FILENO);
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ~Child() {
    if (process > 0) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
  }

  void signal(int number) { ::kill(process, number); }

  /// The status of waitpid(2).
  int wait() {
    int status = 0;
    ::waitpid(process, &status, 0);
    process = -1;
    return status;
  }

  /// Waits until the output holds `text`; false when that takes a minute.
  bool outputs(const std::string &text) {
    for (int i = 0; i < 6000; ++i) {
      if (out.content().find(text) != std::string::npos)
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  TemporaryFile out{".out"}, errors{".err"};

private:
  static void redirect(const TemporaryFile &file, int descriptor) {
    const int target = ::open(file.path().c_str(), O_WRONLY | O_TRUNC);
    ::dup2(target, descriptor);
  }

  pid_t process = -1;
};

int exitCode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string someText() {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "to be or not to be "[i % 19];
  return text;
}

/// A text, and a run's metrics.
class TrainerProcess : public ::testing::Test {
protected:
  std::vector<std::string> command(int64_t steps) const {
    return {ZERO_BIGRAM,           "--data",    text.path(), "--steps",
            std::to_string(steps), "--threads", "1",         "--metrics",
            metrics.path()};
  }

  std::vector<double> losses() const {
    std::vector<double> values;
    std::istringstream stream(metrics.content());
    for (std::string line; std::getline(stream, line);)
      values.push_back(Json::parse(line)["loss"]);
    return values;
  }

  TemporaryFile text{".txt", someText()};
  TemporaryFile metrics{".jsonl"};
};

TEST_F(TrainerProcess, LearnsATextAndContinuesIt) {
  std::vector<std::string> arguments = command(120);
  for (const char *more : {"--sample", "30", "--prompt", "to b",
                           "--temperature", "0", "--eval-every", "120"})
    arguments.push_back(more);
  Child child(arguments, 2, 2);
  ASSERT_EQ(exitCode(child.wait()), 0) << child.errors.content();
  EXPECT_NE(child.out.content().find("step 120/120 loss"), std::string::npos);
  EXPECT_NE(child.out.content().find("validation loss"), std::string::npos);
  EXPECT_NE(child.out.content().find("\nto b"), std::string::npos);
  const std::string log = metrics.content();
  std::istringstream stream(log);
  std::string first, line, last;
  std::getline(stream, first);
  for (int i = 1; i < 120; ++i)
    std::getline(stream, last);
  EXPECT_GT(Json::parse(first)["loss"].get<double>(), 5.0);
  // A bigram model of this text is left with the choice after a blank, after
  // an o and after a t.
  EXPECT_LT(Json::parse(last)["loss"].get<double>(), 1.2);
}

TEST_F(TrainerProcess, SigtermStopsAfterAnUpdate) {
  Child child(command(1000000), 3, 1);
  ASSERT_TRUE(child.outputs("step 1/1000000"));
  child.signal(SIGTERM);
  EXPECT_EQ(exitCode(child.wait()), 0) << child.errors.content();
  EXPECT_NE(child.out.content().find("stopped by SIGTERM after update " +
                                     std::to_string(losses().size())),
            std::string::npos);
}

TEST_F(TrainerProcess, ASecondSignalKills) {
  Child child(command(1000000), 1, 1000000);
  // No update ever ends: only a second signal can.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  child.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  child.signal(SIGINT);
  const int status = child.wait();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST_F(TrainerProcess, WrongFlagsExitWithTwo) {
  Child child({ZERO_BIGRAM, "--frobnicate"}, 1, 1);
  EXPECT_EQ(exitCode(child.wait()), 2);
  EXPECT_EQ(child.out.content(), "");
  EXPECT_EQ(child.errors.content(), "error: unknown argument '--frobnicate'; "
                                    "--help lists all flags\n");
}

#ifdef ZERO_MPIEXEC
std::vector<std::string> underMpi(std::vector<std::string> command,
                                  int processes) {
  const std::string front[] = {ZERO_MPIEXEC, "-n", std::to_string(processes)};
  command.insert(command.begin(), std::begin(front), std::end(front));
  return command;
}

TEST_F(TrainerProcess, MpiTrainsAsThreadsDo) {
  Child threads(command(20), 3, 2);
  ASSERT_EQ(exitCode(threads.wait()), 0) << threads.errors.content();
  const std::vector<double> wanted = losses();
  ASSERT_EQ(wanted.size(), 20u);
  Child processes(underMpi(command(20), 3), 3, 2);
  ASSERT_EQ(exitCode(processes.wait()), 0) << processes.errors.content();
  EXPECT_EQ(losses(), wanted);
}

TEST_F(TrainerProcess, MpiWantsTheCompiledProcessCount) {
  Child child(underMpi(command(20), 2), 3, 1);
  EXPECT_EQ(exitCode(child.wait()), 2);
  EXPECT_NE(child.errors.content().find(
                "error: launched with 2 processes, but this program was "
                "compiled for 3 ranks"),
            std::string::npos)
      << child.errors.content();
}
#endif

} // namespace
