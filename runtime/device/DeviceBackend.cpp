#include "device/DeviceBackend.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

using namespace zrt;

namespace {

using Clock = std::chrono::steady_clock;

/// How long the device may take for what is queued before it is an error.
constexpr auto kPatience = std::chrono::minutes(10);

constexpr size_t kAlignment = 256;

constexpr size_t padded(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The inputs' place in a packet: behind the host's part of the control block.
constexpr size_t kInputsAt = padded(kControlHostBytes);

KernelContext contextOf(const Program &program, const DeviceParts &parts,
                        const Arenas &arenas) {
  KernelContext context = parts.context;
  context.rank = parts.collectives->rank();
  context.ranks = parts.collectives->ranks();
  context.program = &program;
  context.control = &arenas.control();
  return context;
}

Traffic operator+(Traffic sum, const Traffic &more) {
  for (size_t i = 0; i < sum.elements.size(); ++i) {
    sum.elements[i] += more.elements[i];
    sum.bytes[i] += more.bytes[i];
  }
  return sum;
}

} // namespace

DeviceBackend::DeviceBackend(const Program &program, DeviceParts given)
    : program(program), parts(std::move(given)), memory(program, *parts.device),
      packetBytes(kInputsAt + padded(memory.bytes(Arena::Inputs))),
      packets(*parts.device, packetBytes * program.training.accumulation),
      returned(*parts.device, sizeof(Control)),
      staged(parts.device->allocate(packetBytes * program.training.accumulation,
                                    "the micro-batches' inputs")),
      communicator(*parts.device, *parts.queues, *parts.collectives),
      executor(program, memory.addresses(), communicator,
               contextOf(program, parts, memory)),
      finished(parts.device->makeEvent()) {
  executor.setMark([this](const Command *command) {
    if (command)
      parts.device->beginRange(command->label.c_str());
    else
      parts.device->endRange();
  });
}

DeviceBackend::~DeviceBackend() {
  if (step)
    parts.device->destroy(step);
  parts.device->destroy(finished);
  parts.device->release(staged);
}

void DeviceBackend::plan() {
  executor.plan(parts.makeKernel, parts.device.get());
}

void DeviceBackend::initialize() {
  memory.read(returned.data(), &memory.control(), sizeof(Control));
  executor.runInitialize();
  sent = executor.traffic();
}

const Control &DeviceBackend::control() const {
  return *reinterpret_cast<const Control *>(returned.data());
}

void DeviceBackend::fillPacket(int micro, const FillMicro &fill) {
  Control control = this->control();
  std::vector<void *> inputs;
  const auto *arena = static_cast<char *>(
      memory.addresses()[static_cast<size_t>(Arena::Inputs)]);
  for (const Input &input : program.inputs)
    inputs.push_back(
        packet(micro) + kInputsAt +
        (static_cast<char *>(executor.address(input.buffer)) - arena));
  fill(micro, control, inputs.data());
  std::memcpy(packet(micro), &control, kControlHostBytes);
}

/// Moves a packet, which is on the device, to where kernels look.
void DeviceBackend::unpack(int micro) {
  const char *from = static_cast<char *>(staged) + micro * packetBytes;
  const auto addresses = memory.addresses();
  parts.device->copy(addresses[static_cast<size_t>(Arena::Control)], from,
                     kControlHostBytes, compute());
  if (memory.bytes(Arena::Inputs))
    parts.device->copy(addresses[static_cast<size_t>(Arena::Inputs)],
                       from + kInputsAt, memory.bytes(Arena::Inputs),
                       compute());
}

void DeviceBackend::runStep() {
  for (int micro = 0; micro < program.training.accumulation; ++micro) {
    unpack(micro);
    executor.runMicro(micro);
  }
  executor.runApply();
}

/// The first update runs as it is, so that libraries load and connect what they
/// need; the second becomes the graph that it and all others launch.
void DeviceBackend::launchStep() {
  const Traffic before = executor.traffic();
  const bool isGraph =
      !parts.eager && parts.collectives->isCapturable() && updates > 0;
  if (!isGraph) {
    runStep();
    sent = sent + (executor.traffic() - before);
    return;
  }
  if (!step) {
    executor.drain();
    parts.device->beginCapture(compute());
    runStep();
    // A graph ends with all that it began.
    executor.drain();
    step = parts.device->endCapture(compute());
    sentInStep = executor.traffic() - before;
  }
  parts.device->launch(step, compute());
  sent = sent + sentInStep;
}

void DeviceBackend::update(const FillMicro &fill) {
  const int accumulation = program.training.accumulation;
  for (int micro = 0; micro < accumulation; ++micro)
    fillPacket(micro, fill);
  parts.device->copy(staged, packets.data(), packetBytes * accumulation,
                     compute());
  launchStep();
  ++updates;
  bringBack();
}

/// The control block comes to the host.
void DeviceBackend::bringBack() {
  parts.device->copy(returned.data(), &memory.control(), sizeof(Control),
                     compute());
  finish();
}

/// Waits for what compute holds, and for what a peer may have to say.
void DeviceBackend::finish() {
  parts.device->record(finished, compute());
  const auto begin = Clock::now();
  while (!parts.device->isDone(finished)) {
    parts.collectives->check();
    if (Clock::now() - begin > kPatience) {
      parts.collectives->abort();
      throw CommunicationError("the device has not finished what it was given "
                               "for ten minutes: a peer may have failed");
    }
    std::this_thread::yield();
  }
  parts.collectives->check();
}

void DeviceBackend::evaluate(const FillMicro &fill) {
  // Gathers of updated parameters may still run for the next micro-batch.
  executor.drain();
  fillPacket(0, fill);
  parts.device->copy(staged, packets.data(), packetBytes, compute());
  unpack(0);
  const Traffic before = executor.traffic();
  executor.runEvaluate();
  sent = sent + (executor.traffic() - before);
  bringBack();
}

void DeviceBackend::drain() {
  executor.drain();
  finish();
}

void DeviceBackend::read(const BufferRef &buffer, uint64_t offset, void *to,
                         size_t bytes) {
  memory.read(to, static_cast<char *>(executor.address(buffer)) + offset,
              bytes);
}
