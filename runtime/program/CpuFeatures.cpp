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
#define RETURN_WHETHER_SUPPORTED(literal)                                      \
  if (equals(name, length, literal))                                           \
    return __builtin_cpu_supports(literal);
  ZRT_FOR_EACH_CPU_FEATURE(RETURN_WHETHER_SUPPORTED)
#undef RETURN_WHETHER_SUPPORTED
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
          "with zero-compile --cpu\n",
          what, missing);
  exit(1);
}
