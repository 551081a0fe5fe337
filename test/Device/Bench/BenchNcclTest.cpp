// How ranks end when one of them fails, and what the model of NCCL sees: what
// would hang is said there, so that each rule is shown to be needed.
#include "Nccl.h"
#include "Runtime.h"

#include "communicator/InProcess.h"
#include "device/DeviceBackend.h"
#include "device/cuda/CudaDevice.h"
#include "device/cuda/Nccl.h"
#include "device/cuda/NcclChannel.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

using namespace zrt;

namespace {

constexpr uint64_t kCount = 64, kBytes = kCount * sizeof(float);

/// A program of sums on two streams, and a kernel beside them.
Program makeProgram(int ranks) {
  Program program;
  program.training.ranks = ranks;
  program.training.accumulation = 1;
  program.arenaBytes[size_t(Arena::Activations)] = kBytes;
  program.arenaBytes[size_t(Arena::Communication)] = 2 * kBytes;
  BufferRef buffer;
  buffer.bytes = kBytes;
  KernelSpec spec;
  spec.name = "test";
  spec.results = {{DataType::F32, {int64_t(kCount)}}};
  program.kernels = {spec};
  Command kernel;
  kernel.buffers = {buffer};
  std::vector<Command> &commands = program.micro.commands;
  uint32_t tickets = 0;
  for (Stream stream : {Stream::Reduce, Stream::Gather}) {
    Command start;
    start.opcode = Opcode::Start;
    start.collective = Collective::AllReduce;
    start.stream = stream;
    start.ticket = tickets++;
    buffer.arena = Arena::Communication;
    buffer.offset = start.ticket * kBytes;
    start.parts = {{buffer, buffer, kCount, DataType::F32, 0}};
    commands.push_back(start);
  }
  commands.push_back(kernel);
  for (uint32_t i = 0; i < tickets; ++i) {
    Command wait;
    wait.opcode = Opcode::Wait;
    wait.ticket = i;
    commands.push_back(wait);
  }
  return program;
}

struct Nothing final : Kernel {
  void run(void *const *, void *) override {}
};

std::unique_ptr<DeviceBackend> makeBackend(const Program &program,
                                           Communicator &host) {
  DeviceParts parts;
  parts.device = makeCudaDevice(host.rank());
  parts.queues = std::make_unique<Queues>(*parts.device);
  parts.collectives = makeNccl(program, *parts.device, host);
  parts.host = &host;
  parts.makeKernel = [](const KernelSpec &, const KernelContext &) {
    return std::make_unique<Nothing>();
  };
  auto backend = std::make_unique<DeviceBackend>(program, std::move(parts));
  backend->plan();
  backend->initialize();
  return backend;
}

/// Calls `body` on a thread for each rank; who fails tells the others.
template <typename Body>
std::vector<std::string> onThreads(int ranks, Body body) {
  auto hosts = makeInProcess(ranks);
  std::vector<std::string> errors{size_t(ranks)};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(*hosts[size_t(rank)]);
      } catch (const std::exception &error) {
        errors[size_t(rank)] = error.what();
        hosts[size_t(rank)]->abort(error.what());
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

class BenchNccl : public ::testing::Test {
protected:
  void SetUp() override {
    bench::takeHangs();
    handles = bench::openHandles();
  }
  void expectHang(const std::string &text) {
    const std::vector<std::string> hangs = bench::takeHangs();
    ASSERT_FALSE(hangs.empty());
    EXPECT_NE(hangs[0].find(text), std::string::npos) << hangs[0];
  }
  void expectNoHang() {
    const std::vector<std::string> hangs = bench::takeHangs();
    EXPECT_TRUE(hangs.empty()) << hangs[0];
    EXPECT_EQ(bench::openHandles(), handles);
  }
  int64_t handles = 0;
};

/// In the given update; 0: never.
void train(Communicator &host, const Program &program, int failing,
           int failsAt) {
  const auto backend = makeBackend(program, host);
  for (int update = 1; update <= 4; ++update)
    backend->update([&](int, Control &, void *const *) {
      if (update == failsAt && host.rank() == failing)
        throw std::runtime_error("as requested");
    });
}

TEST_F(BenchNccl, RanksThatEndWellLeaveNothing) {
  const Program program = makeProgram(2);
  const auto errors =
      onThreads(2, [&](Communicator &host) { train(host, program, 0, 0); });
  EXPECT_EQ(errors, std::vector<std::string>(2));
  expectNoHang();
}

/// Before there is a graph, and when all ranks are in theirs.
TEST_F(BenchNccl, RanksEndWhenOneOfThemFails) {
  for (int failsAt : {1, 3}) {
    const Program program = makeProgram(3);
    const auto errors = onThreads(
        3, [&](Communicator &host) { train(host, program, 1, failsAt); });
    for (const std::string &error : errors)
      EXPECT_NE(error.find("as requested"), std::string::npos) << error;
    expectNoHang();
  }
}

//===----------------------------------------------------------------------===//
// What the model sees
//===----------------------------------------------------------------------===//

/// Two channels of a rank, and memory to sum in.
struct Pair {
  explicit Pair(Communicator &host)
      : device(makeCudaDevice(host.rank())),
        queue(device->makeQueue(/*highPriority=*/false)),
        stream(reinterpret_cast<cudaStream_t>(queue)),
        memory(device->allocate(kBytes, "test")) {
    for (nccl::Channel &channel : channels)
      channel.connect(host, 0);
  }
  ~Pair() {
    device->release(memory);
    device->destroy(queue);
  }
  ncclResult_t sum(int channel) {
    return ncclAllReduce(memory, memory, kCount, ncclFloat32, ncclSum,
                         channels[channel].comm(), stream);
  }
  void close() {
    for (nccl::Channel &channel : channels)
      EXPECT_TRUE(channel.close());
  }

  std::unique_ptr<Device> device;
  Device::Queue queue;
  cudaStream_t stream;
  void *memory;
  nccl::Channel channels[2];
};

TEST_F(BenchNccl, AGraphKeepsItsCommunicator) {
  onThreads(1, [&](Communicator &host) {
    Pair pair(host);
    pair.device->beginCapture(pair.queue);
    pair.sum(0);
    pair.channels[0].settle();
    Device::Graph graph = pair.device->endCapture(pair.queue);
    nccl::Channel::abort({&pair.channels[0], &pair.channels[1]});
    expectHang("ncclCommAbort of a communicator that a graph holds");
    pair.device->destroy(graph);
  });
  expectNoHang();
}

/// The other rank never comes.
TEST_F(BenchNccl, CommunicatorsAreAbortedTogether) {
  for (const bool together : {false, true}) {
    onThreads(2, [&](Communicator &host) {
      Pair pair(host);
      if (host.rank() == 0)
        for (int channel : {0, 1}) {
          pair.sum(channel);
          pair.channels[channel].settle();
        }
      nccl::Channel &first = pair.channels[0], &second = pair.channels[1];
      if (together)
        return nccl::Channel::abort({&first, &second});
      nccl::Channel::abort({&first});
      nccl::Channel::abort({&second});
    });
    if (together)
      expectNoHang();
    else
      expectHang("aborted in one group");
  }
}

/// As gathers that are joined: whatever travels, there is one launch.
TEST_F(BenchNccl, PartsOfACollectiveAreOneLaunch) {
  const Program program = makeProgram(2);
  const auto errors = onThreads(2, [&](Communicator &host) {
    const auto device = makeCudaDevice(host.rank());
    Queues queues(*device);
    const auto library = makeNccl(program, *device, host);
    Memory &memory = *library->memory();
    auto *wholes = static_cast<char *>(memory.allocate(3 * kBytes, "test"));
    std::vector<Transfer> parts;
    for (int i = 0; i < 3; ++i) {
      char *whole = wholes + size_t(i) * kBytes;
      parts.push_back({whole + size_t(host.rank()) * kBytes / 2, whole,
                       kCount / 2, DataType::F32, 0});
    }
    const auto enqueue = [&](const std::vector<Transfer> &some) {
      library->enqueue(Stream::Gather, queues[Stream::Gather],
                       Collective::AllGather, Reduction::Sum, some);
    };
    const int64_t before = bench::countCollectives();
    enqueue(parts);
    EXPECT_EQ(bench::countCollectives(), before + 1);
    for (const Transfer &part : parts)
      enqueue({part});
    EXPECT_EQ(bench::countCollectives(), before + 4);
    library->check();
    memory.release(wholes);
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
  expectNoHang();
}

TEST_F(BenchNccl, AnErrorEndsItsGroup) {
  const Program program = makeProgram(1);
  onThreads(1, [&](Communicator &host) {
    const auto device = makeCudaDevice(0);
    Queues queues(*device);
    const auto library = makeNccl(program, *device, host);
    Memory &memory = *library->memory();
    void *sums = memory.allocate(kBytes, "test");
    const Transfer right = {sums, sums, kCount, DataType::F32, 0};
    const Transfer wrong = {sums, sums, kCount, DataType::U16, 0};
    const auto enqueue = [&](const std::vector<Transfer> &parts) {
      library->enqueue(Stream::Reduce, queues[Stream::Reduce],
                       Collective::AllReduce, Reduction::Sum, parts);
    };
    EXPECT_THROW(enqueue({wrong, right}), std::invalid_argument);
    EXPECT_EQ(bench::openGroups(), 0);
    enqueue({right});
    library->check();
    memory.release(sums);
  });
  expectNoHang();
}

/// What ranks say, and how the memory of each is known, where windows of rank 1
/// are not what they should be.
struct MemoryOutcome {
  std::vector<std::string> told, described, errors;
};

MemoryOutcome makeMemory(bench::Windows windows, bool insists) {
  bench::setWindows(1, windows);
  MemoryOutcome outcome;
  outcome.described.resize(3);
  std::mutex mutex;
  NcclOptions options;
  options.insists = insists;
  options.memorySeconds = windows == bench::Windows::NeverCome ? 0.05 : 0;
  options.tell = [&](const std::string &what) {
    std::lock_guard<std::mutex> lock(mutex);
    outcome.told.push_back(what);
  };
  const Program program = makeProgram(3);
  outcome.errors = onThreads(3, [&](Communicator &host) {
    const auto device = makeCudaDevice(host.rank());
    Queues queues(*device);
    const auto library = makeNccl(program, *device, host, options);
    void *sums = library->memory()->allocate(kBytes, "test");
    library->enqueue(Stream::Reduce, queues[Stream::Reduce],
                     Collective::AllReduce, Reduction::Sum,
                     {{sums, sums, kCount, DataType::F32, 0}});
    device->synchronize(queues[Stream::Reduce]);
    outcome.described[size_t(host.rank())] = library->describe();
    library->memory()->release(sums);
  });
  bench::setWindows(1, bench::Windows::Come);
  return outcome;
}

TEST_F(BenchNccl, RanksGoOnTogetherWithoutWindows) {
  for (const bench::Windows windows :
       {bench::Windows::Come, bench::Windows::Fail,
        bench::Windows::NeverCome}) {
    const bool come = windows == bench::Windows::Come;
    const MemoryOutcome outcome = makeMemory(windows, /*insists=*/false);
    EXPECT_EQ(outcome.errors, std::vector<std::string>(3));
    for (const std::string &text : outcome.described)
      EXPECT_EQ(text.find("1 of them as windows") != std::string::npos, come)
          << text;
    ASSERT_EQ(outcome.told.size(), come ? 0u : 1u);
    if (!come)
      EXPECT_NE(outcome.told[0].find("all ranks go on as with "
                                     "--collectives-memory registered"),
                std::string::npos)
          << outcome.told[0];
    expectNoHang();
  }
}

TEST_F(BenchNccl, AnErrorWhereWindowsAreInsistedOn) {
  const MemoryOutcome outcome =
      makeMemory(bench::Windows::Fail, /*insists=*/true);
  EXPECT_TRUE(outcome.told.empty());
  for (const std::string &error : outcome.errors)
    EXPECT_NE(error.find("ncclCommWindowRegister"), std::string::npos) << error;
  expectNoHang();
}

TEST_F(BenchNccl, StagesCannotHaveWindows) {
  Program program = makeProgram(3);
  program.pipeline.stages = 3;
  NcclOptions options;
  options.insists = true;
  const auto errors = onThreads(3, [&](Communicator &host) {
    const auto device = makeCudaDevice(host.rank());
    makeNccl(program, *device, host, options);
  });
  for (const std::string &error : errors)
    EXPECT_NE(error.find("--collectives-memory windows: windows are of one "
                         "size on all ranks, and arenas of stages are not; "
                         "give registered, or leave it out"),
              std::string::npos)
        << error;
}

TEST_F(BenchNccl, RanksUseCommunicatorsInOneOrder) {
  onThreads(2, [&](Communicator &host) {
    Pair pair(host);
    for (int i : {0, 1}) {
      const int channel = i ^ host.rank();
      pair.sum(channel);
      pair.channels[channel].settle();
    }
    host.barrier();
    nccl::Channel::abort({&pair.channels[0], &pair.channels[1]});
  });
  expectHang("uses its communicators in another order than its peers");
}

TEST_F(BenchNccl, RanksStartTheSameCollectives) {
  onThreads(2, [&](Communicator &host) {
    Pair pair(host);
    ncclAllReduce(pair.memory, pair.memory, kCount - size_t(host.rank()),
                  ncclFloat32, ncclSum, pair.channels[0].comm(), pair.stream);
    pair.channels[0].settle();
    pair.device->synchronize(pair.queue);
    pair.close();
  });
  expectHang("ranks that start different collectives");
}

/// A communicator that does not block takes nothing before it has settled.
TEST_F(BenchNccl, CommunicatorsSettleBetweenCalls) {
  onThreads(1, [&](Communicator &host) {
    Pair pair(host);
    EXPECT_EQ(pair.sum(0), ncclInProgress);
    EXPECT_EQ(pair.sum(0), ncclInvalidUsage);
    pair.channels[0].settle();
    EXPECT_EQ(pair.sum(0), ncclInProgress);
    pair.channels[0].settle();
    pair.device->synchronize(pair.queue);
    pair.close();
  });
  expectNoHang();
}

/// What a query leaves would be taken for the error of the next launch.
TEST_F(BenchNccl, AQueryLeavesNoError) {
  const auto device = makeCudaDevice(0);
  const Device::Queue queue = device->makeQueue(/*highPriority=*/false);
  const Device::Event event = device->makeEvent();
  device->record(event, queue);
  EXPECT_FALSE(device->isDone(event));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(device->isDone(event));
  device->destroy(event);
  device->destroy(queue);
}

} // namespace
