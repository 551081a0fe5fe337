#include "CudaTesting.h"

#include "program/KernelSchema.h"

#include <cmath>
#include <cstring>

using namespace zrt;
using namespace zrt::test;

std::unique_ptr<Device> CudaTest::device;
std::unique_ptr<CudaContext> CudaTest::context;
std::string CudaTest::reason;

void CudaTest::SetUpTestSuite() {
  if (countCudaDevices(reason) == 0)
    return;
  device = makeCudaDevice(0);
  context = std::make_unique<CudaContext>();
  context->stream =
      reinterpret_cast<cudaStream_t>(device->makeQueue(/*highPriority=*/false));
  cuda::check(cublasLtCreate(&context->blas), "cublasLtCreate");
}

void CudaTest::TearDownTestSuite() {
  if (!device)
    return;
  context->dnn.reset();
  cublasLtDestroy(context->blas);
  device->destroy(reinterpret_cast<Device::Queue>(context->stream));
  context.reset();
  device.reset();
}

void CudaTest::SetUp() {
  if (!device)
    GTEST_SKIP() << "no GPU: " << reason;
}

/// What lies before a buffer that begins behind an aligned address.
static constexpr unsigned char kBefore = 0xa5;

/// Runs `kernel` out of a graph, as steps do after the first one.
static void repeatCaptured(Kernel &kernel, const std::vector<void *> &addresses,
                           void *workspace, Device &device,
                           Device::Queue queue) {
  device.beginCapture(queue);
  kernel.run(addresses.data(), workspace);
  Device::Graph graph = device.endCapture(queue);
  device.launch(graph, queue);
  device.destroy(graph);
}

namespace {
/// Memory of a device, given back also when a kernel's fault ends its test.
class Held {
public:
  explicit Held(Device &device) : device(device) {}
  ~Held() {
    for (void *address : addresses)
      device.release(address);
  }
  void *keep(void *address) {
    addresses.push_back(address);
    return address;
  }

private:
  Device &device;
  std::vector<void *> addresses;
};
} // namespace

std::vector<Array> CudaTest::runOnDevice(const KernelSpec &spec,
                                         std::vector<Array> buffers,
                                         Control &control,
                                         const Program *program,
                                         std::vector<size_t> starts) {
  starts.resize(buffers.size());
  KernelContext kernels;
  kernels.cuda = context.get();
  kernels.program = program;
  Held held(*device);
  kernels.control = static_cast<Control *>(
      held.keep(device->allocate(sizeof(Control), "control")));
  device->write(kernels.control, &control, sizeof(Control));
  std::vector<void *> addresses;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const size_t bytes = std::max<size_t>(buffers[i].bytes(), 1);
    auto *begin = static_cast<char *>(
        held.keep(device->allocate(starts[i] + bytes, "buffer")));
    const std::vector<unsigned char> before(starts[i], kBefore);
    device->write(begin, before.data(), starts[i]);
    addresses.push_back(begin + starts[i]);
    device->write(addresses[i], buffers[i].data(), buffers[i].bytes());
  }
  {
    std::unique_ptr<Kernel> kernel = makeCudaKernel(spec, kernels);
    EXPECT_LE(kernel->workspaceBytes(),
              workspaceOf(spec, program && program->training.deterministic));
    void *workspace = held.keep(device->allocateScratch(
        std::max<size_t>(kernel->workspaceBytes(), 1), "workspace"));
    kernel->run(addresses.data(), workspace);
    if (captured)
      repeatCaptured(*kernel, addresses, workspace, *device,
                     reinterpret_cast<Device::Queue>(context->stream));
    for (size_t i = 0; i < buffers.size(); ++i) {
      device->read(buffers[i].data(), addresses[i], buffers[i].bytes());
      std::vector<unsigned char> before(starts[i]);
      device->read(before.data(), static_cast<char *>(addresses[i]) - starts[i],
                   starts[i]);
      for (unsigned char byte : before)
        EXPECT_EQ(byte, kBefore) << "buffer " << i << " was written before it";
    }
  }
  device->read(&control, kernels.control, sizeof(Control));
  return buffers;
}

std::vector<Array> CudaTest::runOnHost(const KernelSpec &spec,
                                       std::vector<Array> buffers,
                                       Control &control,
                                       const Program *program) {
  ThreadPool pool(1);
  KernelContext kernels;
  kernels.pool = &pool;
  kernels.control = &control;
  kernels.program = program;
  std::unique_ptr<Kernel> kernel = makeHostKernel(spec, kernels);
  std::vector<char> workspace(kernel->workspaceBytes() + 64);
  const size_t shift = 64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64;
  std::vector<void *> addresses;
  for (Array &buffer : buffers)
    addresses.push_back(buffer.data());
  kernel->run(addresses.data(), workspace.data() + shift);
  return buffers;
}

/// `inputs` and the results of `spec`. What nobody writes shows as NaN.
static std::vector<Array> buffersOf(const KernelSpec &spec,
                                    const std::vector<Array> &inputs) {
  std::vector<Array> buffers = inputs;
  for (const TensorType &type : spec.results) {
    buffers.emplace_back(type.type, type.shape);
    std::memset(buffers.back().data(), 0xff, buffers.back().bytes());
  }
  return buffers;
}

/// What each buffer may begin behind an aligned address, `bytes` where it has
/// whole elements then. Packed ones have scales of 4 bytes in them.
static std::vector<size_t> startsOf(const std::vector<Array> &buffers,
                                    size_t bytes) {
  std::vector<size_t> starts;
  for (const Array &buffer : buffers) {
    const DataType type = buffer.type.type;
    const size_t least = type == DataType::I8 ? 4 : sizeOf(type);
    starts.push_back(bytes % least ? 0 : bytes);
  }
  return starts;
}

void CudaTest::compareAlignments(const KernelSpec &spec,
                                 const std::vector<Array> &inputs,
                                 Control control, const Program *program) {
  SCOPED_TRACE(spec.name);
  const std::vector<Array> buffers = buffersOf(spec, inputs);
  Control aligned = control;
  const auto wanted = runOnDevice(spec, buffers, aligned, program);
  const auto check = [&](const std::vector<size_t> &starts) {
    Control other = control;
    const auto found = runOnDevice(spec, buffers, other, program, starts);
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(wanted[i] == found[i])
          << "buffer " << i << " with buffers at "
          << testing::PrintToString(starts);
    EXPECT_EQ(std::memcmp(&aligned, &other, sizeof(Control)), 0)
        << "control block with buffers at " << testing::PrintToString(starts);
  };
  for (size_t bytes : {2, 4, 8}) {
    const std::vector<size_t> starts = startsOf(buffers, bytes);
    for (size_t i = 0; i < buffers.size(); ++i) {
      std::vector<size_t> one(buffers.size());
      one[i] = starts[i];
      if (one[i])
        check(one);
    }
    check(starts);
  }
}

void CudaTest::compare(const KernelSpec &spec, const std::vector<Array> &inputs,
                       double tolerance, Control control,
                       const Program *program) {
  SCOPED_TRACE(spec.name);
  const std::vector<Array> buffers = buffersOf(spec, inputs);
  Control onHost = control, onDevice = control;
  const auto wanted = runOnHost(spec, buffers, onHost, program);
  const auto found = runOnDevice(spec, buffers, onDevice, program);
  if (tolerance == 0)
    EXPECT_EQ(std::memcmp(&onHost, &onDevice, sizeof(Control)), 0)
        << "the control blocks differ";
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (tolerance == 0) {
      EXPECT_TRUE(wanted[i] == found[i]) << "buffer " << i;
      continue;
    }
    double largest = 0;
    for (int64_t j = 0; j < wanted[i].size(); ++j)
      if (std::isfinite(wanted[i][j]))
        largest = std::max(largest, std::fabs(wanted[i][j]));
    for (int64_t j = 0; j < wanted[i].size(); ++j) {
      if (std::isinf(wanted[i][j])) {
        ASSERT_EQ(wanted[i][j], found[i][j])
            << "buffer " << i << " element " << j;
        continue;
      }
      const double bound =
          tolerance * (std::fabs(wanted[i][j]) + 0.05 * largest + 1e-6);
      ASSERT_LE(std::fabs(wanted[i][j] - found[i][j]), bound)
          << "buffer " << i << " element " << j << ": host " << wanted[i][j]
          << ", device " << found[i][j];
    }
  }
}
