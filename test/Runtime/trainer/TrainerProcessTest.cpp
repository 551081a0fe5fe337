// The executable from outside: streams, exit codes, signals, launchers.
#include "../../Sanitized.h"
#include "../TemporaryFile.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <pty.h>
#include <sys/wait.h>
#include <thread>

using namespace zrt::test;
using Json = nlohmann::json;

namespace {

/// Waits until `holds`; false when that takes ten minutes.
bool becomes(const std::function<bool()> &holds) {
  for (int i = 0; i < 60000; ++i) {
    if (holds())
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// A field of a `status` file of /proc; "" where the process has ended.
std::string statusField(const std::filesystem::path &folder,
                        const std::string &name) {
  std::ifstream file(folder / "status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name + ":", 0) == 0)
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
  return "";
}

std::filesystem::path folderOf(pid_t process) {
  return "/proc/" + std::to_string(process);
}

/// True where the mask `name` of a `status` file has one of `numbers`.
bool maskHas(const std::filesystem::path &folder, const std::string &name,
             std::initializer_list<int> numbers) {
  const std::string mask = statusField(folder, name);
  const uint64_t bits = mask.empty() ? 0 : std::stoull(mask, nullptr, 16);
  for (const int number : numbers)
    if (bits >> (number - 1) & 1)
      return true;
  return false;
}

/// Threads of a process, and those of them that a signal may interrupt.
struct Threads {
  int all = 0, open = 0;
};

Threads threadsOf(pid_t process) {
  Threads threads;
  for (const auto &task :
       std::filesystem::directory_iterator(folderOf(process) / "task")) {
    ++threads.all;
    threads.open += !maskHas(task, "SigBlk", {SIGTERM}) ||
                    !maskHas(task, "SigBlk", {SIGINT});
  }
  return threads;
}

/// No thread that computes can be interrupted, and no handler runs.
void expectOneThreadTakesSignals(pid_t process) {
  const Threads threads = threadsOf(process);
  EXPECT_GE(threads.all, 2);
  EXPECT_LE(threads.open, 1);
  EXPECT_FALSE(maskHas(folderOf(process), "SigCgt", {SIGINT, SIGTERM}));
}

/// Waits until `process` has taken the signals that it was sent.
bool signalsAreTaken(pid_t process) {
  return becomes(
      [&] { return !maskHas(folderOf(process), "ShdPnd", {SIGINT, SIGTERM}); });
}

/// A child process with its output in files.
class Child {
public:
  /// `output` is written instead of `out` where it is a descriptor, and
  /// nothing is open where it is `kClosed`.
  static constexpr int kFile = -1, kClosed = -2;
  Child(std::vector<std::string> arguments, int ranks, int accumulation,
        int output = kFile) {
    process = ::fork();
    if (process != 0)
      return;
    ::setenv("ZERO_TEST_RANKS", std::to_string(ranks).c_str(), 1);
    ::setenv("ZERO_TEST_ACCUMULATION", std::to_string(accumulation).c_str(), 1);
    redirect(out, STDOUT_FILENO);
    redirect(errors, STDERR_FILENO);
    if (output == kClosed)
      ::close(STDOUT_FILENO);
    else if (output != kFile)
      ::dup2(output, STDOUT_FILENO);
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
  pid_t id() const { return process; }

  /// The status of waitpid(2).
  int wait() {
    int status = 0;
    ::waitpid(process, &status, 0);
    process = -1;
    return status;
  }

  /// Waits until the output holds `text`; false when that takes a minute.
  bool outputs(const std::string &text) {
    return becomes(
        [&] { return out.content().find(text) != std::string::npos; });
  }

  TemporaryFile out{".out"}, errors{".err"};

private:
  static void redirect(const TemporaryFile &file, int descriptor) {
    const int target = ::open(file.path().c_str(), O_WRONLY | O_TRUNC);
    if (target >= 0)
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
    return {ZERO_BIGRAM,           "--data",         text.path(),   "--steps",
            std::to_string(steps), "--threads",      "1",           "--metrics",
            metrics.path(),        "--save-weights", weights.path()};
  }

  /// `child` ends well after an update, and the weights are saved.
  void expectStopped(Child &child, const std::string &signal = "SIGTERM") {
    EXPECT_EQ(exitCode(child.wait()), 0) << child.errors.content();
    EXPECT_NE(child.out.content().find("stopped by " + signal +
                                       " after update " +
                                       std::to_string(losses().size())),
              std::string::npos)
        << child.out.content();
    EXPECT_GT(weights.content().size(), size_t(256 * 256 * 4));
    std::filesystem::resize_file(weights.path(), 0);
  }

  std::vector<double> losses() const {
    std::vector<double> values;
    std::istringstream stream(metrics.content());
    for (std::string line; std::getline(stream, line);)
      values.push_back(Json::parse(line)["loss"]);
    return values;
  }

  TemporaryFile text{".txt", someText()};
  TemporaryFile metrics{".jsonl"}, weights{".safetensors"};
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

/// A loop that starts a run again whenever it is killed ends where one does
/// that never was.
TEST_F(TrainerProcess, RestartsAfterKillsEndAlike) {
  Child whole(command(8), 2, 1);
  ASSERT_EQ(exitCode(whole.wait()), 0) << whole.errors.content();
  const std::string wanted = weights.content(), log = metrics.content();
  const std::filesystem::path folder = text.path() + ".checkpoints";
  std::vector<std::string> arguments = command(8);
  for (const std::string more :
       {"--checkpoint", folder.c_str(), "--checkpoint-every", "1", "--keep",
        "2", "--resume"})
    arguments.push_back(more);
  int kills = 0;
  for (int round = 1;; ++round) {
    ASSERT_LT(round, 100);
    std::filesystem::resize_file(weights.path(), 0);
    // In the second or third checkpoint of each run, elsewhere each time.
    ::setenv("ZERO_TEST_KILL_AT", std::to_string(18 + round % 20).c_str(), 1);
    Child child(arguments, 2, 1);
    ::unsetenv("ZERO_TEST_KILL_AT");
    const int status = child.wait();
    if (WIFSIGNALED(status)) {
      ++kills;
      continue;
    }
    ASSERT_EQ(exitCode(status), 0) << child.errors.content();
    break;
  }
  std::filesystem::remove_all(folder);
  EXPECT_GE(kills, 4);
  EXPECT_EQ(weights.content(), wanted);
  EXPECT_EQ(losses().size(), 8u);
  std::istringstream first(log), second(metrics.content());
  for (std::string a, b; std::getline(first, a) && std::getline(second, b);)
    EXPECT_EQ(Json::parse(a)["loss"], Json::parse(b)["loss"]);
}

/// A power of two changes no bit: what it multiplies is divided by it again.
TEST_F(TrainerProcess, TheCallersLossScaleTrainsAlike) {
  Child compiled(command(10), 2, 2);
  ASSERT_EQ(exitCode(compiled.wait()), 0) << compiled.errors.content();
  const std::vector<double> wanted = losses();
  const std::string trained = weights.content();
  std::vector<std::string> arguments = command(10);
  for (const char *more : {"--loss-scale", "1024"})
    arguments.push_back(more);
  Child scaled(arguments, 2, 2);
  ASSERT_EQ(exitCode(scaled.wait()), 0) << scaled.errors.content();
  EXPECT_EQ(losses(), wanted);
  EXPECT_EQ(weights.content(), trained);
  EXPECT_NE(metrics.content().find("\"loss_scale\":1024"), std::string::npos)
      << metrics.content();
}

TEST_F(TrainerProcess, SigtermStopsAfterAnUpdate) {
  Child child(command(1000000), 3, 1);
  ASSERT_TRUE(child.outputs("step 1/1000000"));
  expectOneThreadTakesSignals(child.id());
  child.signal(SIGTERM);
  expectStopped(child);
}

TEST_F(TrainerProcess, ATerminalThatGoesStopsAfterAnUpdate) {
  Child child(command(1000000), 2, 1);
  ASSERT_TRUE(child.outputs("step 1/1000000"));
  child.signal(SIGHUP);
  expectStopped(child, "SIGHUP");
}

/// As nohup starts it: it goes on until SIGTERM.
TEST_F(TrainerProcess, ATerminalThatGoesIsIgnoredWhereThatWasSaid) {
  std::signal(SIGHUP, SIG_IGN);
  Child child(command(1000000), 2, 1);
  std::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(child.outputs("step 1/1000000"));
  child.signal(SIGHUP);
  child.signal(SIGTERM);
  expectStopped(child);
}

TEST_F(TrainerProcess, SigtermStopsTheContinuationOfAText) {
  std::vector<std::string> arguments = command(1);
  for (const char *more : {"--sample", "100000000", "--prompt", "to be"})
    arguments.push_back(more);
  Child child(arguments, 2, 1);
  ASSERT_TRUE(child.outputs("\nto be"));
  child.signal(SIGTERM);
  expectStopped(child);
}

TEST_F(TrainerProcess, SigtermStopsAValidation) {
  std::vector<std::string> arguments = command(1000000);
  for (const char *more :
       {"--eval-every", "1", "--eval-batches", "1000000000000"})
    arguments.push_back(more);
  Child child(arguments, 2, 1);
  ASSERT_TRUE(child.outputs("step 1/1000000"));
  child.signal(SIGTERM);
  expectStopped(child);
  EXPECT_NE(child.out.content().find("step 1: the validation is not finished"),
            std::string::npos)
      << child.out.content();
}

TEST_F(TrainerProcess, MoreOfSigtermChangeNothing) {
  Child child(command(1000000), 1, 1);
  ASSERT_TRUE(child.outputs("step 1/1000000"));
  for (int i = 0; i < 3; ++i)
    child.signal(SIGTERM);
  expectStopped(child);
}

TEST_F(TrainerProcess, ASecondSigintEndsAtOnce) {
  for (const int first : {SIGINT, SIGTERM}) {
    // The second update never ends: only another SIGINT can end it.
    std::vector<std::string> arguments = command(1000000);
    for (const char *more : {"--inject", "stop@0:2:kernel"})
      arguments.push_back(more);
    Child child(arguments, 1, 1);
    ASSERT_TRUE(child.outputs("step 1/1000000"));
    for (const int number : {first, SIGTERM}) {
      child.signal(number);
      ASSERT_TRUE(signalsAreTaken(child.id()));
    }
    child.signal(SIGINT);
    const int status = child.wait();
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGINT);
  }
}

TEST_F(TrainerProcess, WrongFlagsExitWithTwo) {
  Child child({ZERO_BIGRAM, "--frobnicate"}, 1, 1);
  EXPECT_EQ(exitCode(child.wait()), 2);
  EXPECT_EQ(child.out.content(), "");
  EXPECT_EQ(child.errors.content(), "error: unknown argument '--frobnicate'; "
                                    "--help lists all flags\n");
}

/// Not written is an error; not wanted is none.
TEST_F(TrainerProcess, OutputThatIsLostIsAnError) {
  const int full = ::open("/dev/full", O_WRONLY);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  ::close(pipe[0]);
  const std::vector<std::string> commands[] = {{ZERO_BIGRAM, "--help"},
                                               {ZERO_BIGRAM, "--schedule"},
                                               {ZERO_BIGRAM, "--memory"},
                                               {ZERO_BIGRAM, "--info"},
                                               command(3)};
  for (const std::vector<std::string> &command : commands) {
    Child toFull(command, 1, 1, full);
    EXPECT_EQ(exitCode(toFull.wait()), 1) << command[1];
    EXPECT_EQ(toFull.errors.content(),
              "error: cannot write to standard output: No space left on "
              "device\n");
    for (const int output : {pipe[1], Child::kClosed}) {
      Child unread(command, 1, 1, output);
      EXPECT_EQ(exitCode(unread.wait()), 0) << command[1];
      EXPECT_EQ(unread.errors.content(), "");
    }
  }
  EXPECT_EQ(losses().size(), 3u);
  EXPECT_GT(weights.content().size(), size_t(256 * 256 * 4));
  ::close(full);
  ::close(pipe[1]);
}

/// Stacks of a GiB: two fit, with what else there is.
TEST_F(TrainerProcess, ARankWhoseThreadCannotStartIsAnError) {
  if (kIsSanitized)
    GTEST_SKIP() << "sanitizers reserve more address space than the limit";
  Child child({"/bin/sh", "-c",
               "ulimit -s 1000000; ulimit -v 3500000; exec \"$0\" \"$@\"",
               ZERO_BIGRAM, "--data", text.path(), "--steps", "3", "--threads",
               "1"},
              8, 1);
  EXPECT_EQ(exitCode(child.wait()), 1);
  const std::string errors = child.errors.content();
  EXPECT_EQ(errors.find("error: cannot start the thread of rank "), 0u)
      << errors;
  EXPECT_EQ(errors.find('\n'), errors.size() - 1) << errors;
}

#ifdef ZERO_MPIEXEC
std::vector<std::string> onProcesses(std::vector<std::string> command,
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
  Child processes(onProcesses(command(20), 3), 3, 2);
  ASSERT_EQ(exitCode(processes.wait()), 0) << processes.errors.content();
  EXPECT_EQ(losses(), wanted);
}

/// A launcher on a terminal gives one to each rank, and may log what it takes
/// from there.
TEST_F(TrainerProcess, MpiRanksDrawNoProgressLine) {
  int reader = -1, terminal = -1;
  ASSERT_EQ(::openpty(&reader, &terminal, nullptr, nullptr, nullptr), 0);
  ::fcntl(reader, F_SETFL, O_NONBLOCK);
  Child child(onProcesses(command(3), 2), 2, 1, terminal);
  EXPECT_EQ(exitCode(child.wait()), 0) << child.errors.content();
  std::string shown(1 << 16, '\0');
  const ssize_t count = ::read(reader, shown.data(), shown.size());
  shown.resize(count > 0 ? size_t(count) : 0);
  EXPECT_NE(shown.find("step 3/3"), std::string::npos) << shown;
  EXPECT_EQ(shown.find('\033'), std::string::npos) << shown;
  ::close(reader);
  ::close(terminal);
}

/// The processes that `launcher` started.
std::vector<pid_t> startedBy(pid_t launcher) {
  std::vector<pid_t> processes;
  for (const auto &entry : std::filesystem::directory_iterator("/proc"))
    if (statusField(entry, "PPid") == std::to_string(launcher) &&
        statusField(entry, "Name") == "zero-bigram")
      processes.push_back(std::stoi(entry.path().filename()));
  return processes;
}

TEST_F(TrainerProcess, MpiStopsOnSigterm) {
  for (int i = 0; i < 3; ++i) {
    Child child(onProcesses(command(1000000), 3), 3, 1);
    ASSERT_TRUE(child.outputs("step 1/1000000"));
    const std::vector<pid_t> ranks = startedBy(child.id());
    ASSERT_EQ(ranks.size(), 3u);
    for (const pid_t rank : ranks)
      expectOneThreadTakesSignals(rank);
    // One rank that is told to stop stops all.
    for (size_t told = i == 0 ? 2 : 0; told < ranks.size(); ++told)
      ::kill(ranks[told], SIGTERM);
    expectStopped(child);
  }
}

/// A launch of two ranks, each with a command of its own.
std::vector<std::string> onProcesses(const std::vector<std::string> &first,
                                     const std::vector<std::string> &second) {
  std::vector<std::string> both = onProcesses(first, 1);
  for (const char *next : {":", "-n", "1"})
    both.push_back(next);
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

TEST_F(TrainerProcess, MpiWantsTheSameFilesOnAllRanks) {
  std::string content = someText();
  const TemporaryFile copy(".txt", content);
  ++content[content.size() / 2];
  const TemporaryFile other(".txt", content);
  std::vector<std::string> second = command(3);
  ASSERT_EQ(second[1], "--data");
  second[2] = copy.path();
  Child alike(onProcesses(command(3), second), 2, 1);
  EXPECT_EQ(exitCode(alike.wait()), 0) << alike.errors.content();
  second[2] = other.path();
  Child unlike(onProcesses(command(3), second), 2, 1);
  EXPECT_EQ(exitCode(unlike.wait()), 1);
  EXPECT_NE(unlike.errors.content().find(
                "the content of --data of rank 1 differs from that of rank 0: "
                "start all ranks with the same file"),
            std::string::npos)
      << unlike.errors.content();
}

TEST_F(TrainerProcess, MpiWantsTheCompiledProcessCount) {
  Child child(onProcesses(command(20), 2), 3, 1);
  EXPECT_EQ(exitCode(child.wait()), 2);
  EXPECT_NE(child.errors.content().find(
                "error: launched with 2 processes, but this program was "
                "compiled for 3 ranks"),
            std::string::npos)
      << child.errors.content();
}
#endif

} // namespace
