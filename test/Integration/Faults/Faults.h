// Ways to break the rules that make deterministic runs equal bit by bit.
//
// They are linked into executables of `train_faults.py` alone, in place of the
// runtime's own `main`; ZERO_TEST_FAULT names the one that is active.
#ifndef ZERO_TEST_INTEGRATION_FAULTS_H
#define ZERO_TEST_INTEGRATION_FAULTS_H

#include "kernels/Kernel.h"

#include <memory>
#include <string>

namespace zrt::test {

enum class Fault {
  None,         ///< every rule is kept
  RankOrder,    ///< sums begin at another rank for each chunk, as in a ring
  Tail,         ///< the elements after the last whole block round otherwise
  TokenOrder,   ///< at stage 2 and above, embeddings add tokens backwards
  ThreadBlocks, ///< matrix products add up one partial sum a thread
};

/// The fault that the environment names. Throws std::invalid_argument where
/// there is none of that name.
Fault activeFault();

/// `makeHostKernel`, but with `fault`.
std::unique_ptr<Kernel> makeFaultyKernel(Fault fault, const KernelSpec &spec,
                                         const KernelContext &context);

} // namespace zrt::test

#endif // ZERO_TEST_INTEGRATION_FAULTS_H
