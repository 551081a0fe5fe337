#include "trainer/StandardStreams.h"

#include "io/FileHandle.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <ostream>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;

void zrt::prepareStandardStreams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(number, F_GETFD) < 0 && errno == EBADF)
      // The lowest number that is free is this one.
      (void)!::open("/dev/null", O_RDWR);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// A terminal that is gone is none any more to isatty().
static bool wasTerminal() {
  struct stat status = {};
  return ::fstat(STDOUT_FILENO, &status) == 0 && S_ISCHR(status.st_mode);
}

int zrt::finishOutput(int code, std::ostream &out, std::ostream &errors) {
  out.flush();
  if (out)
    return code;
  // The stream has forgotten why; another byte finds out.
  const bool succeeds = ::write(STDOUT_FILENO, "\n", 1) == 1;
  const int reason = errno;
  if (!succeeds && (reason == EPIPE || (reason == EIO && wasTerminal())))
    return code; // nobody reads any more
  errors << "error: cannot write to standard output: "
         << (succeeds ? "a part of the output was lost" : describeError(reason))
         << std::endl;
  return code == 0 ? 1 : code;
}
