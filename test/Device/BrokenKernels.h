// Cases of the runtime's kernels in which whatever is broken must be seen: what
// is left out or moved makes a fault, or another result.
#ifndef ZERO_TEST_DEVICE_BROKENKERNELS_H
#define ZERO_TEST_DEVICE_BROKENKERNELS_H

#include "CudaTesting.h"

namespace zrt::test {

struct BrokenCase {
  KernelSpec spec;
  std::vector<Array> inputs;
  double tolerance; ///< of the largest result; 0: its bits
};
/// Of kernels with barriers, shuffles, atomic operations and copies.
std::vector<BrokenCase> brokenCases();

class Broken : public CudaTest {
protected:
  static Control control();
  static std::vector<Array> buffersOf(const BrokenCase &each);
  /// What is wrong with a case: a fault's text, "differs", or nothing.
  std::string verdict(const BrokenCase &each);

  Program program;
};

} // namespace zrt::test

#endif // ZERO_TEST_DEVICE_BROKENKERNELS_H
