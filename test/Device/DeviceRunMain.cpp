// The training executable of a program that is in a file of its own, so that
// many programs need the runtime once:
//
//   zero-device-run program.so [flags of the executable]
//
// program.so is what `zero-compile --target cuda --emit shared` wrote.
#include "ProgramLibrary.h"
#include "device/cuda/CudaBackend.h"

#include <cstdio>

using namespace zrt;

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: zero-device-run program.so [flags]\n");
    return 2;
  }
  try {
    const test::ProgramLibrary library(argv[1]);
    EmbeddedProgram embedded = library.embedded();
    embedded.isForDevice = true;
    const bool hasKernels = *library.find<int64_t>("zero_device_image_size");
    const auto *image = library.find<unsigned char>("zero_device_image");
    return trainerMain(argc - 1, argv + 1, embedded,
                       cudaBackends(hasKernels ? image : nullptr));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "zero-device-run: error: %s\n", error.what());
    return 2;
  }
}
