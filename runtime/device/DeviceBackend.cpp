#include "device/DeviceBackend.h"

#include "communicator/Operation.h"
#include "io/Together.h"
#include "program/ByteCount.h"

#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

using namespace zrt;

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAlignment = 256;

constexpr size_t padded(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The sums of losses and weights, to which a stage without the loss adds
/// nothing.
constexpr size_t kSumBytes = 2 * sizeof(double);
static_assert(offsetof(Control, weightSum) ==
              offsetof(Control, lossSum) + sizeof(double));

/// Where each input is in a packet, and the bytes of one: behind the host's
/// part of the control block as in their arena, so that one copy moves all of
/// them. Inputs of a pipeline are in the stash, each in a place of its own.
std::vector<size_t> placesOf(const Program &program) {
  std::vector<size_t> places;
  const auto &bytes = program.arenaBytes[static_cast<size_t>(Arena::Inputs)];
  size_t end = padded(kControlHostBytes) + padded(bytes);
  for (const Input &input : program.inputs) {
    const bool isStashed = input.buffer.arena == Arena::Stash;
    places.push_back(
        isStashed ? end : padded(kControlHostBytes) + input.buffer.offset);
    if (isStashed)
      end += padded(input.buffer.bytes);
  }
  places.push_back(end);
  return places;
}

KernelContext contextOf(const Program &program, const DeviceParts &parts,
                        const Arenas &arenas) {
  KernelContext context = parts.context;
  context.rank = parts.collectives->rank();
  context.sampleIndex = program.sampleIndex(context.rank);
  context.sampleRanks = program.sampleRanks();
  context.program = &program;
  context.control = &arenas.control();
  return context;
}

} // namespace

DeviceBackend::DeviceBackend(const Program &program, DeviceParts given)
    : program(program), parts(std::move(given)), inputsAt(placesOf(program)),
      pinned(*parts.device),
      files(makeFileMemory(program, parts.nvmePath, parts.collectives->rank(),
                           /*faults=*/nullptr, parts.hostRoom)),
      memory(program, *parts.device, parts.collectives->memory(), &pinned,
             files.get()),
      packetBytes(inputsAt.back()),
      allPackets(packetBytes * program.training.accumulation + kSumBytes),
      packets(*parts.device, allPackets),
      returned(*parts.device, sizeof(Control)),
      staged(parts.device->allocate(allPackets, "the micro-batches' inputs")),
      times(*parts.device, *parts.queues, &program),
      communicator(*parts.device, *parts.queues, *parts.collectives, times),
      copies(*parts.device, *parts.queues, times),
      fileCopies(files ? std::make_unique<QueuedFiles>(
                             *parts.device, *parts.queues, times, *files)
                       : nullptr),
      executor(program, memory.addresses(), communicator,
               contextOf(program, parts, memory)),
      begun(parts.device->makeTimer()), finished(parts.device->makeTimer()),
      exceptions(std::uncaught_exceptions()) {
  std::memset(packets.data() + allPackets - kSumBytes, 0, kSumBytes);
  executor.setSideCopies(&copies);
  executor.setFileCopies(fileCopies.get());
  tellHeld(files.get(), parts.collectives->rank(), parts.tell);
  executor.setMark([this](const Command *command) {
    if (command)
      parts.device->beginRange(command->label.c_str());
    times.mark(command);
    if (!command)
      parts.device->endRange();
  });
}

DeviceBackend::~DeviceBackend() {
  // Memory is released only when the device is done with what it holds.
  if (std::uncaught_exceptions() > exceptions)
    giveUp();
  destroyGraphs();
  if (files)
    files->abandon();
  parts.device->destroy(begun);
  parts.device->destroy(finished);
  parts.device->release(staged);
}

/// The graph first: NCCL ends a communicator only when no graph holds it.
void DeviceBackend::giveUp() {
  destroyGraphs();
  parts.collectives->abort();
}

void DeviceBackend::plan() {
  executor.plan(parts.makeKernel, parts.device.get());
  if (parts.afterPlan)
    planned = parts.afterPlan();
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
  for (size_t i = 0; i < program.inputs.size(); ++i)
    inputs.push_back(packet(micro) + inputsAt[i]);
  fill(micro, control, inputs.data());
  std::memcpy(packet(micro), &control, kControlHostBytes);
}

/// Moves a packet's part of the control block to where kernels look.
void DeviceBackend::unpackControl(int micro) {
  parts.device->copy(memory.addresses()[static_cast<size_t>(Arena::Control)],
                     static_cast<char *>(staged) + micro * packetBytes,
                     kControlHostBytes, compute());
}

/// The same for the inputs.
void DeviceBackend::unpackInputs(int micro) {
  const char *from = static_cast<char *>(staged) + micro * packetBytes;
  if (memory.bytes(Arena::Inputs))
    parts.device->copy(memory.addresses()[static_cast<size_t>(Arena::Inputs)],
                       from + padded(kControlHostBytes),
                       memory.bytes(Arena::Inputs), compute());
  const uint32_t place = uint32_t(micro) % executor.countPlaces();
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const BufferRef &buffer = program.inputs[i].buffer;
    if (buffer.arena == Arena::Stash)
      parts.device->copy(executor.addressFor(place, buffer), from + inputsAt[i],
                         buffer.bytes, compute());
  }
}

void DeviceBackend::runStep() {
  executor.startPostponed();
  if (program.pipeline.isCut())
    return runStage();
  const int64_t last = program.training.accumulation - 1;
  endsMicros = true;
  for (int micro = 0; micro <= last; ++micro) {
    unpackControl(micro);
    unpackInputs(micro);
    executor.runMicro(micro);
    endsMicros &= micro == last || executor.isIdle();
  }
  executor.runApply();
}

/// As `HostBackend` runs a stage.
void DeviceBackend::runStage() {
  auto *control = static_cast<char *>(
      memory.addresses()[static_cast<size_t>(Arena::Control)]);
  parts.device->copy(control + offsetof(Control, lossSum),
                     static_cast<char *>(staged) + allPackets - kSumBytes,
                     kSumBytes, compute());
  for (const Turn &turn : program.pipeline.order) {
    unpackControl(int(turn.micro));
    if (!turn.isBackward && turn.chunk == 0)
      unpackInputs(int(turn.micro));
    executor.run(turn);
  }
  executor.runApply();
}

bool DeviceBackend::canBeGraph() const {
  return !parts.eager && parts.collectives->isCapturable() && !times.isOn();
}

/// The first update runs as it is, so that libraries load and connect what they
/// need; the second becomes the graphs that it and all others launch.
bool DeviceBackend::isGraph() const { return canBeGraph() && updates > 0; }

void DeviceBackend::launchStep() {
  executor.setPostpones(canBeGraph());
  if (isGraph()) {
    executor.waitForStarted();
    if (!graphs.empty() || tryCapture())
      return launchGraphs();
    executor.setPostpones(false);
  }
  const Traffic before = executor.traffic();
  runStep();
  sent += executor.traffic() - before;
}

/// A command that fails is named where it is queued; in a graph, nothing is.
void DeviceBackend::runUpdate() {
  const bool hadGraph = !graphs.empty() && isGraph();
  try {
    launchStep();
    ++updates;
    bringBack();
  } catch (const CommunicationError &) {
    throw;
  } catch (const FileError &) { // It has a name in a graph, too.
    throw;
  } catch (const std::exception &error) {
    if (!hadGraph)
      throw;
    throw std::runtime_error(std::string("the step's graph: ") + error.what() +
                             "; --eager names the command");
  }
}

void DeviceBackend::update(const FillMicro &fill) {
  for (int micro = 0; micro < program.training.accumulation; ++micro)
    fillPacket(micro, fill);
  if (times.isOn()) // of which only this update's operations are reported
    drain();
  times.beginUpdate();
  parts.device->record(begun, compute());
  parts.device->copy(staged, packets.data(), allPackets, compute());
  runUpdate();
  secondsOfUpdate = parts.device->elapsed(begun, finished);
  // What runs on into the next update has its times then.
  if (times.isOn()) {
    drain();
    times.report();
  }
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
    const std::chrono::duration<double> waited = Clock::now() - begin;
    if (parts.timeoutSeconds > 0 && waited.count() > parts.timeoutSeconds) {
      giveUp();
      throw CommunicationError("the device has not finished what it was given "
                               "within " +
                               formatSeconds(parts.timeoutSeconds) +
                               " (--timeout): a peer may have failed");
    }
    std::this_thread::yield();
  }
  parts.collectives->check();
  if (fileCopies)
    fileCopies->check();
}

std::vector<std::string> DeviceBackend::choices() const {
  std::vector<std::string> lines = executor.choices();
  if (!planned.empty())
    lines.push_back(planned);
  if (files)
    lines.push_back("states in files: " + files->describe());
  return lines;
}

void DeviceBackend::evaluate(const FillMicro &fill) {
  // Gathers of updated parameters may still run for the next micro-batch.
  executor.drain();
  fillPacket(0, fill);
  parts.device->copy(staged, packets.data(), packetBytes, compute());
  unpackControl(0);
  unpackInputs(0);
  const Traffic before = executor.traffic();
  executor.runEvaluate();
  sent += executor.traffic() - before;
  bringBack();
}

void DeviceBackend::setCommandHook(Executor::CommandHook hook) {
  times.setCommandHook(std::move(hook));
}

std::string DeviceBackend::describe() const {
  return parts.device->describe() + "; " + parts.collectives->describe() +
         "; " + formatBytes(parts.device->bytesInUse()) +
         " of its memory in use";
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
