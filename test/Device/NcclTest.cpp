// NCCL against sums that are known, on as many ranks as there are GPUs, or on
// two that share one where the library allows it; and in a graph.
#include "device/cuda/Nccl.h"
#include "DeviceCollectives.h"
#include "communicator/InProcess.h"
#include "device/StagedCollectives.h"
#include "device/cuda/CudaDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

using namespace zrt;
using namespace zrt::test;

namespace {

constexpr uint64_t kCount = 1024;

/// A program with collectives on the streams that the test uses.
Program programWithCollectives() {
  Program program;
  for (Stream stream : {Stream::Gather, Stream::Reduce}) {
    Command command;
    command.opcode = Opcode::Start;
    command.collective = Collective::AllReduce;
    command.stream = stream;
    program.micro.commands.push_back(command);
  }
  return program;
}

struct Rank {
  Rank(int number, int devices, const Program &program, Communicator &host)
      : device(makeCudaDevice(number % devices)), queues(*device),
        nccl(makeNccl(program, *device, host)), times(*device, queues),
        communicator(*device, queues, *nccl, times), host(host),
        rank(host.rank()), ranks(host.ranks()) {
    bytes = kCount * sizeof(float) * size_t(ranks);
    x = static_cast<float *>(device->allocate(bytes, "x"));
    y = static_cast<float *>(device->allocate(bytes, "y"));
  }
  ~Rank() {
    device->release(x);
    device->release(y);
  }

  void run(Stream stream, Collective kind, float *send, float *receive) {
    communicator.wait(
        communicator.startOn(stream, kind, Reduction::Sum,
                             {{send, receive, kCount, DataType::F32, 0}}));
  }

  std::vector<float> contents(const float *address) {
    std::vector<float> values(kCount * size_t(ranks));
    device->synchronize(queues[Stream::Compute]);
    device->read(values.data(), address, bytes);
    return values;
  }

  std::unique_ptr<Device> device;
  Queues queues;
  std::unique_ptr<CollectiveQueue> nccl;
  CommandTimes times;
  StreamCommunicator communicator;
  Communicator &host;
  int rank, ranks;
  size_t bytes;
  float *x, *y;
};

void checkRank(Rank &rank, bool captured) {
  const int n = rank.ranks;
  std::vector<float> start(kCount * size_t(n));
  for (size_t i = 0; i < start.size(); ++i)
    start[i] = float(rank.rank + 1) * float(i % 512);
  float *own = rank.x + uint64_t(rank.rank) * kCount;
  auto body = [&] {
    rank.run(Stream::Reduce, Collective::ReduceScatter, rank.x, own);
    rank.run(Stream::Gather, Collective::AllGather, own, rank.x);
    rank.run(Stream::Reduce, Collective::AllReduce, rank.x, rank.y);
  };
  const Device::Queue compute = rank.queues[Stream::Compute];
  // Who waits for a device waits for all ranks that share it.
  const auto begin = [&] {
    rank.host.barrier();
    rank.device->write(rank.x, start.data(), rank.bytes);
    rank.host.barrier();
  };
  begin();
  body();
  Device::Graph graph = nullptr;
  if (captured) {
    // The first run connects the ranks.
    begin();
    rank.device->beginCapture(compute);
    body();
    graph = rank.device->endCapture(compute);
    rank.device->launch(graph, compute);
  }
  const float sum = float(n) * float(n + 1) / 2;
  const auto x = rank.contents(rank.x), y = rank.contents(rank.y);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(x[i], sum * float(i % 512)) << i;
  for (size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(y[i], float(n) * sum * float(i % 512)) << i;
  rank.nccl->check();
  rank.host.barrier();
  if (graph)
    rank.device->destroy(graph);
}

void checkRanks(int ranks, int devices, bool captured) {
  auto hosts = makeInProcess(ranks);
  const Program program = programWithCollectives();
  std::vector<std::thread> threads;
  for (int number = 0; number < ranks; ++number)
    threads.emplace_back([&, number] {
      Rank rank(number, devices, program, *hosts[size_t(number)]);
      checkRank(rank, captured);
    });
  for (std::thread &thread : threads)
    thread.join();
}

class Nccl : public ::testing::Test {
protected:
  void SetUp() override {
    std::string reason;
    devices = countCudaDevices(reason);
    if (devices == 0)
      GTEST_SKIP() << "no GPU: " << reason;
  }
  int devices = 0;
};

TEST_F(Nccl, OneRank) { checkRanks(1, devices, false); }
TEST_F(Nccl, OneRankInAGraph) { checkRanks(1, devices, true); }

TEST_F(Nccl, SeveralRanks) {
  if (devices > 1)
    checkRanks(std::min(devices, 4), devices, false);
  else if (ncclSharesDevices())
    checkRanks(2, 1, false);
  else
    GTEST_SKIP() << "one GPU, and NCCL " << ncclVersion()
                 << " does not let ranks share it: that takes 2.30 and "
                    "NCCL_MULTI_RANK_GPU_ENABLE=1";
}

TEST_F(Nccl, SeveralRanksInAGraph) {
  if (devices < 2)
    GTEST_SKIP() << "one GPU: ranks of one process that share it cannot launch "
                    "graphs side by side";
  checkRanks(2, devices, true);
}

/// On one device, or on two, or on one that two ranks share.
DeviceMaker makerOf(int devices, NcclOptions options) {
  return {[devices](int rank) { return makeCudaDevice(rank % devices); },
          [options](Device &device, Communicator &host) {
            Program program = programWithCollectives();
            if (host.ranks() == 2)
              for (const Command &command : messagesWith(1 - host.rank()))
                program.micro.commands.push_back(command);
            return makeNccl(program, device, host, options);
          }};
}

TEST_F(Nccl, EveryKindAndTypeOnOneRank) { checkCollectives(1, makerOf(1, {})); }

TEST_F(Nccl, OnMemoryThatItDoesNotKnow) {
  NcclOptions options;
  options.memory = NcclMemoryKind::Plain;
  checkCollectives(1, makerOf(1, options));
}

TEST_F(Nccl, OnBuffersWithoutWindows) {
  NcclOptions options;
  options.memory = NcclMemoryKind::Registered;
  checkCollectives(1, makerOf(1, options));
}

TEST_F(Nccl, EveryKindAndTypeOnTwoRanks) {
  NcclOptions options;
  options.memory =
      devices > 1 ? NcclMemoryKind::Windows : NcclMemoryKind::Registered;
  if (devices == 1 && !ncclSharesDevices())
    GTEST_SKIP() << "one GPU, and NCCL " << ncclVersion()
                 << " does not let ranks share it: that takes 2.30 and "
                    "NCCL_MULTI_RANK_GPU_ENABLE=1";
  checkCollectives(2, makerOf(devices, options));
}

TEST_F(Nccl, ThroughTheHostOnTwoRanks) {
  checkCollectives(2,
                   {[this](int rank) { return makeCudaDevice(rank % devices); },
                    [](Device &device, Communicator &host) {
                      return std::make_unique<StagedCollectives>(device, host);
                    }});
}

TEST_F(Nccl, RefusesWhatItWouldDoSlowly) {
  auto hosts = makeInProcess(1);
  auto device = makeCudaDevice(0);
  auto nccl = makeNccl(programWithCollectives(), *device, *hosts[0]);
  EXPECT_THROW(nccl->admit(Collective::AllGather, Reduction::Sum,
                           {{nullptr, nullptr, 3, DataType::F32, 0}}),
               std::invalid_argument);
  EXPECT_THROW(nccl->admit(Collective::AllReduce, Reduction::Max,
                           {{nullptr, nullptr, 4, DataType::F32, 0}}),
               std::invalid_argument);
}

} // namespace
