//===- Sanitized.h - whether tests run under a sanitizer --------*- C++ -*-===//
//
// Under a sanitizer all that runs takes several times as long, and looks for
// other faults: what a test repeats a thousand times is repeated less often.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_SANITIZED_H
#define ZERO_TEST_SANITIZED_H

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

#endif // ZERO_TEST_SANITIZED_H
