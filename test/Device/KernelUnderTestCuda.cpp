// The tests of the host's kernels on a GPU: buffers go there and back around
// each run. Without a GPU nothing runs, and the one line of output says why.
#include "../Runtime/kernels/KernelUnderTest.h"

#include "device/cuda/CudaDevice.h"
#include "kernels/cuda/Context.h"
#include "kernels/optimizer/Specs.h"
#include "program/KernelSchema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace zrt;

namespace {

constexpr size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xa5;

/// One GPU for all tests of the process.
struct Processor {
  Processor() : device(makeCudaDevice(0)) {
    context.stream = reinterpret_cast<cudaStream_t>(
        device->makeQueue(/*highPriority=*/false));
    cuda::check(cublasLtCreate(&context.blas), "cublasLtCreate");
  }
  std::unique_ptr<Device> device;
  CudaContext context;
};

Processor &processor() {
  static Processor *one = new Processor; // outlives every test
  return *one;
}

/// Bytes of the device with a guard behind them.
class Block {
public:
  explicit Block(size_t bytes)
      : bytes(bytes), device(*processor().device),
        address(device.allocate(bytes + kGuardBytes, "a test's buffer")) {}
  ~Block() { device.release(address); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;

  void *data() const { return address; }
  void fill(const void *from) {
    const std::vector<unsigned char> guard(kGuardBytes, kGuard);
    if (bytes)
      device.write(address, from, bytes);
    device.write(static_cast<char *>(address) + bytes, guard.data(),
                 kGuardBytes);
  }
  void bringBack(void *to, const std::string &what) {
    std::vector<unsigned char> guard(kGuardBytes);
    if (bytes)
      device.read(to, address, bytes);
    device.read(guard.data(), static_cast<char *>(address) + bytes,
                kGuardBytes);
    EXPECT_TRUE(std::all_of(guard.begin(), guard.end(),
                            [](unsigned char byte) { return byte == kGuard; }))
        << what << " overran a buffer";
  }

private:
  size_t bytes;
  Device &device;
  void *address;
};

class StagedKernel final : public Kernel {
public:
  StagedKernel(const KernelSpec &spec, const KernelContext &context)
      : name(spec.name), control(context.control), onDevice(sizeof(Control)) {
    for (const TensorType &type : bufferTypes(spec)) {
      blocks.push_back(std::make_unique<Block>(type.span()));
      addresses.push_back(blocks.back()->data());
    }
    KernelContext own = context;
    own.pool = nullptr;
    own.cuda = &processor().context;
    own.control = static_cast<Control *>(onDevice.data());
    kernel = makeCudaKernel(spec, own);
    const size_t counted = workspaceOf(
        spec, context.program && context.program->training.deterministic);
    if (kernel->workspaceBytes() > counted)
      throw std::runtime_error(
          spec.name + " wants a workspace of " +
          std::to_string(kernel->workspaceBytes()) +
          " bytes, and its row of the kernels' table says at most " +
          std::to_string(counted));
    workspace = std::make_unique<Block>(kernel->workspaceBytes());
  }

  void run(void *const *buffers, void *) override {
    Control own = control ? *control : Control{};
    onDevice.fill(&own);
    // What is one buffer here is one there.
    std::vector<void *> places = addresses;
    std::vector<size_t> firsts;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t first =
          std::find(buffers, buffers + i, buffers[i]) - buffers;
      places[i] = addresses[first];
      if (first == i)
        firsts.push_back(i);
    }
    for (size_t i : firsts)
      blocks[i]->fill(buffers[i]);
    const std::vector<char> junk(kernel->workspaceBytes(), '\xff');
    workspace->fill(junk.data());
    kernel->run(places.data(), workspace->data());
    processor().device->synchronize(
        reinterpret_cast<Device::Queue>(processor().context.stream));
    for (size_t i : firsts)
      blocks[i]->bringBack(buffers[i], name);
    std::vector<char> rest(junk.size());
    workspace->bringBack(rest.data(), name);
    onDevice.bringBack(&own, name);
    if (control)
      *control = own;
    if (own.outOfRange)
      throw std::out_of_range(name + ": an id or target outside its table");
  }

private:
  std::string name;
  Control *control;
  Block onDevice;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<void *> addresses;
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<Block> workspace;
};

/// What only the host promises.
struct Exception {
  const char *test, *reason;
};
constexpr Exception kExceptions[] = {
    {"KernelLaunch.RunsTheFunctionOfThatName",
     "its function is the host's; whole steps run those of a device"},
    {"KernelCrossEntropy.NamesATargetOutsideTheClasses",
     "a device tells that there is one, and not which"},
    {"OptimizerStatistics.ARoundedNormDependsOnSlices",
     "a device adds in another order, in which these slices do not show it"},
    {"KernelMatrix.*Rows*",
     "cuBLASLt chooses by the shape: some rows need not have the whole's bits"},
};

} // namespace

std::unique_ptr<Kernel>
zrt::test::makeKernelUnderTest(const KernelSpec &spec,
                               const KernelContext &context) {
  return std::make_unique<StagedKernel>(spec, context);
}

bool zrt::test::countsKernelAllocations() { return false; }
bool zrt::test::usesKernelThreads() { return false; }

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string reason, without;
  for (const Exception &each : kExceptions) {
    without += std::string(without.empty() ? "" : ":") + each.test;
    std::printf("left out: %s: %s\n", each.test, each.reason);
  }
  const std::string filter = GTEST_FLAG_GET(filter);
  const bool excludes = filter.find('-') != std::string::npos;
  if (!GTEST_FLAG_GET(list_tests))
    GTEST_FLAG_SET(filter, filter + (excludes ? ":" : "-") + without);
  if (!GTEST_FLAG_GET(list_tests) && countCudaDevices(reason) == 0) {
    std::printf("skipped, no GPU: %s\n", reason.c_str());
    return 0;
  }
  return RUN_ALL_TESTS();
}
