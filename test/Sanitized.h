//===- Sanitized.h - how much of a large test runs --------------*- C++ -*-===//
//
// Under a sanitizer all that runs takes several times as long, and looks for
// other faults: what a test repeats a thousand times is repeated less often.
// Of the largest tests a fixed share runs, and all with `tools/check --all`.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_SANITIZED_H
#define ZERO_TEST_SANITIZED_H

#include <cstddef>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ZERO_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||     \
    __has_feature(thread_sanitizer)
#define ZERO_SANITIZED 1
#endif
#endif

#ifdef ZERO_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

/// Every how many of its cases a large test runs, of which it has thousands.
/// Prime, so that a share has all kinds of what a generator makes in turn.
inline size_t shareOfCases() {
  if (kIsSanitized)
    return 11;
  return std::getenv("ZERO_ALL_TESTS") ? 1 : 3;
}

#endif // ZERO_TEST_SANITIZED_H
