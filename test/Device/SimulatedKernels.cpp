// What simulated devices run: collectives, and the host's kernels.
#include "SimulatedDevice.h"

#include "../Runtime/kernels/UpdateRuleList.h"

using namespace zrt;
using namespace zrt::test;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void SimulatedCollectives::admit(Collective, Reduction,
                                 const std::vector<Transfer> &parts) const {
  if (parts.empty())
    throw std::invalid_argument("a collective without parts");
}

void *SimulatedCollectives::allocate(uint64_t bytes, const char *what) {
  ++device.counts.registered;
  void *address = device.allocate(bytes, what);
  known[static_cast<char *>(address)] = bytes;
  return address;
}

void SimulatedCollectives::release(void *address) {
  known.erase(static_cast<char *>(address));
  device.release(address);
}

void SimulatedCollectives::requireKnown(const void *address,
                                        size_t bytes) const {
  if (parent)
    return parent->requireKnown(address, bytes);
  if (known.empty() || !bytes)
    return;
  const auto *begin = static_cast<const char *>(address);
  auto after = known.upper_bound(begin);
  if (after != known.begin()) {
    const auto &[start, size] = *std::prev(after);
    if (begin + bytes <= start + size)
      return;
  }
  throw Misuse("a collective works on memory that it does not know");
}

std::unique_ptr<CollectiveQueue>
SimulatedCollectives::makeGroup(const Mesh &mesh, uint32_t group) {
  return std::make_unique<SimulatedCollectives>(*this,
                                                host.makeGroup(mesh, group));
}

void SimulatedCollectives::enqueue(Stream, Device::Queue queue, Collective kind,
                                   Reduction reduction,
                                   const std::vector<Transfer> &parts) {
  ++device.counts.collectives;
  device.counts.parts += int64_t(parts.size());
  std::vector<Access> accesses;
  for (const Transfer &part : parts) {
    const size_t bytes = part.count * sizeOf(part.type);
    const size_t sent = sendsToEach(kind) ? bytes * ranks() : bytes;
    const size_t got = receivesFromEach(kind) ? bytes * ranks() : bytes;
    accesses.push_back({part.send, sent, false});
    // What is reduced in place may be overwritten on the way.
    if (kind == Collective::ReduceScatter)
      accesses.push_back({part.send, sent, true});
    accesses.push_back({part.receive, got, true});
  }
  for (const Access &access : accesses)
    requireKnown(access.address, access.bytes);
  device.run(
      queue, nameOf(kind), std::move(accesses),
      [this, kind, reduction, parts] { host.run(kind, reduction, parts); });
}

/// What is sent leaves at once, as from a device whose peers are never late;
/// `check` waits until it was taken.
uint64_t SimulatedCollectives::enqueueMessage(Device::Queue queue,
                                              Collective kind,
                                              const Transfer &message) {
  ++device.counts.messages;
  const bool isSend = kind == Collective::Send;
  const void *place = isSend ? message.send : message.receive;
  const size_t bytes = message.count * sizeOf(message.type);
  device.run(queue, nameOf(kind), {{place, bytes, !isSend}},
             [this, kind, isSend, message, bytes] {
               if (!isSend)
                 return host.run(kind, Reduction::Sum, {message});
               Sent &made = sent->emplace_back();
               made.bytes.assign(static_cast<const char *>(message.send),
                                 bytes);
               Transfer copy = message;
               copy.send = made.bytes.data();
               made.host = &host;
               made.ticket = host.start(kind, Reduction::Sum, {copy});
             });
  return 0;
}

void SimulatedCollectives::check() {
  host.checkPeers();
  for (; !sent->empty(); sent->pop_front())
    sent->front().host->wait(sent->front().ticket);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

/// How many of a kernel's buffers it only reads. The `zero` operations list
/// all of theirs as operands.
size_t countReads(const KernelSpec &spec) {
  const std::map<std::string, size_t> reads = {{"zero.copy", 1},
                                               {"zero.accumulate", 1},
                                               {"zero.clear", 0},
                                               {"zero.grad_stats", 1}};
  auto it = reads.find(spec.name);
  for (const ListedRule &rule : listUpdateRules())
    if (spec.name == rule.name)
      return 1; // the gradient
  return it == reads.end() ? spec.operands.size() : it->second;
}

bool writesControl(const std::string &name) {
  return name == "zero.record_loss" || name == "zero.grad_stats" ||
         name == "zero.grad_scale" || name == "zero.update_scale";
}

class SimulatedKernel final : public Kernel {
public:
  SimulatedKernel(const KernelSpec &spec, std::unique_ptr<Kernel> inner,
                  SimulatedDevice &device, Device::Queue queue,
                  Control *control)
      : spec(spec), inner(std::move(inner)), device(device), queue(queue),
        control(control) {}

  size_t workspaceBytes() const override {
    return inner ? inner->workspaceBytes() : 0;
  }

  void run(void *const *buffers, void *workspace) override {
    ++device.counts.kernels;
    std::vector<TensorType> types = spec.operands;
    types.insert(types.end(), spec.results.begin(), spec.results.end());
    std::vector<Access> accesses;
    const size_t reads = countReads(spec);
    for (size_t i = 0; i < types.size(); ++i)
      accesses.push_back({buffers[i], types[i].span(), i >= reads});
    if (spec.name.rfind("zero.", 0) == 0 || spec.has("id"))
      accesses.push_back({control, sizeof(Control), writesControl(spec.name)});
    if (workspaceBytes())
      accesses.push_back({workspace, workspaceBytes(), true});
    std::vector<void *> addresses(buffers, buffers + types.size());
    device.run(queue, spec.name, std::move(accesses),
               [this, addresses, workspace] {
                 inner->run(addresses.data(), workspace);
               });
  }

private:
  KernelSpec spec;
  std::unique_ptr<Kernel> inner;
  SimulatedDevice &device;
  Device::Queue queue;
  Control *control;
};

} // namespace

KernelMaker zrt::test::simulatedKernels(SimulatedDevice &device,
                                        Device::Queue queue) {
  return
      [&device, queue](const KernelSpec &spec, const KernelContext &context) {
        return std::make_unique<SimulatedKernel>(
            spec, device.executes ? makeHostKernel(spec, context) : nullptr,
            device, queue, context.control);
      };
}
