// Wants every kernel of the PTX to be run by the tests of this program, but for
// those that are listed here with a reason.
#include "Modules.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace zrt;

namespace {

/// A part of an entry's name, and why no test runs it.
struct Exception {
  const char *part, *reason;
};
constexpr const char kBeyond[] = "has indices for 2^31 elements and more",
                     kCopied[] = "what keeps its type is copied by CUDA",
                     kWideSums[] = "stored sums are f32";
constexpr Exception kExceptions[] = {
    {"10moveKernelI5uint4mE", kBeyond},
    {"10moveKernelIhmE", kBeyond},
    {"10moveKernelItmE", kBeyond},
    {"10moveKernelIjmE", kBeyond},
    {"10moveKernelImmE", kBeyond},
    {"3SumEmEEvN", kBeyond},     // reduceRowsKernel and reduceColumnsKernel
    {"7LargestEmEEvN", kBeyond}, // likewise
    {"13convertKernelI6__halfS1_E", kCopied},
    {"13convertKernelIN3zrt4cuda4BF16ES3_E", kCopied},
    {"16accumulateKernelI6__halfN3zrt4cuda4BF16E", kWideSums},
    {"16accumulateKernelI6__halfS1_E", kWideSums},
    {"16accumulateKernelIN3zrt4cuda4BF16E6__halfE", kWideSums},
    {"16accumulateKernelIN3zrt4cuda4BF16ES3_E", kWideSums},
    {"16accumulateKernelIf6__halfE", kWideSums},
    {"16accumulateKernelIfN3zrt4cuda4BF16E", kWideSums},
};

class ReachedEntries final : public testing::Environment {
public:
  void TearDown() override {
    const std::string filter = GTEST_FLAG_GET(filter);
    if (filter[0] != '*' && filter[0] != '-')
      return; // some tests only
    size_t left = 0;
    std::vector<bool> used(std::size(kExceptions));
    for (const std::string &name : ptx::unreachedEntries()) {
      const auto *found =
          std::find_if(std::begin(kExceptions), std::end(kExceptions),
                       [&](const Exception &each) {
                         return name.find(each.part) != std::string::npos;
                       });
      if (found == std::end(kExceptions))
        ADD_FAILURE() << "no test runs " << name;
      else
        used[size_t(found - kExceptions)] = true;
      ++left;
    }
    for (size_t i = 0; i < used.size(); ++i)
      EXPECT_TRUE(used[i]) << "tests run all kernels with '"
                           << kExceptions[i].part
                           << "' in their names; take it off the list";
    std::printf("kernels that no test runs: %zu\n", left);
  }
};

const auto *const kEnvironment =
    testing::AddGlobalTestEnvironment(new ReachedEntries);

} // namespace
