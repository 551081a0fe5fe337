// The CPU that code was compiled for, and the one that it finds itself on.
//
// Nothing here uses the C++ library: a function of it that was compiled for a
// newer CPU, in another file, may be the one that the linker kept.
#ifndef ZERO_RUNTIME_PROGRAM_CPUFEATURES_H
#define ZERO_RUNTIME_PROGRAM_CPUFEATURES_H

#include <cstddef>

namespace zrt {

/// Calls the macro `apply` with each extension of x86 that compilers emit for
/// the CPUs that we name, as LLVM and GCC spell it.
#define ZRT_FOR_EACH_CPU_FEATURE(apply)                                        \
  apply("sse4.2") apply("popcnt") apply("lzcnt") apply("movbe") apply("avx")   \
      apply("avx2") apply("fma") apply("bmi") apply("bmi2") apply("f16c")      \
          apply("fma4") apply("xop") apply("tbm") apply("gfni")                \
              apply("avxvnni") apply("avx512f") apply("avx512cd")              \
                  apply("avx512bw") apply("avx512dq") apply("avx512vl")        \
                      apply("avx512ifma") apply("avx512vbmi")                  \
                          apply("avx512vbmi2") apply("avx512vnni")             \
                              apply("avx512bitalg") apply("avx512vpopcntdq")   \
                                  apply("avx512bf16") apply("avx512fp16")

#define ZRT_CPU_FEATURE_NAME(literal) literal,
inline constexpr const char *kCpuFeatures[] = {
    ZRT_FOR_EACH_CPU_FEATURE(ZRT_CPU_FEATURE_NAME)};
#undef ZRT_CPU_FEATURE_NAME

/// Whether this CPU has the feature whose name is `length` characters long;
/// false for one that is not known.
bool cpuHas(const char *name, size_t length);

/// Writes the names in `wanted`, which spaces separate, that this CPU lacks to
/// `missing`, cut where its `size` bytes end. Returns how many there are.
int findMissingFeatures(const char *wanted, char *missing, size_t size);

/// Ends the process with status 1 and one message where this CPU lacks one of
/// the features in `wanted`, which `what` was compiled for.
void requireCpu(const char *wanted, const char *what);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_CPUFEATURES_H
