#include "kernels/TeamWaits.h"

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
  ::execv("/proc/self/exe", argv);
  ::unsetenv(kSpins); // it is not in force, and --info says so
}

std::string zrt::describeWaits() {
  // The count wins where both are given.
  for (const char *name : {kSpins, kPolicy})
    if (const char *value = std::getenv(name))
      return std::string(name) + "=" + value;
  return "as libgomp does by itself";
}
