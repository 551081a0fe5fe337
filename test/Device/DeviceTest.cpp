// The stand-in refuses what a device would not survive, and the pieces that run
// on it do nothing of the kind.
#include "SimulatedDevice.h"

#include "communicator/InProcess.h"
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

TEST_F(Simulated, AGraphIsOrderedAfterItsLaunchOnly) {
  device.beginCapture(one);
  device.copy(b, a, 64, one);
  Device::Graph graph = device.endCapture(one);
  device.copy(a, b, 64, two);
  EXPECT_THROW(device.launch(graph, one), Misuse);
}

/// A communicator on a device, over the stand-in's collectives.
TEST(StreamCommunicator, StartsAfterComputeAndIsWaitedForByIt) {
  SimulatedDevice device;
  Queues queues(device);
  auto host = makeInProcess(1);
  SimulatedCollectives library(device, *host[0]);
  StreamCommunicator communicator(device, queues, library);
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
  StreamCommunicator communicator(device, queues, library);
  for (int i = 0; i < 100; ++i)
    communicator.wait(communicator.startOn(
        Stream::Gather, Collective::AllGather, Reduction::Sum, {}));
  EXPECT_EQ(device.counts.records, 200);
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

} // namespace
