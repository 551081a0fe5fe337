#include "engine/HostBackend.h"

#include "engine/MachineMemory.h"
#include "program/Cores.h"
#include "program/QuantizedKernels.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

using namespace zrt;

Backend::~Backend() = default;

void Backend::setCommandHook(Executor::CommandHook) {
  throw std::runtime_error("this processor does not time its commands: run "
                           "without --trace");
}

void Backend::judgeAgain() {
  throw std::runtime_error("this processor does not judge gradients again");
}

std::string Backend::refuseReview() const {
  return "a step of this processor is computed as a whole";
}

void Backend::setReview(Review) { throw std::runtime_error(refuseReview()); }

double Backend::repeatGraph(int64_t) {
  throw std::runtime_error("this processor has no graphs: run without "
                           "--repeat-graph");
}

int zrt::threadsPerRank(int asked, int localRanks) {
  if (asked > 0)
    return asked;
  return std::max(1, coresOfProcess() / localRanks);
}

static KernelContext contextOf(const BackendSetup &setup,
                               Communicator &communicator, ThreadPool &pool,
                               Arenas &arenas) {
  KernelContext context;
  context.rank = communicator.rank();
  context.sampleIndex = setup.program.sampleIndex(communicator.rank());
  context.sampleRanks = setup.program.sampleRanks();
  context.pool = &pool;
  context.control = &arenas.control();
  context.program = &setup.program;
  context.generated = setup.generated;
  context.generatedCount = setup.generatedCount;
  return context;
}

void FileCopies::start(uint32_t ticket, Stream, void *to, const void *from,
                       size_t bytes) {
  if (files.holds(from))
    files.startRead(ticket, to, from, bytes);
  else
    files.startWrite(ticket, to, from, bytes);
}

HostBackend::HostBackend(const BackendSetup &setup, Communicator &communicator,
                         int localRanks, KernelMaker makeKernel)
    : program(setup.program), makeKernel(std::move(makeKernel)),
      pool(threadsPerRank(setup.options.threads, localRanks)),
      files(makeFileMemory(
          setup.program, setup.options.nvmePath, communicator.rank(),
          setup.faults,
          roomBesideArenas(setup, /*isForDevice=*/false, localRanks))),
      fileCopies(files ? std::make_unique<FileCopies>(*files) : nullptr),
      memory(setup.program, /*hugePages=*/false, files.get()),
      executor(setup.program, memory.addresses(), communicator,
               contextOf(setup, communicator, pool, memory)) {
  executor.setFlight(setup.flight);
  executor.setFaults(setup.faults);
  tellHeld(files.get(), communicator.rank(), setup.tell);
}

std::vector<std::string> HostBackend::choices() const {
  std::vector<std::string> lines = executor.choices();
  if (files)
    lines.push_back("states in files: " + files->describe());
  return lines;
}

void HostBackend::plan() {
  executor.setFileCopies(fileCopies.get());
  executor.plan(makeKernel);
  inputs.assign(executor.countPlaces(), {});
  for (uint32_t micro = 0; micro < inputs.size(); ++micro)
    for (const Input &input : program.inputs)
      inputs[micro].push_back(executor.addressFor(micro, input.buffer));
}

HostBackend::~HostBackend() {
  // After a failure, something may still be read to memory that goes away.
  if (files)
    files->abandon();
}

void HostBackend::initialize() { executor.runInitialize(); }

void HostBackend::update(const FillMicro &fill) {
  compute(fill);
  if (review)
    reviewUpdate(fill);
  executor.runApply();
}

void HostBackend::compute(const FillMicro &fill) {
  if (program.pipeline.isCut())
    return computeStage(fill);
  for (int micro = 0; micro < program.training.accumulation; ++micro) {
    fill(micro, memory.control(), inputs.front().data());
    executor.runMicro(micro);
  }
}

/// Inputs are filled for the first forward pass, and stay until the last
/// backward pass.
void HostBackend::computeStage(const FillMicro &fill) {
  // A stage without the loss adds nothing to the sums of all ranks.
  memory.control().lossSum = memory.control().weightSum = 0;
  for (const Turn &turn : program.pipeline.order) {
    fill(int(turn.micro), memory.control(),
         turn.isBackward || turn.chunk > 0
             ? nullptr
             : inputs[turn.micro % inputs.size()].data());
    executor.run(turn);
  }
}

/// What is computed again counts no traffic.
void HostBackend::reviewUpdate(const FillMicro &fill) {
  executor.drain();
  const Traffic sent = executor.traffic();
  review([&] {
    compute(fill);
    executor.drain();
  });
  executor.setTraffic(sent);
}

/// Micro-batches read parameters and write gradients; those that carry
/// something from one to the next do not come out the same again.
std::string HostBackend::refuseReview() const {
  return feedsErrorsBack(program)
             ? "errors of quantized gradients are carried on from each "
               "micro-batch to the next"
             : "";
}

void HostBackend::evaluate(const FillMicro &fill) {
  // Gathers of updated parameters may still run for the next micro-batch.
  executor.drain();
  fill(0, memory.control(), inputs.front().data());
  executor.runEvaluate();
}

void HostBackend::drain() { executor.drain(); }

void HostBackend::setCommandHook(Executor::CommandHook hook) {
  executor.setCommandHook(std::move(hook));
}

void HostBackend::read(const BufferRef &buffer, uint64_t offset, void *to,
                       size_t bytes) {
  std::memcpy(to, static_cast<char *>(executor.address(buffer)) + offset,
              bytes);
}

static uint64_t workspaceOf(const BackendSetup &setup, int localRanks,
                            const KernelMaker &makeKernel) {
  ThreadPool pool(threadsPerRank(setup.options.threads, localRanks));
  KernelContext context;
  context.sampleRanks = setup.program.sampleRanks();
  context.pool = &pool;
  context.program = &setup.program;
  context.generated = setup.generated;
  context.generatedCount = setup.generatedCount;
  uint64_t most = 0;
  for (const KernelSpec &spec : setup.program.kernels) {
    try {
      most =
          std::max<uint64_t>(most, makeKernel(spec, context)->workspaceBytes());
    } catch (const std::exception &) {
      // Told with its command where the run is planned.
    }
  }
  return most;
}

WorkspaceMeter zrt::hostWorkspaces(KernelMaker makeKernel) {
  return [makeKernel = std::move(makeKernel)](const BackendSetup &setup,
                                              int localRanks) {
    return workspaceOf(setup, localRanks, makeKernel);
  };
}

BackendMaker zrt::hostBackends(KernelMaker makeKernel) {
  return [makeKernel = std::move(makeKernel)](
             const BackendSetup &setup, Communicator &communicator,
             int localRanks) -> std::unique_ptr<Backend> {
    return std::make_unique<HostBackend>(setup, communicator, localRanks,
                                         makeKernel);
  };
}
