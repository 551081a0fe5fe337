// As one process, tests everything; as a rank of a job, what concerns all
// backends.
#include "CommunicatorTesting.h"

#include "communicator/Processes.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace {

/// Silent but for failures: rank 0 speaks for the others.
class FailuresOnly : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult &result) override {
    if (result.failed())
      std::fprintf(stderr, "%s:%d: %s\n",
                   result.file_name() ? result.file_name() : "?",
                   result.line_number(), result.message());
  }
};

} // namespace

int main(int argc, char **argv) {
  if (zrt::areRanksProcesses())
    ::testing::GTEST_FLAG(filter) = "Conformance.*";
  ::testing::InitGoogleTest(&argc, argv);
  if (zrt::areRanksProcesses() && zrt::makeProcesses()->rank() != 0) {
    auto &listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly());
  }
  return RUN_ALL_TESTS();
}
