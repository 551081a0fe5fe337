// What a GPU is, and how fast the optimizer is beside a copy; JSON on a line.
//
//   zero-device-bench device
//   zero-device-bench adamw [elements]
//
// Exit code 3: there is no GPU, and the line says why.
#include "device/cuda/CudaBackend.h"
#include "device/cuda/CudaDevice.h"
#include "device/cuda/Nccl.h"
#include "kernels/cuda/Context.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

using namespace zrt;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kNoDevice = 3;
/// Runs of one measurement; the median counts.
constexpr int kRuns = 21;

std::string dotted(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

void printDevice(int count) {
  const auto device = makeCudaDevice(0);
  cudaDeviceProp properties = {};
  cuda::check(cudaGetDeviceProperties(&properties, 0),
              "cudaGetDeviceProperties");
  int driver = 0, runtime = 0;
  cuda::check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  cuda::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  Json line;
  line["gpu"] = properties.name;
  line["gpus"] = count;
  line["capability"] = dotted(properties.major * 1000 + properties.minor * 10);
  line["memory"] = properties.totalGlobalMem;
  line["in_use"] = device->bytesInUse();
  line["cuda_driver"] = dotted(driver);
  line["cuda_runtime"] = dotted(runtime);
  line["cublaslt"] = cublasLtGetVersion();
  line["attention"] = cudaAttention();
  line["nccl"] = ncclVersion();
  line["shares_devices"] = ncclSharesDevices();
  std::printf("%s\n", line.dump().c_str());
}

/// The median seconds of `body`, which queues its work.
template <typename Body>
double measure(Device &device, Device::Queue queue, Body body) {
  const Device::Event begin = device.makeTimer(), end = device.makeTimer();
  std::vector<double> seconds;
  for (int run = -3; run < kRuns; ++run) {
    device.record(begin, queue);
    body();
    device.record(end, queue);
    device.synchronize(end);
    if (run >= 0)
      seconds.push_back(device.elapsed(begin, end));
  }
  device.destroy(begin);
  device.destroy(end);
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return seconds[kRuns / 2];
}

/// Buffers of the fused update with bf16 parameters and gradients and f32
/// masters: gradient, master, moments, parameter.
class Update {
public:
  Update(Device &device, CudaContext &context, int64_t elements)
      : device(device) {
    const DataType types[] = {DataType::BF16, DataType::F32, DataType::F32,
                              DataType::F32, DataType::BF16};
    for (DataType type : types) {
      spec.operands.push_back({type, {elements}});
      const size_t bytes = spec.operands.back().bytes();
      buffers.push_back(device.allocate(bytes, "the optimizer's bench"));
      fill(buffers.back(), type, bytes);
    }
    spec.name = "zero.adamw";
    spec.ints = {{"partition", {0}}, {"bias_correction", {1}}};
    spec.floats = {{"beta1", 0.9},
                   {"beta2", 0.999},
                   {"epsilon", 1e-8},
                   {"weight_decay", 0.1}};
    Control control = {};
    control.scale = control.factor = control.lossSeed = 1;
    control.finite = 1;
    control.lastOverflow = -1;
    std::fill_n(control.learningRate, kMaxGroups, 1e-4f);
    KernelContext kernels;
    kernels.cuda = &context;
    kernels.program = &program;
    kernels.control = static_cast<Control *>(
        device.allocate(sizeof(Control), "the control block"));
    device.write(kernels.control, &control, sizeof(Control));
    buffers.push_back(kernels.control);
    kernel = makeCudaKernel(spec, kernels);
  }
  ~Update() {
    kernel.reset();
    for (void *buffer : buffers)
      device.release(buffer);
  }
  void run() { kernel->run(buffers.data(), nullptr); }
  /// Read and written: all five, but for the gradient and the parameter, which
  /// are read and written once.
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < spec.operands.size(); ++i)
      sum += spec.operands[i].bytes() *
             (spec.operands[i].type == DataType::F32 ? 2 : 1);
    return sum;
  }

private:
  /// Numbers of about 1e-3 that differ: zeros may run faster.
  void fill(void *buffer, DataType type, size_t bytes) {
    std::vector<char> numbers(size_t(64) << 20);
    uint32_t state = 1;
    for (size_t i = 0; i + 4 <= numbers.size(); i += 4) {
      state = state * 1664525u + 1013904223u;
      const float value = float(state >> 8) * 0x1p-34f;
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      if (type == DataType::BF16)
        bits = (bits >> 16) * 0x10001u;
      std::memcpy(&numbers[i], &bits, 4);
    }
    for (size_t at = 0; at < bytes; at += numbers.size())
      device.write(static_cast<char *>(buffer) + at, numbers.data(),
                   std::min(numbers.size(), bytes - at));
  }

  Device &device;
  Program program;
  KernelSpec spec;
  std::vector<void *> buffers;
  std::unique_ptr<Kernel> kernel;
};

void measureUpdate(int64_t elements) {
  const auto device = makeCudaDevice(0);
  const Device::Queue queue = device->makeQueue(/*highPriority=*/false);
  CudaContext context;
  context.stream = reinterpret_cast<cudaStream_t>(queue);
  Json line;
  line["elements"] = elements;
  uint64_t bytes;
  {
    Update update(*device, context, elements);
    bytes = update.bytes();
    const double seconds = measure(*device, queue, [&] { update.run(); });
    line["update_s"] = seconds;
    line["update_bytes_per_s"] = double(bytes) / seconds;
  }
  // A copy of as many bytes, counted alike.
  void *from = device->allocate(bytes / 2, "the copy's source");
  void *to = device->allocate(bytes / 2, "the copy's target");
  const double seconds = measure(
      *device, queue, [&] { device->copy(to, from, bytes / 2, queue); });
  line["copy_s"] = seconds;
  line["copy_bytes_per_s"] = double(bytes) / seconds;
  line["share"] = double(line["update_bytes_per_s"]) * seconds / double(bytes);
  std::printf("%s\n", line.dump().c_str());
  device->release(from);
  device->release(to);
  device->destroy(queue);
}

} // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::string reason;
  if (what != "device" && what != "adamw") {
    std::fprintf(stderr,
                 "usage: zero-device-bench device | adamw [elements]\n");
    return 2;
  }
  const int count = countCudaDevices(reason);
  if (count == 0) {
    std::printf("no GPU: %s\n", reason.c_str());
    return kNoDevice;
  }
  try {
    if (what == "device")
      printDevice(count);
    else
      measureUpdate(argc > 2 ? std::atoll(argv[2]) : int64_t(1) << 28);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "zero-device-bench: error: %s\n", error.what());
    return 1;
  }
  return 0;
}
