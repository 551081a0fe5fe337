// The bigram program as an executable, as the compiler would make it.
//
// The rank count and the micro-batches of an update come from the environment:
// ZERO_TEST_RANKS, ZERO_TEST_ACCUMULATION, both 1 by default.
#include "BigramProgram.h"

#include "trainer/HostBackend.h"
#include "trainer/TrainerMain.h"

#include <cstdlib>
#include <string>

namespace {

int fromEnvironment(const char *name) {
  const char *value = std::getenv(name);
  return value ? std::atoi(value) : 1;
}

} // namespace

int main(int argc, char **argv) {
  const std::string bytes = zrt::serialize(
      zrt::test::makeBigramProgram(fromEnvironment("ZERO_TEST_RANKS"),
                                   fromEnvironment("ZERO_TEST_ACCUMULATION")));
  zrt::EmbeddedProgram embedded;
  embedded.bytes = reinterpret_cast<const unsigned char *>(bytes.data());
  embedded.size = int64_t(bytes.size());
  return zrt::trainerMain(argc, argv, embedded,
                          zrt::hostBackends(zrt::makeHostKernel));
}
