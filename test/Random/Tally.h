//===- Tally.h - what became of random programs -----------------*- C++ -*-===//
#ifndef ZERO_TEST_RANDOM_TALLY_H
#define ZERO_TEST_RANDOM_TALLY_H

#include "llvm/Support/raw_ostream.h"

namespace mlir::zero::test {

/// Counts of programs, and of mutants of those that are not refused.
struct Tally {
  size_t programs = 0, refused = 0;
  size_t judged = 0;   ///< mutants that are valid operations
  size_t accepted = 0; ///< of them, by the proof
  size_t wrong = 0;    ///< refused by it, and seen to do the wrong thing

  void print(StringRef what) const {
    llvm::outs() << what << ": " << programs << ", refused: " << refused
                 << ", mutants: " << judged << ", accepted: " << accepted
                 << ", refused that go wrong: " << wrong << "\n";
  }

  /// Counts a mutant, whose fault is empty where none was seen. Returns whether
  /// it is no finding: what goes wrong is refused.
  bool count(bool isAccepted, bool isWrong) {
    ++judged;
    accepted += isAccepted;
    wrong += !isAccepted && isWrong;
    return !isAccepted || !isWrong;
  }
};

} // namespace mlir::zero::test

#endif // ZERO_TEST_RANDOM_TALLY_H
