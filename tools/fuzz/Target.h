// What is fuzzed: a reader of untrusted input, and what must hold of it.
#ifndef ZERO_TOOLS_FUZZ_TARGET_H
#define ZERO_TOOLS_FUZZ_TARGET_H

#include "Random.h"

#include <string>
#include <vector>

namespace fuzz {

struct Target {
  const char *name;
  /// Inputs that are right, to start from.
  std::vector<std::string> (*seeds)();
  /// A nearly right input from one of the seeds and another.
  std::string (*make)(const std::string &seed, const std::string &other,
                      Random &random);
  /// Reads `input`, and whether it was accepted. What must hold and does not is
  /// a `violation`.
  bool (*run)(const std::string &input);
};

/// All targets of an executable.
const std::vector<Target> &targets();

/// Ends the process by a signal, after `what` on standard error.
[[noreturn]] void violation(const std::string &what);

/// `condition`, or a violation.
inline void require(bool condition, const std::string &what) {
  if (!condition)
    violation(what);
}

/// The seeds of `target` and the files of its folder in the corpus, in the
/// order of their names.
std::vector<std::string> allSeeds(const Target &target);

/// `Target::make` of bytes and of texts.
std::string makeBytes(const std::string &seed, const std::string &other,
                      Random &random);
std::string makeText(const std::string &seed, const std::string &other,
                     Random &random);

} // namespace fuzz

#endif // ZERO_TOOLS_FUZZ_TARGET_H
