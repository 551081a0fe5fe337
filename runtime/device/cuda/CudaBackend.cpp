#include "device/cuda/CudaBackend.h"

#include "communicator/Processes.h"
#include "device/DeviceBackend.h"
#include "device/Nearby.h"
#include "device/StagedCollectives.h"
#include "device/cuda/CudaDevice.h"
#include "device/cuda/Nccl.h"
#include "device/cuda/ProductTuning.h"
#include "engine/MachineMemory.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/CudnnAttention.h"

#include <cstdlib>
#include <mutex>
#include <stdexcept>

using namespace zrt;
using zrt::cuda::check;

namespace {

/// Handles that go with a backend.
struct OwnedContext : CudaContext {
  OwnedContext(const void *image, Device::Queue compute) {
    stream = reinterpret_cast<cudaStream_t>(compute);
    check(cublasLtCreate(&blas), "cublasLtCreate");
    if (image)
      check(cudaLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr,
                                nullptr, 0),
            "cudaLibraryLoadData");
  }
  ~OwnedContext() {
    if (library)
      cudaLibraryUnload(library);
    if (blas)
      cublasLtDestroy(blas);
  }
  OwnedContext(const OwnedContext &) = delete;
  OwnedContext &operator=(const OwnedContext &) = delete;
};

/// The number of this rank among those of its machine. A launcher numbers
/// processes: of ranks that are threads of one, it says nothing.
int localRankOf(const Communicator &communicator) {
  const int rank = communicator.rank();
  return areRanksProcesses() ? localRank(rank) : rank;
}

int deviceOf(const BackendSetup &setup, const Communicator &communicator) {
  const int rank = localRankOf(communicator);
  std::string reason;
  const int count = countCudaDevices(reason);
  if (setup.options.shareGpu)
    return count ? rank % count : 0;
  // A launcher may show each process a GPU of its own; where they are the same
  // one, NCCL says so.
  return areRanksProcesses() && count == 1 ? 0 : rank;
}

std::unique_ptr<CollectiveQueue>
makeCollectives(const BackendSetup &setup, Device &device, Communicator &host) {
  const std::string &wanted = setup.options.collectives;
  const bool many = host.ranks() > 1;
  if (wanted == "host" || (wanted == "auto" && !many)) {
    if (wanted == "host" && setup.options.collectivesMemory != "auto")
      throw std::runtime_error(
          "--collectives-memory says what NCCL knows of memory, and "
          "--collectives host does without NCCL: leave one of them out");
    if (many)
      return std::make_unique<StagedCollectives>(device, host);
    return std::make_unique<LocalCollectives>(device);
  }
  if (many && setup.program.training.deterministic)
    throw std::runtime_error(
        "this program was compiled with --deterministic, whose sums are in the "
        "order of ranks, and NCCL's are not: run it with --collectives host");
  if (many && setup.options.shareGpu && !ncclSharesDevices())
    throw std::runtime_error(
        "ranks that share a GPU need NCCL 2.30 or later with "
        "NCCL_MULTI_RANK_GPU_ENABLE=1, and this is NCCL " +
        ncclVersion() + ": run with --collectives host");
  std::string reason;
  if (many && setup.options.shareGpu && !areRanksProcesses() &&
      countCudaDevices(reason) < host.ranks())
    throw std::runtime_error(
        "ranks that share a GPU use NCCL as processes of their own, and these "
        "are threads: start them with mpirun, or run with --collectives host");
  NcclOptions options;
  const std::string &memory = setup.options.collectivesMemory;
  options.insists = memory != "auto";
  // Windows want a link from device to device, which ranks of one have not.
  if (memory == "registered" ||
      (memory == "auto" && many && setup.options.shareGpu))
    options.memory = NcclMemoryKind::Registered;
  else if (memory == "plain")
    options.memory = NcclMemoryKind::Plain;
  options.timeoutSeconds = setup.options.timeout;
  options.tell = setup.tell;
  return makeNccl(setup.program, device, host, options);
}

/// An event with a time, as long as it is needed.
class Timer {
public:
  explicit Timer(Device &device) : device(device), event(device.makeTimer()) {}
  ~Timer() { device.destroy(event); }
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;
  operator Device::Event() const { return event; }

private:
  Device &device;
  Device::Event event;
};

cuda::ProductChoices::Timer timerOf(Device &device, Device::Queue queue) {
  return [&device, queue](const std::function<void()> &work) {
    const Timer begin(device), end(device);
    device.record(begin, queue);
    work();
    device.record(end, queue);
    device.synchronize(end);
    return device.elapsed(begin, end);
  };
}

/// Lets `context`'s kernels choose codes of products by time, as long as
/// `parts` are there.
void tuneProducts(const std::string &file, DeviceParts &parts,
                  CudaContext &context, Communicator &communicator) {
  if (file.empty())
    return;
  auto tuning = std::make_shared<ProductTuning>(
      file,
      cuda::ProductProcessor{parts.device->describe(), cublasLtGetVersion()},
      timerOf(*parts.device, (*parts.queues)[Stream::Compute]), communicator);
  context.products = &tuning->choices();
  parts.afterPlan = [tuning] { return tuning->finish(); };
}

/// Before anything else: threads that are started, and memory that is taken,
/// follow this one's.
void stayNearDevice(const BackendSetup &setup, int device, int rank) {
  if (!setup.options.near)
    return;
  const std::string address = addressOfCudaDevice(device);
  const std::string where =
      stayNear(findNearby("/sys/bus/pci/devices", address));
  if (setup.tell)
    setup.tell("rank " + std::to_string(rank) + ": GPU " +
               std::to_string(device) + " at " + address + ": " + where);
}

/// A queue that shares a connection to the device with another one may wait for
/// its work: of 8, which is CUDA's default, messages between stages and what
/// they wait for would share some. CUDA reads the variable with its first use
/// of the device.
void allowManyQueues() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  });
}

} // namespace

BackendMaker zrt::cudaBackends(const void *image) {
  return [image](const BackendSetup &setup, Communicator &communicator,
                 int localRanks) -> std::unique_ptr<Backend> {
    if (setup.program.pipeline.isCut())
      allowManyQueues();
    DeviceParts parts;
    const int device = deviceOf(setup, communicator);
    parts.device = makeCudaDevice(device);
    stayNearDevice(setup, device, communicator.rank());
    parts.queues = std::make_unique<Queues>(*parts.device);
    parts.collectives = makeCollectives(setup, *parts.device, communicator);
    auto context =
        std::make_shared<OwnedContext>(image, (*parts.queues)[Stream::Compute]);
    tuneProducts(setup.options.tuneProducts, parts, *context, communicator);
    parts.context.cuda = context.get();
    parts.context.generated = setup.generated;
    parts.context.generatedCount = setup.generatedCount;
    parts.owned = std::move(context);
    parts.makeKernel = makeCudaKernel;
    parts.eager = setup.options.eager;
    parts.graph = setup.options.graph;
    parts.timeoutSeconds = setup.options.timeout;
    parts.tell = setup.tell;
    parts.host = &communicator;
    parts.nvmePath = setup.options.nvmePath;
    parts.hostRoom = roomBesideArenas(setup, /*isForDevice=*/true, localRanks);
    return std::make_unique<DeviceBackend>(setup.program, std::move(parts));
  };
}

std::string zrt::cudaAttention() { return cuda::attentionText(); }
