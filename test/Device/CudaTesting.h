// A kernel of a device beside its twin on the host.
#ifndef ZERO_TEST_DEVICE_CUDATESTING_H
#define ZERO_TEST_DEVICE_CUDATESTING_H

#include "../Runtime/kernels/KernelTest.h"

#include "device/cuda/CudaDevice.h"
#include "kernels/cuda/Context.h"

namespace zrt::test {

/// The GPU of the tests, or why there is none: they are then skipped.
class CudaTest : public ::testing::Test {
protected:
  static void SetUpTestSuite();
  /// Handles of libraries end here: when a process ends, CUDA may be gone.
  static void TearDownTestSuite();
  void SetUp() override;

  /// What a kernel leaves in its buffers, operands then results. Each begins
  /// its number of `starts` bytes behind an aligned address; none: there.
  std::vector<Array> runOnDevice(const KernelSpec &spec,
                                 std::vector<Array> buffers, Control &control,
                                 const Program *program = nullptr,
                                 std::vector<size_t> starts = {});
  std::vector<Array> runOnHost(const KernelSpec &spec,
                               std::vector<Array> buffers, Control &control,
                               const Program *program = nullptr);

  /// Runs `spec` on `inputs` in both places. Results are equal bit by bit where
  /// `tolerance` is 0, else within tolerance * (|host| + 0.05 largest |host|).
  void compare(const KernelSpec &spec, const std::vector<Array> &inputs,
               double tolerance, Control control = {},
               const Program *program = nullptr);

  /// Runs `spec` with buffers that begin 2, 4 and 8 bytes behind an aligned
  /// address, where a whole number of elements has as many: each alone, and all
  /// together. Expects results that are bitwise equal to those of aligned ones.
  void compareAlignments(const KernelSpec &spec,
                         const std::vector<Array> &inputs, Control control = {},
                         const Program *program = nullptr);

  /// Kernels run once, and then out of a graph.
  bool captured = false;

  static std::unique_ptr<Device> device;
  static std::unique_ptr<CudaContext> context;
  static std::string reason;
};

} // namespace zrt::test

#endif // ZERO_TEST_DEVICE_CUDATESTING_H
