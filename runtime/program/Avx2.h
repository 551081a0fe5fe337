// A second form of the same loops, for CPUs with AVX2 and f16 conversions,
// where the build is for any x86-64.
#ifndef ZERO_RUNTIME_PROGRAM_AVX2_H
#define ZERO_RUNTIME_PROGRAM_AVX2_H

#if defined(__x86_64__) && defined(__FLT16_MAX__)
#define ZERO_HAVE_AVX2_PATH 1
/// Of a function that runs only where `hasAvx2`.
#define ZERO_AVX2 __attribute__((target("avx2,f16c")))

namespace zrt {

inline bool hasAvx2() {
  static const bool has =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}

} // namespace zrt
#endif

#endif // ZERO_RUNTIME_PROGRAM_AVX2_H
