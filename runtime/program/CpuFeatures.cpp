#include "program/CpuFeatures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

bool equals(const char *name, size_t length, const char *literal) {
  return strlen(literal) == length && memcmp(name, literal, length) == 0;
}

} // namespace

bool zrt::cpuHas(const char *name, size_t length) {
#if defined(__x86_64__)
  __builtin_cpu_init();
// The builtin takes literals.
#define ZERO_FEATURE(literal)                                                  \
  if (equals(name, length, literal))                                           \
    return __builtin_cpu_supports(literal);
  ZERO_FEATURE("sse4.2")
  ZERO_FEATURE("popcnt")
  ZERO_FEATURE("avx")
  ZERO_FEATURE("avx2")
  ZERO_FEATURE("fma")
  ZERO_FEATURE("bmi")
  ZERO_FEATURE("bmi2")
  ZERO_FEATURE("f16c")
  ZERO_FEATURE("avx512f")
  ZERO_FEATURE("avx512cd")
  ZERO_FEATURE("avx512bw")
  ZERO_FEATURE("avx512dq")
  ZERO_FEATURE("avx512vl")
  ZERO_FEATURE("avx512ifma")
  ZERO_FEATURE("avx512vbmi")
  ZERO_FEATURE("avx512vbmi2")
  ZERO_FEATURE("avx512vnni")
  ZERO_FEATURE("avx512bitalg")
  ZERO_FEATURE("avx512vpopcntdq")
  ZERO_FEATURE("avx512bf16")
  ZERO_FEATURE("avx512fp16")
#undef ZERO_FEATURE
#endif
  (void)equals;
  (void)name;
  (void)length;
  return false;
}

int zrt::findMissingFeatures(const char *wanted, char *missing, size_t size) {
  int count = 0;
  size_t used = 0;
  while (*wanted) {
    const size_t length = strcspn(wanted, " ");
    if (length && !cpuHas(wanted, length)) {
      if (used + length + 2 < size) {
        if (used)
          missing[used++] = ' ';
        memcpy(missing + used, wanted, length);
        used += length;
      }
      ++count;
    }
    wanted += length + (wanted[length] == ' ');
  }
  if (size)
    missing[used] = '\0';
  return count;
}

void zrt::requireCpu(const char *wanted, const char *what) {
  char missing[512];
  if (!findMissingFeatures(wanted, missing, sizeof(missing)))
    return;
  fprintf(stderr,
          "error: %s of this executable was compiled for a CPU with %s, which "
          "this one lacks; compile the model on this machine, or name its CPU "
          "with zero-compile --cpu and build the runtime with ZERO_HOST_ARCH\n",
          what, missing);
  exit(1);
}
