// The CPU that code was compiled for, and the one that it finds itself on.
//
// Nothing here uses the C++ library: a function of it that was compiled for a
// newer CPU, in another file, may be the one that the linker kept.
#ifndef ZERO_RUNTIME_PROGRAM_CPUFEATURES_H
#define ZERO_RUNTIME_PROGRAM_CPUFEATURES_H

#include <cstddef>

namespace zrt {

/// Extensions of x86 that compilers emit for the CPUs that we name, as LLVM and
/// GCC spell them.
inline constexpr const char *kCpuFeatures[] = {
    "sse4.2",   "popcnt",   "avx",        "avx2",     "fma",
    "bmi",      "bmi2",     "f16c",       "avx512f",  "avx512cd",
    "avx512bw", "avx512dq", "avx512vl",   "avx512ifma", "avx512vbmi",
    "avx512vbmi2", "avx512vnni", "avx512bitalg", "avx512vpopcntdq",
    "avx512bf16", "avx512fp16"};

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
