// `main` of an executable that may break a rule.
#include "Faults.h"

#include "engine/HostBackend.h"
#include "trainer/TrainerMain.h"

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <utility>

using namespace zrt;
using namespace zrt::test;

extern "C" const unsigned char zero_program[];
extern "C" const int64_t zero_program_size;
extern "C" const GeneratedKernel zero_generated_kernels[];
extern "C" const int64_t zero_generated_kernel_count;

Fault zrt::test::activeFault() {
  const char *value = std::getenv("ZERO_TEST_FAULT");
  const std::string name = value ? value : "none";
  constexpr std::pair<const char *, Fault> faults[] = {
      {"none", Fault::None},
      {"rank-order", Fault::RankOrder},
      {"tail", Fault::Tail},
      {"token-order", Fault::TokenOrder},
      {"thread-blocks", Fault::ThreadBlocks}};
  for (const auto &[called, fault] : faults)
    if (name == called)
      return fault;
  throw std::invalid_argument("ZERO_TEST_FAULT names no fault: '" + name + "'");
}

int main(int argc, char **argv) {
  const Fault fault = activeFault();
  EmbeddedProgram embedded;
  embedded.bytes = zero_program;
  embedded.size = zero_program_size;
  embedded.kernels = zero_generated_kernels;
  embedded.kernelCount = zero_generated_kernel_count;
  Program program;
  std::string reason;
  if (!parse(embedded.bytes, size_t(embedded.size), program, reason)) {
    std::cerr << "error: " << reason << std::endl;
    return 1;
  }
  const auto make = [fault](const KernelSpec &spec,
                            const KernelContext &context) {
    return makeFaultyKernel(fault, spec, context);
  };
  return runTrainer(argc, argv, program, embedded, hostBackends(make),
                    std::cout, std::cerr);
}
