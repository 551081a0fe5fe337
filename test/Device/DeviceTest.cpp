// The simulated device refuses what a device would not survive, and the pieces
// that run on it do nothing of the kind.
#include "DeviceCollectives.h"
#include "SimulatedDevice.h"

#include "../Runtime/MessageOf.h"

#include "communicator/InProcess.h"
#include "device/DeviceBackend.h"
#include "device/StagedCollectives.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

using namespace zrt;
using namespace zrt::test;

namespace {

/// A device with two queues and two buffers of 64 bytes.
class Simulated : public ::testing::Test {
protected:
  SimulatedDevice device;
  Device::Queue one = device.makeQueue(false), two = device.makeQueue(true);
  Device::Event event = device.makeEvent();
  char *a = static_cast<char *>(device.allocate(64, "a"));
  char *b = static_cast<char *>(device.allocate(64, "b"));
};

TEST_F(Simulated, CopiesInOrder) {
  device.copy(b, a, 64, one);
  device.record(event, one);
  device.wait(two, event);
  device.copy(a, b, 64, two);
  EXPECT_EQ(device.counts.copies, 2);
}

TEST_F(Simulated, SeesAReadBeforeAWriteIsDone) {
  device.copy(b, a, 64, one);
  EXPECT_THROW(device.copy(a + 32, b + 60, 4, two), Misuse);
}

TEST_F(Simulated, SeesAWriteBeforeAReadIsDone) {
  device.copy(b, a, 64, one);
  EXPECT_THROW(device.copy(a, a + 32, 4, two), Misuse);
}

TEST_F(Simulated, AnEventOrdersOnlyWhatCameBeforeIt) {
  device.record(event, one);
  device.copy(b, a, 64, one);
  device.wait(two, event);
  EXPECT_THROW(device.copy(a, b, 64, two), Misuse);
}

TEST_F(Simulated, TheHostOrdersWhatItWaitedFor) {
  device.copy(b, a, 64, one);
  device.synchronize(one);
  device.copy(a, b, 64, two);
}

TEST_F(Simulated, SeesBytesOutsideOfMemory) {
  EXPECT_THROW(device.copy(b + 1, a, 64, one), Misuse);
  EXPECT_THROW(device.copy(b, &event, 8, one), Misuse);
}

TEST_F(Simulated, AGraphRunsWhenItIsLaunched) {
  a[0] = 'x';
  device.beginCapture(one);
  device.copy(b, a, 64, one);
  Device::Graph graph = device.endCapture(one);
  EXPECT_EQ(b[0], 0);
  device.launch(graph, one);
  EXPECT_EQ(b[0], 'x');
}

TEST_F(Simulated, AGraphMustJoinItsQueues) {
  device.beginCapture(one);
  device.record(event, one);
  device.wait(two, event);
  device.copy(b, a, 64, two);
  Device::Graph graph = device.endCapture(one);
  EXPECT_THROW(device.launch(graph, one), Misuse);
}

TEST_F(Simulated, AGraphHasNoEventsFromOutside) {
  device.record(event, one);
  device.beginCapture(one);
  EXPECT_THROW(device.wait(one, event), Misuse);
}

TEST_F(Simulated, TheHostDoesNotWaitInACapture) {
  device.beginCapture(one);
  EXPECT_THROW(device.synchronize(one), Misuse);
}

TEST_F(Simulated, AGraphHasNoTimes) {
  Device::Event timer = device.makeTimer();
  device.beginCapture(one);
  EXPECT_THROW(device.record(timer, one), Misuse);
}

TEST_F(Simulated, TimesAreOfTimersThatAreDone) {
  Device::Event from = device.makeTimer(), to = device.makeTimer();
  device.record(from, one);
  device.copy(b, a, 64, one);
  device.record(to, one);
  EXPECT_THROW(device.elapsed(from, to), Misuse);
  device.synchronize(to);
  EXPECT_GE(device.elapsed(from, to), 0);
  device.record(event, one);
  device.synchronize(event);
  EXPECT_THROW(device.elapsed(from, event), Misuse);
}

TEST_F(Simulated, WorksAgainAfterACaptureThatWasAbandoned) {
  device.beginCapture(one);
  device.record(event, one);
  device.wait(two, event);
  device.copy(b, a, 64, two);
  device.abandonCapture(one);
  device.copy(a, b, 64, two);
  device.beginCapture(one);
  device.destroy(device.endCapture(one));
}

TEST_F(Simulated, AGraphIsOrderedAfterItsLaunchOnly) {
  device.beginCapture(one);
  device.copy(b, a, 64, one);
  Device::Graph graph = device.endCapture(one);
  device.copy(a, b, 64, two);
  EXPECT_THROW(device.launch(graph, one), Misuse);
}

/// A communicator on a device, over the simulated device's collectives.
TEST(StreamCommunicator, StartsAfterComputeAndIsWaitedForByIt) {
  SimulatedDevice device;
  Queues queues(device);
  auto host = makeInProcess(1);
  SimulatedCollectives library(device, *host[0]);
  CommandTimes times(device, queues);
  StreamCommunicator communicator(device, queues, library, times);
  auto *bytes = static_cast<char *>(device.allocate(64, "bytes"));
  auto *other = static_cast<char *>(device.allocate(64, "other"));
  const std::vector<Transfer> parts = {{bytes, bytes, 16, DataType::F32, 0}};
  const Device::Queue compute = queues[Stream::Compute];
  device.copy(bytes, other, 64, compute);
  auto ticket = communicator.startOn(Stream::Reduce, Collective::AllReduce,
                                     Reduction::Sum, parts);
  EXPECT_THROW(device.copy(other, bytes, 64, compute), Misuse);
  communicator.wait(ticket);
  device.copy(other, bytes, 64, compute);
  EXPECT_EQ(device.counts.collectives, 1);
}

TEST(StreamCommunicator, UsesEventsAgain) {
  SimulatedDevice device;
  Queues queues(device);
  LocalCollectives library(device);
  CommandTimes times(device, queues);
  StreamCommunicator communicator(device, queues, library, times);
  for (int i = 0; i < 100; ++i)
    communicator.wait(communicator.startOn(
        Stream::Gather, Collective::AllGather, Reduction::Sum, {}));
  EXPECT_EQ(device.counts.records, 200);
}

/// Ranks meet in host memory, and one that is alone has nobody to send to.
TEST(StreamCommunicator, RefusesWhatDevicesDoNot) {
  SimulatedDevice device;
  Queues queues(device);
  LocalCollectives library(device);
  CommandTimes times(device, queues);
  StreamCommunicator communicator(device, queues, library, times);
  EXPECT_EQ(messageOf([&] { communicator.barrier(); }),
            "a device's communicator has no barrier");
  EXPECT_EQ(messageOf([&] { communicator.split(0, 0); }),
            "a device's communicator is not split");
  EXPECT_EQ(messageOf([&] {
              library.enqueueMessage(queues[Stream::Compute], Collective::Send,
                                     {});
            }),
            "send of a rank alone");
}

TEST(PinnedMemory, SaysWhatCannotBeHad) {
  SimulatedDevice device;
  device.pinnedLimit = 4096;
  PinnedMemory memory(device);
  memory.release(memory.allocate(4096, "arena 'optimizer'"));
  EXPECT_EQ(messageOf([&] { memory.allocate(4097, "arena 'optimizer'"); }),
            "arena 'optimizer': cannot have 4097 bytes of pinned memory: out "
            "of memory");
}

TEST(QueuedCopies, RunBesideComputeUntilTheirWait) {
  SimulatedDevice device;
  Queues queues(device);
  CommandTimes times(device, queues);
  QueuedCopies copies(device, queues, times);
  auto *value = static_cast<char *>(device.allocate(64, "value"));
  auto *other = static_cast<char *>(device.allocate(64, "other"));
  auto *away = static_cast<char *>(device.allocatePinned(64));
  const Device::Queue compute = queues[Stream::Compute];
  // After what made the value, in two pieces of one ticket.
  device.copy(value, other, 64, compute);
  copies.start(3, Stream::Copy, away, value, 32);
  copies.start(3, Stream::Copy, away + 32, value + 32, 32);
  EXPECT_THROW(device.copy(value, other, 64, compute), Misuse);
  EXPECT_THROW(copies.start(4, Stream::Upload, other, away, 64), Misuse);
  copies.wait(3);
  device.copy(value, other, 64, compute);
  copies.start(4, Stream::Upload, other, away, 64);
  EXPECT_THROW(device.copy(value, other, 64, compute), Misuse);
  copies.wait(4);
  copies.wait(4);
  device.copy(value, other, 64, compute);
  device.releasePinned(away);
}

/// Every kind through the host, against what it must be.
TEST(StagedCollectives, DoEveryKindAsTheHostDoes) {
  constexpr int ranks = 3;
  constexpr uint64_t count = 5;
  auto host = makeInProcess(ranks);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> sums(ranks), gathers(ranks), scatters(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      SimulatedDevice device;
      Device::Queue queue = device.makeQueue(false);
      StagedCollectives library(device, *host[size_t(rank)]);
      auto *x = static_cast<float *>(
          device.allocate(ranks * count * sizeof(float), "x"));
      auto *y = static_cast<float *>(
          device.allocate(ranks * count * sizeof(float), "y"));
      for (uint64_t i = 0; i < ranks * count; ++i)
        x[i] = float(rank * 100 + int(i));
      auto run = [&](Collective kind, float *send, float *receive) {
        library.enqueue(Stream::Gather, queue, kind, Reduction::Sum,
                        {{send, receive, count, DataType::F32, 0}});
      };
      run(Collective::AllReduce, x, y);
      sums[size_t(rank)].assign(y, y + count);
      run(Collective::AllGather, x, y);
      gathers[size_t(rank)].assign(y, y + ranks * count);
      run(Collective::ReduceScatter, x, x + uint64_t(rank) * count);
      scatters[size_t(rank)].assign(x + uint64_t(rank) * count,
                                    x + uint64_t(rank + 1) * count);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int rank = 0; rank < ranks; ++rank)
    for (uint64_t i = 0; i < count; ++i) {
      EXPECT_EQ(sums[size_t(rank)][i], 300 + 3 * float(i));
      EXPECT_EQ(scatters[size_t(rank)][i],
                300 + 3 * float(uint64_t(rank) * count + i));
      for (int from = 0; from < ranks; ++from)
        EXPECT_EQ(gathers[size_t(rank)][uint64_t(from) * count + i],
                  float(from * 100) + float(i));
    }
}

TEST(DeviceCollectives, OfTheSimulatedDevice) {
  for (int ranks : {1, 2})
    checkCollectives(ranks,
                     {[](int) { return std::make_unique<SimulatedDevice>(); },
                      [](Device &device, Communicator &host) {
                        return std::make_unique<SimulatedCollectives>(
                            static_cast<SimulatedDevice &>(device), host);
                      }});
}

TEST(DeviceCollectives, ThroughTheHost) {
  for (int ranks : {1, 2})
    checkCollectives(
        ranks, {[](int) { return std::make_unique<SimulatedDevice>(); },
                [](Device &device, Communicator &host) {
                  return std::make_unique<StagedCollectives>(device, host);
                }});
}

/// A program of one kernel, one collective that runs on beside it, and one
/// rank; the kernel fails in a given update.
class OneKernel : public ::testing::Test {
protected:
  static constexpr uint64_t kBytes = 64;

  OneKernel() {
    program.training.accumulation = 2;
    program.arenaBytes[size_t(Arena::Activations)] = kBytes;
    program.arenaBytes[size_t(Arena::Communication)] = kBytes;
    BufferRef buffer;
    buffer.bytes = kBytes;
    KernelSpec spec;
    spec.name = "test";
    spec.results = {{DataType::F32, {kBytes / 4}}};
    program.kernels = {spec};
    Command kernel;
    kernel.buffers = {buffer};
    Command start;
    start.opcode = Opcode::Start;
    start.collective = Collective::AllReduce;
    start.stream = Stream::Reduce;
    buffer.arena = Arena::Communication;
    start.parts = {{buffer, buffer, kBytes / 4, DataType::F32, 0}};
    Command wait;
    wait.opcode = Opcode::Wait;
    program.micro.commands = {start, kernel, wait};
    make(/*graph=*/false);
  }

  void make(bool graph) {
    auto own = std::make_unique<SimulatedDevice>();
    device = own.get();
    DeviceParts parts;
    parts.device = std::move(own);
    parts.queues = std::make_unique<Queues>(*device);
    auto library = std::make_unique<SimulatedCollectives>(*device, *hosts[0]);
    collectives = library.get();
    parts.collectives = std::move(library);
    const Device::Queue queue = (*parts.queues)[Stream::Compute];
    parts.makeKernel = [this, queue](const KernelSpec &,
                                     const KernelContext &) {
      return std::make_unique<Counted>(*this, queue);
    };
    parts.graph = graph;
    parts.host = hosts[0].get();
    parts.tell = [this](const std::string &what) { told = what; };
    backend = std::make_unique<DeviceBackend>(program, std::move(parts));
    backend->plan();
    backend->initialize();
  }

  struct Counted final : Kernel {
    Counted(OneKernel &test, Device::Queue queue) : test(test), queue(queue) {}
    void run(void *const *buffers, void *) override {
      if (++test.runs == test.failsAt)
        throw std::runtime_error("as requested");
      test.device->run(queue, "test", {{buffers[0], kBytes, true}}, [this] {
        if (test.bodyFails)
          throw std::runtime_error("as requested");
      });
    }
    OneKernel &test;
    Device::Queue queue;
  };

  static void update(DeviceBackend &backend) {
    backend.update([](int, Control &, void *const *) {});
  }

  Program program;
  std::vector<std::unique_ptr<Communicator>> hosts = makeInProcess(1);
  SimulatedDevice *device = nullptr;
  SimulatedCollectives *collectives = nullptr;
  int64_t runs = 0, failsAt = -1;
  bool bodyFails = false; ///< when the device runs it
  std::string told;
  std::unique_ptr<DeviceBackend> backend;
};

/// The backend goes while the error is on its way: what was captured is dropped
/// before memory is released, and the peers are notified before anything waits.
TEST_F(OneKernel, AFailureWhileCapturingEndsCleanly) {
  make(/*graph=*/true);
  update(*backend);
  failsAt = runs + 2;
  const std::shared_ptr<int> aborts = collectives->aborts;
  try {
    const std::unique_ptr<DeviceBackend> own = std::move(backend);
    update(*own);
    FAIL() << "the kernel does not fail";
  } catch (const std::runtime_error &error) {
    EXPECT_NE(std::string(error.what()).find("as requested"),
              std::string::npos);
  }
  EXPECT_EQ(*aborts, 1);
}

/// What a graph was to hold is queued command by command, then and later.
TEST_F(OneKernel, GoesOnWithoutAGraphWhereNoneCanBeMade) {
  update(*backend);
  failsAt = runs + 2;
  update(*backend);
  EXPECT_NE(told.find("the step does not become a graph: test"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("as requested; all ranks queue its commands one by one"),
            std::string::npos)
      << told;
  const int64_t before = runs;
  update(*backend);
  EXPECT_EQ(runs, before + program.training.accumulation);
  EXPECT_EQ(device->counts.captures, 1);
  EXPECT_EQ(device->counts.launches, 0);
}

/// Whoever caught the error says so, and destroys the backend later.
TEST_F(OneKernel, ABackendThatGaveUpEndsCleanly) {
  update(*backend);
  update(*backend);
  const std::shared_ptr<int> aborts = collectives->aborts;
  backend->giveUp();
  EXPECT_EQ(*aborts, 1);
  backend.reset();
  EXPECT_EQ(*aborts, 1);
}

TEST_F(OneKernel, ARunThatEndsWellAbortsNothing) {
  update(*backend);
  update(*backend);
  EXPECT_EQ(device->counts.captures, 1);
  EXPECT_EQ(device->counts.launches, 1);
  const std::shared_ptr<int> aborts = collectives->aborts;
  backend.reset();
  EXPECT_EQ(*aborts, 0);
}

/// What fails in a graph has no name there: the message says who gives one.
TEST_F(OneKernel, AFailureInAGraphSaysWhatToDo) {
  update(*backend);
  update(*backend);
  bodyFails = true;
  try {
    update(*backend);
    FAIL() << "the kernel does not fail";
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "the step's graph: as requested; --eager names "
                               "the command");
  }
}

/// A peer that failed is known while the host waits for the device.
TEST_F(OneKernel, APeerThatFailsEndsTheWait) {
  update(*backend);
  hosts[0]->abort("out of luck");
  try {
    backend->drain();
    FAIL() << "nobody looked";
  } catch (const CommunicationError &error) {
    EXPECT_NE(std::string(error.what()).find("out of luck"), std::string::npos);
  }
}

/// The arena of the collective is the library's, and the other one is not.
TEST_F(OneKernel, CollectivesKnowTheirMemory) {
  EXPECT_EQ(device->counts.registered, 1);
  update(*backend);
}

/// Back to back, with nothing of the host's between them; it can train on.
TEST_F(OneKernel, RepeatsItsGraphForMeasuring) {
  update(*backend);
  EXPECT_THROW(backend->repeatGraph(5), std::runtime_error);
  update(*backend);
  const int64_t copies = device->counts.copies;
  update(*backend);
  const int64_t copiesOfUpdate = device->counts.copies - copies;
  const int64_t launches = device->counts.launches;
  const Traffic sent = backend->traffic();
  EXPECT_GT(backend->repeatGraph(5), 0);
  EXPECT_EQ(device->counts.launches, launches + 6);
  EXPECT_EQ(device->counts.copies, copies + copiesOfUpdate);
  EXPECT_EQ(backend->traffic().bytes, sent.bytes);
  update(*backend);
  EXPECT_EQ(device->counts.launches, launches + 7);
}

/// A graph of one micro-batch, launched for all but the last, whose own holds
/// the end of the update.
TEST_F(OneKernel, ManyMicroBatchesAreLaunchesOfOneGraph) {
  program.training.accumulation = 5;
  make(/*graph=*/true);
  update(*backend);
  const int64_t before = runs;
  update(*backend);
  EXPECT_EQ(runs, before + 2);
  EXPECT_EQ(device->counts.captures, 2);
  EXPECT_EQ(device->counts.launches, 5);
  update(*backend);
  EXPECT_EQ(device->counts.launches, 10);
}

/// What a micro-batch leaves running for the next, the graph keeps so.
TEST_F(OneKernel, MicroBatchesThatRunOnAreOneGraph) {
  program.training.accumulation = 5;
  std::vector<Command> &commands = program.micro.commands;
  commands.insert(commands.begin(), commands.back());
  commands.pop_back();
  make(/*graph=*/true);
  update(*backend);
  update(*backend);
  EXPECT_EQ(device->counts.captures, 1);
  EXPECT_EQ(device->counts.launches, 1);
}

/// What apply leaves running begins the next graph, or ends before anything
/// else looks at it; what comes then has a graph that begins without it.
TEST_F(OneKernel, WhatApplyLeavesRunningBeginsTheNextGraph) {
  program.training.accumulation = 1;
  Command start = program.micro.commands.front();
  start.ticket = 1;
  Command wait = program.micro.commands.back();
  wait.ticket = 1;
  program.apply.commands = {start};
  program.micro.commands.insert(program.micro.commands.begin(), wait);
  make(/*graph=*/true);
  const auto collectives = [&] { return device->counts.collectives; };
  update(*backend); // as it is: only the micro-batch's
  EXPECT_EQ(collectives(), 1);
  update(*backend); // a graph with both, and one without apply's
  EXPECT_EQ(collectives(), 4);
  EXPECT_EQ(device->counts.captures, 2);
  backend->drain();
  EXPECT_EQ(collectives(), 5);
  backend->drain();
  EXPECT_EQ(collectives(), 5);
  update(*backend);
  EXPECT_EQ(device->counts.captures, 2);
  EXPECT_EQ(collectives(), 5);
  update(*backend);
  update(*backend);
  EXPECT_EQ(device->counts.captures, 2);
  EXPECT_EQ(device->counts.launches, 4);
  backend->drain();
  EXPECT_GT(backend->repeatGraph(2), 0);
  EXPECT_EQ(device->counts.launches, 7);
}

TEST_F(OneKernel, AFailureInTheSecondGraphEndsCleanly) {
  program.training.accumulation = 5;
  make(/*graph=*/false);
  update(*backend);
  failsAt = runs + 2;
  update(*backend);
  EXPECT_NE(told.find("the step does not become a graph: test"),
            std::string::npos)
      << told;
  EXPECT_EQ(device->counts.launches, 0);
  update(*backend);
}

/// Traced updates are no graph; those after them are again.
TEST_F(OneKernel, TimesEveryCommandOnItsQueue) {
  struct Row {
    Opcode opcode;
    int64_t begin, end;
  };
  std::vector<Row> rows;
  update(*backend);
  update(*backend);
  backend->setCommandHook(
      [&](const Command &command, int64_t begin, int64_t end) {
        rows.push_back({command.opcode, begin, end});
      });
  update(*backend);
  backend->setCommandHook({});
  EXPECT_EQ(device->counts.launches, 1);
  update(*backend);
  EXPECT_EQ(device->counts.launches, 2);
  ASSERT_EQ(rows.size(), 2 * program.micro.commands.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].opcode, program.micro.commands[i % 3].opcode);
    EXPECT_LE(rows[i].begin, rows[i].end);
    EXPECT_GE(rows[i].begin, rows[0].begin);
  }
  EXPECT_GT(backend->deviceSeconds(), 0);
}

} // namespace
