// Runs a compiled program on simulated devices and on the host, and compares
// everything that they leave: the device's path must compute what the host's
// does, with every access ordered and in bounds.
//
//   zero-device-check [--eager] [--graph] [--record] [--trace FILE]
//                     [--capture-limit N] program.so
//   zero-device-check --calibrate FILE program.so
//
// With --record nothing is computed: order, streams, events and bounds only,
// of models of any size. With --capture-limit the last rank cannot make a graph
// of more operations.
#include "../Runtime/trainer/ProgramLibrary.h"
#include "SimulatedDevice.h"

#include "communicator/InProcess.h"
#include "device/DeviceBackend.h"
#include "engine/HostBackend.h"
#include "program/Trace.h"
#include "report/Calibrate.h"
#include "report/Texts.h"
#include "report/TraceLog.h"
#include "state/Initialize.h"
#include "trainer/Run.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <thread>

using namespace zrt;
using namespace zrt::test;
using zrt::testing::ProgramLibrary;

namespace {

constexpr int kUpdates = 4, kSeed = 7;
/// Updates after which parameters are complete, as for a checkpoint, which the
/// next one then finds otherwise than the others do.
constexpr int kUpdatesUntilDrain = 3;

/// What a run leaves: the bytes of the states and the losses' bits.
struct Outcome {
  std::string states;
  std::vector<double> losses;
  Traffic traffic;
  std::string events; ///< of a trace
};

/// Small numbers that follow from the rank's samples, update, micro-batch and
/// place: they are ids of every vocabulary. No `inputs`: they are there.
void fillInputs(const Program &program, int rank, int update, int micro,
                void *const *inputs) {
  if (!inputs)
    return;
  const int samples = int(program.sampleIndex(rank));
  uint32_t state = uint32_t(((update * 31 + micro) * 31 + samples) * 31 + 1);
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const TensorType &type = program.inputs[i].type;
    std::memset(inputs[i], 0, type.bytes());
    for (int64_t j = 0; j < type.elements(); ++j) {
      state = state * 1664525u + 1013904223u;
      const uint32_t value = (state >> 16) % 8;
      if (type.type == DataType::I32)
        static_cast<int32_t *>(inputs[i])[j] = int32_t(value);
      else if (type.type == DataType::I64)
        static_cast<int64_t *>(inputs[i])[j] = value;
      else if (type.type == DataType::F32)
        static_cast<float *>(inputs[i])[j] = float(value) / 8;
    }
  }
}

/// Every update is in `log`, where there is one.
Outcome train(const Program &program, Backend &backend, int rank,
              TraceLog *log = nullptr) {
  Outcome outcome;
  if (log)
    backend.setCommandHook(log->hook());
  backend.plan();
  const Arenas &arenas = backend.arenas();
  initializeControl(program, arenas, kSeed);
  initializeConstants(program, arenas, rank);
  initializeParameters(program, arenas, rank, kSeed, nullptr);
  backend.initialize();
  for (int update = 0; update < kUpdates; ++update) {
    if (log)
      log->beginUpdate(update + 1);
    backend.update([&](int micro, Control &control, void *const *inputs) {
      std::fill_n(control.learningRate, kMaxGroups, 1e-2f);
      control.evaluating = 0;
      control.microIndex = micro;
      control.batch = uint64_t(update) * program.training.accumulation + micro;
      fillInputs(program, rank, update, micro, inputs);
    });
    if (log)
      log->endUpdate();
    if (update + 1 == kUpdatesUntilDrain)
      backend.drain();
    outcome.losses.push_back(backend.control().lossSum);
    outcome.losses.push_back(backend.control().norm);
  }
  backend.evaluate([&](int, Control &control, void *const *inputs) {
    control.evaluating = 1;
    control.microIndex = 0;
    fillInputs(program, rank, 0, 0, inputs);
  });
  backend.drain();
  for (Tier tier : {Tier::Device, Tier::Host, Tier::File})
    for (Arena arena : {Arena::Parameters, Arena::Optimizer}) {
      std::string bytes(arenas.bytes(arena, tier), '\0');
      if (!bytes.empty())
        arenas.read(bytes.data(), arenas.addresses()[spaceOf(arena, tier)],
                    bytes.size());
      outcome.states += bytes;
    }
  outcome.traffic = backend.traffic();
  if (log)
    outcome.events = log->events(rank);
  return outcome;
}

/// The same calls, but for values.
Outcome record(const Program &program, Backend &backend) {
  const FillMicro nothing = [](int, Control &, void *const *) {};
  backend.plan();
  backend.initialize();
  for (int update = 0; update < kUpdates; ++update)
    backend.update(nothing);
  backend.evaluate(nothing);
  backend.drain();
  Outcome outcome;
  outcome.traffic = backend.traffic();
  for (int kind = 0; kind < kCountOf<TrafficClass>; ++kind)
    if (outcome.traffic.elements[kind] <
        kUpdates * program.expectedTraffic[kind])
      throw std::runtime_error("sent less than the program says");
  return outcome;
}

struct Settings {
  bool eager = false, record = false, graph = false;
  /// Operations after which the last rank's capture fails; negative: none does.
  int64_t captureLimit = -1;
  const char *path = nullptr, *trace = nullptr, *calibrate = nullptr;
};

/// What of a library a simulated device runs: the program may be another.
struct Parts {
  const Program &program;
  const GeneratedKernel *kernels;
  int64_t kernelCount;
};

struct Simulated {
  SimulatedDevice *device; ///< the backend's
  std::unique_ptr<DeviceBackend> backend;
};

Simulated makeSimulated(const Parts &from, Communicator &communicator,
                        ThreadPool &pool, const Settings &settings) {
  DeviceParts parts;
  auto device = std::make_unique<SimulatedDevice>(!settings.record);
  SimulatedDevice *calls = device.get();
  parts.device = std::move(device);
  parts.queues = std::make_unique<Queues>(*calls);
  parts.collectives =
      std::make_unique<SimulatedCollectives>(*calls, communicator);
  parts.makeKernel = simulatedKernels(*calls, (*parts.queues)[Stream::Compute]);
  parts.context.pool = &pool;
  parts.context.generated = from.kernels;
  parts.context.generatedCount = from.kernelCount;
  parts.eager = settings.eager;
  parts.graph = settings.graph;
  if (communicator.rank() + 1 == communicator.ranks())
    calls->captureLimit = settings.captureLimit;
  parts.tell = [](const std::string &what) {
    std::printf("remark: %s\n", what.c_str());
  };
  parts.host = &communicator;
  return {calls,
          std::make_unique<DeviceBackend>(from.program, std::move(parts))};
}

/// One rank on a simulated device; prints the calls of the first.
Outcome trainSimulated(const ProgramLibrary &library,
                       Communicator &communicator, const Settings &settings) {
  ThreadPool pool(1);
  const Program &program = library.programOf(communicator.rank());
  const Simulated made =
      makeSimulated({program, library.kernels, library.kernelCount},
                    communicator, pool, settings);
  DeviceBackend &backend = *made.backend;
  const SimulatedDevice &calls = *made.device;
  TraceLog log(program, kUpdates, backend.timesOperations());
  Outcome outcome = settings.record
                        ? record(program, backend)
                        : train(program, backend, communicator.rank(),
                                settings.trace ? &log : nullptr);
  if (communicator.rank() == 0) {
    const CallCounts &c = calls.counts;
    std::printf("kernels %lld, collectives %lld of %lld parts, copies %lld\n"
                "records %lld, waits %lld, host waits %lld\n"
                "captures %lld, launches %lld, ranges %lld, messages %lld\n",
                (long long)c.kernels, (long long)c.collectives,
                (long long)c.parts, (long long)c.copies, (long long)c.records,
                (long long)c.waits, (long long)c.hostWaits,
                (long long)c.captures, (long long)c.launches,
                (long long)c.ranges, (long long)c.messages);
  }
  return outcome;
}

Outcome trainOnHost(const ProgramLibrary &library, Communicator &communicator) {
  BackendOptions options;
  options.threads = 1;
  const Program &program = library.programOf(communicator.rank());
  HostBackend backend({program, options, library.kernels, library.kernelCount},
                      communicator, program.training.ranks, makeHostKernel);
  return train(program, backend, communicator.rank());
}

/// Calls `body` on a thread for each rank; rethrows the first failure.
template <typename Body> std::vector<Outcome> onRanks(int ranks, Body body) {
  auto communicators = makeInProcess(ranks);
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::string failure;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        outcomes[size_t(rank)] = body(*communicators[size_t(rank)]);
      } catch (const std::exception &error) {
        std::lock_guard<std::mutex> lock(mutex);
        if (failure.empty())
          failure = error.what();
        communicators[size_t(rank)]->abort(error.what());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  if (!failure.empty())
    throw std::runtime_error(failure);
  return outcomes;
}

/// Writes the machine file that the executable's --calibrate would.
int calibrateSimulated(const ProgramLibrary &library,
                       const Settings &settings) {
  BackendOptions options;
  options.threads = 1;
  const int ranks = library.programOf(0).training.ranks;
  ThreadPool pool(1);
  const BackendMaker makeBackend = [&](const BackendSetup &setup,
                                       Communicator &communicator, int) {
    return makeSimulated({setup.program, setup.generated, setup.generatedCount},
                         communicator, pool, settings)
        .backend;
  };
  const CalibrationRun run{
      {library.programOf(0), options, library.kernels, library.kernelCount},
      makeBackend,
      /*seed=*/0,
      settings.calibrate,
      std::cout};
  onRanks(ranks, [&](Communicator &communicator) {
    calibrate(run, communicator, ranks);
    return Outcome();
  });
  return 0;
}

int check(const Settings &settings) {
  const ProgramLibrary library(settings.path);
  const int ranks = library.programOf(0).training.ranks;
  if (settings.calibrate)
    return calibrateSimulated(library, settings);
  if (settings.record) {
    onRanks(ranks, [&](Communicator &communicator) {
      return trainSimulated(library, communicator, settings);
    });
    std::printf("ranks %d, updates %d: in order and in bounds\n", ranks,
                kUpdates);
    return 0;
  }
  const auto host = onRanks(ranks, [&](Communicator &communicator) {
    return trainOnHost(library, communicator);
  });
  const auto device = onRanks(ranks, [&](Communicator &communicator) {
    return trainSimulated(library, communicator, settings);
  });
  if (settings.trace) {
    std::vector<std::string> events;
    for (const Outcome &outcome : device)
      events.push_back(outcome.events);
    writeText(settings.trace, traceFile(events));
  }
  bool equal = true;
  for (int rank = 0; rank < ranks; ++rank) {
    const Outcome &left = host[size_t(rank)], &right = device[size_t(rank)];
    equal &= left.states == right.states &&
             std::memcmp(left.losses.data(), right.losses.data(),
                         left.losses.size() * sizeof(double)) == 0 &&
             left.traffic.elements == right.traffic.elements;
  }
  std::printf("ranks %d, updates %d, states %zu bytes: %s\n", ranks, kUpdates,
              host.front().states.size(),
              equal ? "equal bit by bit" : "DIFFERENT");
  return equal ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--eager") == 0)
      settings.eager = true;
    else if (std::strcmp(argv[i], "--graph") == 0)
      settings.graph = true;
    else if (std::strcmp(argv[i], "--capture-limit") == 0 && i + 1 < argc)
      settings.captureLimit = std::atoll(argv[++i]);
    else if (std::strcmp(argv[i], "--record") == 0)
      settings.record = true;
    else if (std::strcmp(argv[i], "--trace") == 0 && i + 1 < argc)
      settings.trace = argv[++i];
    else if (std::strcmp(argv[i], "--calibrate") == 0 && i + 1 < argc)
      settings.calibrate = argv[++i];
    else
      settings.path = argv[i];
  if (!settings.path) {
    std::fprintf(stderr, "usage: zero-device-check [--eager] [--record] "
                         "[--trace FILE] program.so\n");
    return 2;
  }
  try {
    return check(settings);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "zero-device-check: error: %s\n", error.what());
    return 2;
  }
}
