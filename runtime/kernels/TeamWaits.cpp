#include "kernels/TeamWaits.h"

#include <climits>
#include <cstdlib>
#include <sys/auxv.h>
#include <unistd.h>

using namespace zrt;

namespace {

constexpr const char *kSpins = "GOMP_SPINCOUNT", *kPolicy = "OMP_WAIT_POLICY";

/// Pauses of the CPU before a thread sleeps: some microseconds. Measured:
/// docs/decisions/Execution.md.
constexpr const char *kSpinCount = "300";

/// Whether /proc/self/exe is this program: not where the dynamic linker was
/// started and told the program, since it then has no linker of its own.
bool canStartAgain() { return ::getauxval(AT_BASE) != 0; }

} // namespace

void zrt::limitSpins(char **argv) {
  if (std::getenv(kPolicy) || std::getenv(kSpins) || !canStartAgain())
    return;
  if (::setenv(kSpins, kSpinCount, /*overwrite=*/0) != 0)
    return;
  // By its own path, so that the process keeps its name.
  constexpr const char *self = "/proc/self/exe";
  char path[PATH_MAX];
  const ssize_t length = ::readlink(self, path, sizeof path - 1);
  if (length > 0) {
    path[length] = '\0';
    ::execv(path, argv);
  }
  ::execv(self, argv); // It has no path any more.
  ::unsetenv(kSpins);  // it is not in force, and --info says so
}

std::string zrt::describeWaits() {
  // The count wins where both are given.
  for (const char *name : {kSpins, kPolicy})
    if (const char *value = std::getenv(name))
      return std::string(name) + "=" + value;
  return "as libgomp does by itself";
}
