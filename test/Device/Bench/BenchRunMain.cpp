// The training executable of a program for the host, whose ranks are on models
// of devices: everything that a GPU's executable is made of, but for the code
// of generated kernels.
//
//   zero-bench-run program.so [flags of a device's executable]
//
// program.so is what `zero-compile --emit=program` wrote. What would have hung
// on a device is an error.
#include "../../Runtime/trainer/ProgramLibrary.h"
#include "Runtime.h"

#include "device/cuda/CudaBackend.h"
#include "trainer/TrainerMain.h"

#include <cstdio>
#include <iostream>

using namespace zrt;

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: zero-bench-run program.so [flags]\n");
    return 2;
  }
  int status = 2;
  try {
    const testing::ProgramLibrary library(argv[1]);
    EmbeddedProgram embedded;
    embedded.kernels = library.kernels;
    embedded.kernelCount = library.kernelCount;
    embedded.isForDevice = true;
    embedded.attention = cudaAttention();
    status = runTrainer(argc - 1, argv + 1, library.stages, embedded,
                        cudaBackends(nullptr), std::cout, std::cerr);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "zero-bench-run: error: %s\n", error.what());
  }
  for (const std::string &hang : bench::takeHangs()) {
    std::fprintf(stderr, "zero-bench-run: would hang: %s\n", hang.c_str());
    status = 3;
  }
  if (status == 0 && bench::openHandles() != 0) {
    std::fprintf(stderr, "zero-bench-run: %lld handles are left\n",
                 (long long)bench::openHandles());
    status = 3;
  }
  std::printf("launches of device code: %lld\n",
              (long long)bench::countLaunches());
  return status;
}
