// The bigram program as an executable, as the compiler would make it.
//
// The rank count and the micro-batches of an update come from the environment:
// ZERO_TEST_RANKS, ZERO_TEST_ACCUMULATION, both 1 by default. With
// ZERO_TEST_KILL_AT the process kills itself at that operation on the files of
// checkpoints, in the middle of it where it writes.
#include "../checkpoint/FaultyFileSystem.h"
#include "BigramProgram.h"

#include "engine/HostBackend.h"
#include "trainer/TrainerMain.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace {

int fromEnvironment(const char *name, int otherwise = 1) {
  const char *value = std::getenv(name);
  return value ? std::atoi(value) : otherwise;
}

void killAt(int operation, const std::string &,
            const std::function<void()> &half) {
  if (operation != fromEnvironment("ZERO_TEST_KILL_AT", 0))
    return;
  if (half)
    half();
  ::kill(::getpid(), SIGKILL);
}

} // namespace

int main(int argc, char **argv) {
  const std::string bytes = zrt::serialize(
      zrt::test::makeBigramProgram(fromEnvironment("ZERO_TEST_RANKS"),
                                   fromEnvironment("ZERO_TEST_ACCUMULATION")));
  zrt::EmbeddedProgram embedded;
  embedded.bytes = reinterpret_cast<const unsigned char *>(bytes.data());
  embedded.size = int64_t(bytes.size());
  zrt::testing::WatchedFileSystem files(killAt);
  if (std::getenv("ZERO_TEST_KILL_AT"))
    embedded.files = &files;
  return zrt::trainerMain(argc, argv, embedded,
                          zrt::hostBackends(zrt::makeHostKernel));
}
