// Which features of a CPU are found missing, and how a process ends then.
#include "program/CpuFeatures.h"

#include "kernels/host/BuiltFor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace zrt::test {
namespace {

TEST(CpuFeatures, FindsWhatIsMissing) {
  char missing[64];
  EXPECT_EQ(findMissingFeatures("", missing, sizeof(missing)), 0);
  EXPECT_STREQ(missing, "");
  EXPECT_EQ(
      findMissingFeatures("teleport sse4.2  avx9000", missing, sizeof(missing)),
      cpuHas("sse4.2", 6) ? 2 : 3);
  EXPECT_EQ(std::string(missing).rfind("teleport", 0), 0u);
  EXPECT_NE(std::string(missing).find("avx9000"), std::string::npos);
}

TEST(CpuFeatures, CutsNamesThatHaveNoRoom) {
  char missing[12];
  EXPECT_EQ(findMissingFeatures("teleport avx9000", missing, sizeof(missing)),
            2);
  EXPECT_STREQ(missing, "teleport");
}

/// The test itself runs kernels that were compiled for this machine.
TEST(CpuFeatures, AreThereForTheKernelsOfThisBuild) {
  char missing[512];
  EXPECT_EQ(findMissingFeatures(kHostKernelFeatures, missing, sizeof(missing)),
            0)
      << missing;
}

TEST(CpuFeatures, EveryNameIsOneThatTheCheckKnows) {
  // A name that the check did not know would be missing everywhere, so the
  // features of this machine's kernels must be among them.
  for (const char *at = kHostKernelFeatures; *at;) {
    const size_t length = std::strcspn(at, " ");
    bool known = false;
    for (const char *feature : kCpuFeatures)
      known |= std::string(at, length) == feature;
    EXPECT_TRUE(known) << std::string(at, length);
    at += length + (at[length] == ' ');
  }
}

TEST(CpuFeaturesDeathTest, SaysWhatItWants) {
  requireCpu("", "the code");
  EXPECT_EXIT(requireCpu("teleport", "the code"), testing::ExitedWithCode(1),
              "error: the code of this executable was compiled for a CPU with "
              "teleport, which this one lacks; compile the model on this "
              "machine");
}

} // namespace
} // namespace zrt::test
