// Whole runs on a simulated device: packets, graphs and the control
// block's way back are the device's.
#include "../Runtime/engine/BackendUnderTest.h"
#include "SimulatedDevice.h"

#include "device/DeviceBackend.h"
#include "trainer/Run.h"

using namespace zrt;
using namespace zrt::test;

namespace {

/// Queues the test's kernel. What it touches is not known, so nothing is
/// checked.
class QueuedKernel final : public Kernel {
public:
  QueuedKernel(const KernelSpec &spec, std::unique_ptr<Kernel> inner,
               SimulatedDevice &device, Device::Queue queue)
      : name(spec.name), buffers(spec.operands.size() + spec.results.size()),
        inner(std::move(inner)), device(device), queue(queue) {}

  void run(void *const *addresses, void *) override {
    const std::vector<void *> own(addresses, addresses + buffers);
    device.run(queue, name, {},
               [this, own] { inner->run(own.data(), nullptr); });
  }

private:
  std::string name;
  size_t buffers;
  std::unique_ptr<Kernel> inner;
  SimulatedDevice &device;
  Device::Queue queue;
};

} // namespace

BackendMaker zrt::test::backendsUnderTest(KernelMaker makeKernel) {
  return [makeKernel](const BackendSetup &setup, Communicator &communicator,
                      int) -> std::unique_ptr<Backend> {
    DeviceParts parts;
    auto own = std::make_unique<SimulatedDevice>();
    SimulatedDevice &device = *own;
    parts.device = std::move(own);
    parts.queues = std::make_unique<Queues>(device);
    parts.collectives =
        std::make_unique<SimulatedCollectives>(device, communicator);
    const Device::Queue queue = (*parts.queues)[Stream::Compute];
    parts.makeKernel = [&device, queue,
                        makeKernel](const KernelSpec &spec,
                                    const KernelContext &context) {
      return std::make_unique<QueuedKernel>(spec, makeKernel(spec, context),
                                            device, queue);
    };
    parts.host = &communicator;
    parts.context.generated = setup.generated;
    parts.context.generatedCount = setup.generatedCount;
    return std::make_unique<DeviceBackend>(setup.program, std::move(parts));
  };
}
