// The training executable of a program that is in a file of its own, so that
// many programs need the runtime once:
//
//   zero-device-run program.so [flags of the executable]
//
// program.so is what `zero-compile --target cuda --emit program` wrote.
#include "../Runtime/trainer/ProgramLibrary.h"

#include "device/cuda/CudaBackend.h"
#include "trainer/TrainerMain.h"

#include <cstdio>
#include <iostream>

using namespace zrt;

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: zero-device-run program.so [flags]\n");
    return 2;
  }
  try {
    const testing::ProgramLibrary library(argv[1]);
    EmbeddedProgram embedded;
    embedded.kernels = library.kernels;
    embedded.kernelCount = library.kernelCount;
    embedded.isForDevice = true;
    embedded.prefersProcesses = true;
    embedded.attention = cudaAttention();
    const bool hasKernels = *library.find<int64_t>("zero_device_image_size");
    const auto *image = library.find<unsigned char>("zero_device_image");
    return runTrainer(argc - 1, argv + 1, library.stages, embedded,
                      cudaBackends(hasKernels ? image : nullptr), std::cout,
                      std::cerr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "zero-device-run: error: %s\n", error.what());
    return 2;
  }
}
