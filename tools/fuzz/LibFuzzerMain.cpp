// The targets for libFuzzer, which brings `main`: the first argument is the
// target's name, the others are libFuzzer's.
#include "Target.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

static const fuzz::Target *chosen = nullptr;

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const std::string name = *argc > 1 ? (*argv)[1] : "";
  for (const fuzz::Target &target : fuzz::targets())
    if (name == target.name)
      chosen = &target;
  if (!chosen) {
    std::fprintf(stderr, "error: found '%s', wanted a target:", name.c_str());
    for (const fuzz::Target &target : fuzz::targets())
      std::fprintf(stderr, " %s", target.name);
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  for (int i = 1; i + 1 < *argc; ++i)
    (*argv)[i] = (*argv)[i + 1];
  --*argc;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chosen->run(std::string(reinterpret_cast<const char *>(data), size));
  return 0;
}
