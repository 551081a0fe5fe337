#include "trainer/StartProcesses.h"

#include "communicator/Sockets.h"
#include "trainer/Signals.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace zrt;

extern char **environ;

/// The number of the process that has started this one.
static constexpr const char *kStarter = "ZERO_STARTED_BY";

/// The descriptor, in each process that is started, of a pipe that its starter
/// closes when one has failed. Nothing is written to it.
static constexpr const char *kStarterPipe = "ZERO_STARTER_PIPE";

/// How long the others have to end by themselves after one has failed.
static constexpr auto kGrace = std::chrono::seconds(15);

namespace {

using Clock = std::chrono::steady_clock;

/// Strings as C takes them.
class Words {
public:
  explicit Words(std::vector<std::string> given) : words(std::move(given)) {
    for (std::string &word : words)
      pointers.push_back(word.data());
    pointers.push_back(nullptr);
  }
  char **data() { return pointers.data(); }

private:
  std::vector<std::string> words;
  std::vector<char *> pointers;
};

/// The processes of a run.
class Children {
public:
  Children(int ranks, std::ostream &errors)
      : ranks(ranks), errors(errors), numbers(size_t(ranks), -1) {
    sigemptyset(&passed);
    for (int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2})
      if (!isIgnored(signal))
        sigaddset(&passed, signal);
    sigset_t waited = passed;
    sigaddset(&waited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &waited, &before);
    // Nobody is told how a process has ended that whoever started this one has
    // said to ignore.
    std::signal(SIGCHLD, SIG_DFL);
  }
  ~Children() {
    end(SIGKILL);
    for (int end : pipe)
      closeEnd(end);
    // What has been passed on already may come again.
    const timespec now{};
    while (stopped && sigtimedwait(&passed, nullptr, &now) > 0) {
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  Children(const Children &) = delete;
  Children &operator=(const Children &) = delete;

  void start(const std::vector<std::string> &words);
  int await();
  /// Whether a signal has asked for the end.
  bool isStopped() const { return stopped; }

private:
  std::vector<std::string> environmentOf(int rank, uint16_t port) const;
  void startOne(int rank, uint16_t port, Words &command);
  void reap();
  void note(int rank, int status);
  void end(int signal) const;
  static void closeEnd(int &descriptor) {
    if (descriptor >= 0)
      ::close(std::exchange(descriptor, -1));
  }
  bool areOver() const {
    return std::all_of(numbers.begin(), numbers.end(),
                       [](pid_t each) { return each < 0; });
  }

  const int ranks;
  std::ostream &errors;
  std::vector<pid_t> numbers; ///< by rank; negative: it has ended
  sigset_t passed, before;
  int pipe[2] = {-1, -1}; ///< the end of the processes, and this one's
  int code = 0;
  bool stopped = false;
  std::optional<Clock::time_point> failedAt;
};

/// The words of this process's command line.
std::vector<std::string> ownCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');)
    words.push_back(word);
  if (words.empty())
    throw std::runtime_error("cannot start a process for each rank: "
                             "/proc/self/cmdline: cannot be read; give "
                             "--ranks-as threads");
  return words;
}

} // namespace

std::vector<std::string> Children::environmentOf(int rank,
                                                 uint16_t port) const {
  std::vector<std::string> own = {
      "RANK=" + std::to_string(rank),
      "LOCAL_RANK=" + std::to_string(rank),
      "WORLD_SIZE=" + std::to_string(ranks),
      "LOCAL_WORLD_SIZE=" + std::to_string(ranks),
      "MASTER_ADDR=127.0.0.1",
      "MASTER_PORT=" + std::to_string(port),
      "TORCHELASTIC_USE_AGENT_STORE=False",
      std::string(kStarter) + "=" + std::to_string(::getpid()),
      std::string(kStarterPipe) + "=" + std::to_string(pipe[0])};
  const size_t count = own.size();
  for (char **each = environ; *each; ++each) {
    const std::string word = *each;
    const std::string name = word.substr(0, word.find('=') + 1);
    if (std::none_of(
            own.begin(), own.begin() + long(count),
            [&](const std::string &mine) { return mine.rfind(name, 0) == 0; }))
      own.push_back(word);
  }
  return own;
}

/// In a group of its own: a terminal's Ctrl-C then comes from here alone, once.
void Children::startOne(int rank, uint16_t port, Words &command) {
  Words environment(environmentOf(rank, port));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &before);
  const int failed =
      posix_spawn(&numbers[size_t(rank)], "/proc/self/exe", nullptr,
                  &attributes, command.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  if (failed) {
    numbers[size_t(rank)] = -1;
    throw std::runtime_error("cannot start the process of rank " +
                             std::to_string(rank) + ": " +
                             std::strerror(failed));
  }
}

void Children::start(const std::vector<std::string> &words) {
  Words command(words);
  if (::pipe(pipe) || ::fcntl(pipe[1], F_SETFD, FD_CLOEXEC))
    throw std::runtime_error(std::string("cannot start the ranks: a pipe: ") +
                             std::strerror(errno));
  const uint16_t port = findFreePort();
  for (int rank = 0; rank < ranks; ++rank)
    startOne(rank, port, command);
}

/// Keeps the code of the first process that fails.
void Children::note(int rank, int status) {
  const bool isKilled = WIFSIGNALED(status);
  const int own = isKilled ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (own == 0)
    return;
  if (isKilled && !failedAt)
    errors << "error: the process of rank " << rank << " was ended by signal "
           << WTERMSIG(status) << " (" << ::strsignal(WTERMSIG(status)) << ")"
           << std::endl;
  if (failedAt)
    return;
  code = own;
  failedAt = Clock::now();
  closeEnd(pipe[1]); // those that still look for each other give up
}

void Children::reap() {
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t &number = numbers[size_t(rank)];
    int status = 0;
    if (number < 0 || ::waitpid(number, &status, WNOHANG) != number)
      continue;
    number = -1;
    note(rank, status);
  }
}

void Children::end(int signal) const {
  for (pid_t number : numbers)
    if (number > 0)
      ::kill(number, signal);
}

int Children::await() {
  sigset_t waited = passed;
  sigaddset(&waited, SIGCHLD);
  while (!areOver()) {
    const timespec moment = {0, 200'000'000};
    const int signal = sigtimedwait(&waited, nullptr, &moment);
    if (signal > 0 && signal != SIGCHLD) {
      stopped |= signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
      end(signal);
    }
    reap();
    if (failedAt && Clock::now() - *failedAt > kGrace)
      end(SIGKILL);
  }
  return code;
}

/// The command line that goes on where `words` has ended. What was injected has
/// happened.
static std::vector<std::string>
commandToResume(const std::vector<std::string> &words) {
  const std::string inject = "--inject";
  std::vector<std::string> result;
  bool resumes = false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == inject)
      ++i;
    else if (words[i].rfind(inject + "=", 0) != 0)
      result.push_back(words[i]);
    resumes |= i < words.size() && words[i] == "--resume";
  }
  if (!resumes)
    result.push_back("--resume");
  return result;
}

int zrt::runAsProcesses(int ranks, int64_t restarts, std::ostream &errors) {
  constexpr int kWrongUsage = 2;
  std::vector<std::string> command = ownCommand();
  for (int64_t restart = 0;; ++restart) {
    errors << std::flush;
    Children children(ranks, errors);
    children.start(command);
    const int code = children.await();
    if (code == 0 || code == kWrongUsage || children.isStopped() ||
        restart == restarts)
      return code;
    errors << "remark: all ranks start again from the last checkpoint ("
           << restart + 1 << " of " << restarts << ")" << std::endl;
    command = commandToResume(command);
  }
}

bool zrt::hasStarter() { return std::getenv(kStarter) != nullptr; }

void zrt::endWithStarter() {
  const char *starter = std::getenv(kStarter);
  if (!starter)
    return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may be gone already.
  if (::getppid() != std::atoi(starter))
    ::raise(SIGTERM);
}

std::string zrt::findLossOfStarter() {
  const char *descriptor = std::getenv(kStarterPipe);
  pollfd entry = {descriptor ? std::atoi(descriptor) : -1, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1 && entry.revents
             ? "another process of this run has ended"
             : "";
}
