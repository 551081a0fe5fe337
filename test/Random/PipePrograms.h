//===- PipePrograms.h - random pipelines ------------------------*- C++ -*-===//
//
// The programs of all stages of a model run in the interpreter of pipelines,
// however stages go on beside each other, as one micro-batch after the other
// does. Of their mutants some are drawn: what the proof of stages accepts does
// the same.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_RANDOM_PIPEPROGRAMS_H
#define ZERO_TEST_RANDOM_PIPEPROGRAMS_H

#include "CompilerTesting.h"
#include "Tally.h"

#include "Verify/StageMutants.h"

#include <random>

namespace mlir::zero::test {

class PipePrograms : Compiler {
public:
  explicit PipePrograms(size_t mutants) : mutantsEach(mutants) {}

  /// Returns false where something was found, which it prints.
  bool run(StringRef path, StringRef text, const std::string &options);
  void report() const { tally.print("pipelines"); }

private:
  std::vector<zrt::test::StageMutant>
  drawMutants(const std::vector<zrt::Program> &stages);

  const size_t mutantsEach;
  std::minstd_rand random{5};
  Tally tally;
};

} // namespace mlir::zero::test

#endif // ZERO_TEST_RANDOM_PIPEPROGRAMS_H
