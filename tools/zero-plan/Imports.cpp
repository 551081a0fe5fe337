//===- Imports.cpp - models that the importer makes, one ahead ------------===//

#include "Imports.h"

#include "../Output.h"

#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cerrno>
#include <csignal>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace mlir::zero;

static constexpr StringLiteral kImporter = "zero-import-cached";

static FailureOr<std::string> findImporter() {
  const std::string self = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findImporter));
  auto found = llvm::sys::findProgramByName(
      kImporter, {llvm::sys::path::parent_path(self)});
  if (!found)
    found = llvm::sys::findProgramByName(kImporter);
  if (!found)
    return fail("--hf imports a model with " + kImporter +
                ", which is not found: pip install "
                "'zero-compiler[huggingface]', or give a model that "
                "zero-import has written elsewhere");
  return *found;
}

/// Starts a program with `end` as its standard input and output; returns 0 or
/// an error's number.
static int spawn(std::vector<std::string> words, int end, pid_t &process) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
  const int error = ::posix_spawn(&process, arguments.front(), &actions,
                                  nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

FailureOr<std::unique_ptr<Imports>>
Imports::start(ArrayRef<std::string> words) {
  FailureOr<std::string> importer = findImporter();
  if (failed(importer))
    return failure();
  std::vector<std::string> all = {*importer};
  llvm::append_range(all, words);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail("'" + *importer +
                "' cannot be started: " + llvm::sys::StrError());
  pid_t process = 0;
  const int error = spawn(all, ends[1], process);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return fail("'" + *importer +
                "' cannot be started: " + llvm::sys::StrError(error));
  }
  return std::unique_ptr<Imports>(new Imports(process, ends[0]));
}

Imports::~Imports() {
  if (process > 0) {
    ::kill(process, SIGTERM);
    ::waitpid(process, nullptr, 0);
  }
  ::close(channel);
}

void Imports::ask(int64_t samples) {
  // Where it has ended, `take` tells.
  const std::string line = std::to_string(samples) + "\n";
  (void)::send(channel, line.data(), line.size(), MSG_NOSIGNAL);
}

/// An importer that ends with an error has said why.
LogicalResult Imports::explainEnd() {
  int status = 0;
  ::waitpid(std::exchange(process, 0), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    return failure();
  return fail(kImporter +
              (WIFSIGNALED(status)
                   ? ": ended by signal " + std::to_string(WTERMSIG(status))
                   : std::string(": ended without a model")));
}

FailureOr<std::string> Imports::take() {
  size_t end;
  while ((end = read.find('\n')) == std::string::npos) {
    char bytes[4096];
    ssize_t count;
    do
      count = ::recv(channel, bytes, sizeof(bytes), 0);
    while (count < 0 && errno == EINTR);
    if (count <= 0)
      return explainEnd();
    read.append(bytes, size_t(count));
  }
  std::string path = read.substr(0, end);
  read.erase(0, end + 1);
  return path;
}
