// `main` of a compiled training executable: what the compiler embeds, and the
// trainer.
#include "engine/HostBackend.h"
#include "kernels/TeamWaits.h"
#include "kernels/host/BuiltFor.h"
#include "program/CpuFeatures.h"
#include "trainer/TrainerMain.h"

extern "C" const unsigned char zero_program[];
extern "C" const int64_t zero_program_size;
extern "C" const zrt::GeneratedKernel zero_generated_kernels[];
extern "C" const int64_t zero_generated_kernel_count;

extern "C" const char zero_cpu_features[];

int main(int argc, char **argv) {
  // Before anything else runs.
  zrt::requireCpu(zrt::kHostKernelFeatures, "the runtime");
  zrt::requireCpu(zero_cpu_features, "the code");
  zrt::limitSpins(argv);
  zrt::EmbeddedProgram embedded;
  embedded.bytes = zero_program;
  embedded.size = zero_program_size;
  embedded.kernels = zero_generated_kernels;
  embedded.kernelCount = zero_generated_kernel_count;
  embedded.measureWorkspace = zrt::hostWorkspaces(zrt::makeHostKernel);
  return zrt::trainerMain(argc, argv, embedded,
                          zrt::hostBackends(zrt::makeHostKernel));
}
