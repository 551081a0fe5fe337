// What every communicator must do. Run with ranks as threads, and again under
// mpirun.
#include "CommunicatorTesting.h"

#include "communicator/Reduce.h"
#include "program/Float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

using namespace zrt;
using namespace zrt::testing;

namespace {

/// Calls `body` with each kind, reduction and type that go together.
template <class Body> void forEachForm(Body body) {
  for (Collective kind : kAllKinds)
    for (Reduction reduction : kAllReductions)
      for (DataType type : kAllTypes)
        if (isReducing(kind) ? isReducible(reduction, type)
                             : reduction == Reduction::Sum)
          body(kind, reduction, type);
}

/// Waits in an order of this rank's own.
template <class Wait>
void inOwnOrder(size_t count, uint64_t seed, int rank, Wait wait) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed * 1000 + rank);
  std::shuffle(order.begin(), order.end(), random);
  for (size_t i : order)
    wait(i);
}

} // namespace

TEST(Conformance, EveryKindReductionTypeAndCount) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      const uint64_t n = ranks;
      forEachForm([&](Collective kind, Reduction reduction, DataType type) {
        for (uint64_t count :
             {uint64_t(0), uint64_t(1), n - 1, n, n + 1, uint64_t(4097)})
          for (bool inPlace : {false, true})
            runAndCheck(communicator,
                        {kind,
                         reduction,
                         {{type, count, static_cast<int>(count % n)}},
                         inPlace,
                         count});
      });
    });
}

/// Several pieces of the in-process backend, several chunks of MPI's.
TEST(Conformance, BuffersOfManyChunks) {
  const uint64_t count = onProcesses() ? 800'001 : 100'003;
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      for (Collective kind : kAllKinds)
        for (bool inPlace : {false, true})
          runAndCheck(communicator, {kind,
                                     Reduction::Sum,
                                     {{DataType::F64, count, ranks - 1},
                                      {DataType::BF16, count / 3, 0}},
                                     inPlace,
                                     5});
    });
}

TEST(Conformance, GroupsOfMixedTypes) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      for (Collective kind : kAllKinds)
        for (bool inPlace : {false, true}) {
          OperationSpec spec{kind, Reduction::Max, {}, inPlace, 11};
          uint64_t count = 0;
          for (int repeat = 0; repeat < 20; ++repeat)
            for (DataType type : kAllTypes)
              spec.parts.push_back(
                  {type, count++ * 13 % 401, static_cast<int>(count % ranks)});
          runAndCheck(communicator, spec);
          spec.parts.clear();
          runAndCheck(communicator, spec);
        }
    });
}

TEST(Conformance, StartedInOneOrderWaitedInAnother) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      for (uint64_t round = 0; round < 20; ++round) {
        std::vector<Buffers> buffers;
        std::vector<Communicator::Ticket> tickets;
        for (uint64_t i = 0; i < 12; ++i) {
          Collective kind = kAllKinds[(i + round) % std::size(kAllKinds)];
          OperationSpec spec{kind,
                             Reduction::Sum,
                             {{DataType::F32, 100 * i + 1, 0}},
                             i % 2 == 0,
                             round + i};
          buffers.emplace_back(spec, communicator.rank(), ranks);
          tickets.push_back(communicator.start(kind, Reduction::Sum,
                                               buffers.back().transfers()));
        }
        inOwnOrder(tickets.size(), round, communicator.rank(),
                   [&](size_t i) { communicator.wait(tickets[i]); });
        for (const Buffers &buffer : buffers)
          buffer.expectCorrect();
      }
    });
}

/// Messages around a ring: each rank sends several to the next one before it
/// receives any, so that no send may wait for its receive.
TEST(Conformance, MessagesArriveInTheirOrder) {
  for (int ranks : groupSizes()) {
    if (ranks == 1)
      continue;
    onRanks(ranks, [&](Communicator &communicator) {
      const int rank = communicator.rank(), next = (rank + 1) % ranks,
                before = (rank + ranks - 1) % ranks;
      constexpr uint64_t kMessages = 9;
      std::vector<std::vector<char>> sent, received;
      std::vector<Communicator::Ticket> sends, receives;
      const auto countOf = [](uint64_t i) { return i * i * 1000 % 4001; };
      for (uint64_t i = 0; i < kMessages; ++i) {
        sent.push_back(makeElements(DataType::F32, i, rank, countOf(i)));
        Transfer part;
        part.send = sent.back().data();
        part.count = countOf(i);
        part.root = next;
        sends.push_back(
            communicator.start(Collective::Send, Reduction::Sum, {part}));
      }
      for (uint64_t i = 0; i < kMessages; ++i) {
        received.emplace_back(countOf(i) * 4 + 1, 'x');
        Transfer part;
        part.receive = received.back().data();
        part.count = countOf(i);
        part.root = before;
        receives.push_back(
            communicator.start(Collective::Receive, Reduction::Sum, {part}));
      }
      // A collective between them has an order of its own.
      runAndCheck(communicator, {Collective::AllReduce,
                                 Reduction::Sum,
                                 {{DataType::F32, 100, 0}},
                                 false,
                                 3});
      inOwnOrder(kMessages, 7, rank,
                 [&](size_t i) { communicator.wait(receives[i]); });
      inOwnOrder(kMessages, 8, rank,
                 [&](size_t i) { communicator.wait(sends[i]); });
      for (uint64_t i = 0; i < kMessages; ++i) {
        std::vector<char> wanted =
            makeElements(DataType::F32, i, before, countOf(i));
        wanted.push_back('x');
        EXPECT_EQ(received[i], wanted) << "message " << i;
      }
    });
  }
}

/// Each lane has an order of its own: what is sent on one lane first may be
/// received last.
TEST(Conformance, LanesDoNotWaitForEachOther) {
  for (int ranks : groupSizes()) {
    if (ranks == 1)
      continue;
    onRanks(ranks, [&](Communicator &communicator) {
      const int rank = communicator.rank(), next = (rank + 1) % ranks,
                before = (rank + ranks - 1) % ranks;
      // Messages 0 to 2 of lane 0, and then those of lane 1.
      constexpr uint64_t kOfLane = 3;
      const auto countOf = [](uint64_t i) { return 10 * i + 1; };
      std::vector<std::vector<char>> sent;
      std::vector<Communicator::Ticket> sends;
      for (uint64_t i = 0; i < kLanes * kOfLane; ++i) {
        sent.push_back(makeElements(DataType::F32, i, rank, countOf(i)));
        Transfer part;
        part.send = sent.back().data();
        part.count = countOf(i);
        part.root = next;
        part.lane = uint32_t(i / kOfLane);
        sends.push_back(
            communicator.start(Collective::Send, Reduction::Sum, {part}));
      }
      for (uint64_t i : {3, 0, 4, 5, 1, 2}) {
        std::vector<char> received(countOf(i) * 4);
        Transfer part;
        part.receive = received.data();
        part.count = countOf(i);
        part.root = before;
        part.lane = uint32_t(i / kOfLane);
        communicator.run(Collective::Receive, Reduction::Sum, {part});
        EXPECT_EQ(received, makeElements(DataType::F32, i, before, countOf(i)))
            << "message " << i;
      }
      for (Communicator::Ticket ticket : sends)
        communicator.wait(ticket);
    });
  }
}

TEST(Conformance, TwoCommunicators) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &first) {
      auto second = first.split(0, first.rank());
      ASSERT_EQ(second->rank(), first.rank());
      ASSERT_EQ(second->ranks(), ranks);
      Communicator *both[] = {&first, second.get()};
      for (uint64_t round = 0; round < 20; ++round) {
        OperationSpec spec{kAllKinds[round % std::size(kAllKinds)],
                           Reduction::Sum,
                           {{DataType::BF16, 5000, 0}},
                           true,
                           round};
        Buffers buffers[2] = {{spec, first.rank(), ranks},
                              {spec, first.rank(), ranks}};
        Communicator::Ticket tickets[2];
        // Neither the starts nor the waits of two communicators are ordered.
        size_t begin = first.rank() % 2;
        for (size_t i : {begin, 1 - begin})
          tickets[i] =
              both[i]->start(spec.kind, spec.reduction, buffers[i].transfers());
        inOwnOrder(2, round, first.rank(),
                   [&](size_t i) { both[i]->wait(tickets[i]); });
        for (const Buffers &buffer : buffers)
          buffer.expectCorrect();
      }
    });
}

TEST(Conformance, SubGroups) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &world) {
      // Even and odd ranks, each in reverse order.
      int color = world.rank() % 2;
      auto group = world.split(color, -world.rank());
      int size = (ranks + 1 - color) / 2;
      ASSERT_EQ(group->ranks(), size);
      ASSERT_EQ(group->rank(), size - 1 - world.rank() / 2);
      for (Collective kind : kAllKinds)
        for (bool inPlace : {false, true}) {
          Reduction sum =
              isReducing(kind) ? Reduction::PrescaledSum : Reduction::Sum;
          runAndCheck(*group, {kind,
                               sum,
                               {{DataType::F16, 999, size - 1}},
                               inPlace,
                               static_cast<uint64_t>(color)});
          runAndCheck(
              world,
              {kind, Reduction::Sum, {{DataType::F32, 10, 0}}, inPlace, 8});
        }
      auto alone = group->split(group->rank(), 0);
      ASSERT_EQ(alone->ranks(), 1);
      runAndCheck(*alone, {Collective::AllReduce,
                           Reduction::PrescaledSum,
                           {{DataType::F32, 7, 0}},
                           false,
                           1});
    });
}

TEST(Conformance, BarrierWaitsForEveryone) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      for (int round = 0; round < 50; ++round) {
        communicator.barrier();
        int32_t value = communicator.rank() == round % ranks ? round : -1;
        communicator.run(Collective::AllReduce, Reduction::Max,
                         {{&value, &value, 1, DataType::I32, 0}});
        ASSERT_EQ(value, round);
      }
    });
}

/// f32 sums in rank order, rounded once: and the data is such that another
/// order, a wider sum, or a rounding after every step would show.
TEST(Conformance, SumsAreInRankOrderAndRoundedOnce) {
  const uint64_t count = 4097;
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      for (DataType type :
           {DataType::F32, DataType::F16, DataType::BF16, DataType::F64}) {
        std::vector<std::vector<char>> sources;
        for (int rank = 0; rank < ranks; ++rank)
          sources.push_back(makeElements(type, 77, rank, count));
        std::vector<char> expected =
            reduceByLoop(Reduction::Sum, type, sources);
        std::vector<char> result(count * sizeOf(type));
        communicator.run(Collective::AllReduce, Reduction::Sum,
                         {{sources[communicator.rank()].data(), result.data(),
                           count, type, 0}});
        EXPECT_EQ(result, expected) << nameOf(type);
        if (ranks < 3)
          continue;
        std::vector<char> stepwise = sources[0];
        for (int rank = 1; rank < ranks; ++rank)
          stepwise =
              reduceByLoop(Reduction::Sum, type, {stepwise, sources[rank]});
        EXPECT_EQ(stepwise != expected, sizeOf(type) == 2) << nameOf(type);
        std::reverse(sources.begin(), sources.end());
        // In 16 bits, the order shows where it changes a rounding: at any tie.
        bool differs = reduceByLoop(Reduction::Sum, type, sources) != expected;
        if (sizeOf(type) > 2) {
          EXPECT_TRUE(differs) << nameOf(type);
        }
      }
    });
}

/// Three ranks whose 16-bit sum depends on the order: 2^24 + 1 - 2^24 is 0 in
/// f32 and 1 in any other order.
TEST(Conformance, OrderShowsInSixteenBits) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      if (ranks < 3)
        return;
      const float parts[3] = {16777216.0f, 1.0f, -16777216.0f};
      BFloat16 value = fromFloat<BFloat16>(
          communicator.rank() < 3 ? parts[communicator.rank()] : 0.0f);
      communicator.run(Collective::AllReduce, Reduction::Sum,
                       {{&value, &value, 1, DataType::BF16, 0}});
      EXPECT_EQ(toFloat(value), 0.0f);
    });
}

TEST(Conformance, NaNWinsAMaximum) {
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      for (int owner = 0; owner < ranks; ++owner) {
        float values[9];
        for (float &value : values)
          value = communicator.rank() == owner ? NAN : 1e30f;
        communicator.run(Collective::AllReduce, Reduction::Max,
                         {{values, values, 9, DataType::F32, 0}});
        for (float value : values)
          EXPECT_NE(value, value);
      }
    });
}

/// One buffer of more than 2^31 bytes a rank: whole, in slices, and reduced.
TEST(Conformance, MoreThanTwoGibibytes) {
  if (onProcesses() && groupSizes()[0] != 2)
    GTEST_SKIP() << "memory: runs with two ranks only";
  const uint64_t words = (uint64_t(1) << 28) + 512;
  auto expectWords = [&](const std::vector<uint64_t> &buffer, uint64_t add,
                         const char *what) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < words; ++i)
      wrong += buffer[i] != i * 0x9e3779b97f4a7c15ull + add;
    EXPECT_EQ(wrong, 0u) << what;
  };
  onRanks(2, [&](Communicator &communicator) {
    std::vector<uint64_t> buffer(words);
    char *bytes = reinterpret_cast<char *>(buffer.data());
    const uint64_t half = words * 4;
    if (communicator.rank() == 0)
      for (uint64_t i = 0; i < words; ++i)
        buffer[i] = i * 0x9e3779b97f4a7c15ull;
    communicator.run(Collective::Broadcast, Reduction::Sum,
                     {{bytes, bytes, words * 8, DataType::I8, 0}});
    expectWords(buffer, 0, "broadcast");
    std::memset(bytes + (1 - communicator.rank()) * half, 1, half);
    communicator.run(
        Collective::AllGather, Reduction::Sum,
        {{bytes + communicator.rank() * half, bytes, half, DataType::I8, 0}});
    expectWords(buffer, 0, "all-gather");
    // Of two summands, one is the number itself and the other one is 5.
    if (communicator.rank() == 1)
      std::fill(buffer.begin(), buffer.end(), 5);
    communicator.run(Collective::AllReduce, Reduction::Sum,
                     {{bytes, bytes, words, DataType::I64, 0}});
    expectWords(buffer, 5, "all-reduce");
  });
}

TEST(Conformance, SteadyStateAllocatesNothing) {
  if (!countsAllocations())
    GTEST_SKIP() << "a sanitizer replaces operator new";
  for (int ranks : groupSizes())
    onRanks(ranks, [&](Communicator &communicator) {
      std::vector<float> values(100'000), whole(values.size() * ranks);
      const std::vector<Transfer> reduce = {
          {values.data(), values.data(), values.size(), DataType::F32, 0}};
      const std::vector<Transfer> gather = {
          {values.data(), whole.data(), values.size(), DataType::F32, 0}};
      auto step = [&] {
        auto first =
            communicator.start(Collective::AllReduce, Reduction::Max, reduce);
        auto second =
            communicator.start(Collective::AllGather, Reduction::Sum, gather);
        communicator.wait(second);
        communicator.wait(first);
      };
      for (int i = 0; i < 20; ++i)
        step();
      communicator.barrier();
      uint64_t before = allocations();
      for (int i = 0; i < 20; ++i)
        step();
      EXPECT_EQ(allocations(), before);
      // Nobody leaves while others count.
      communicator.barrier();
    });
}

namespace {

/// A random operation that all of the group's ranks make alike.
OperationSpec randomOperation(std::mt19937_64 &random, int ranks) {
  OperationSpec spec;
  spec.kind = kAllKinds[random() % std::size(kAllKinds)];
  spec.inPlace = random() % 2;
  spec.seed = random();
  if (isReducing(spec.kind))
    spec.reduction = kAllReductions[random() % 3];
  for (uint64_t parts = random() % 4; parts > 0; --parts) {
    PartSpec part{kAllTypes[random() % 9],
                  random() % 3 ? random() % 20 : random() % 700,
                  static_cast<int>(random() % ranks)};
    if (isReducing(spec.kind) && !isReducible(spec.reduction, part.type))
      part.type = DataType::F16;
    spec.parts.push_back(part);
  }
  return spec;
}

void runRandomSequences(Communicator &world, uint64_t sequences) {
  auto copy = world.split(0, world.rank());
  auto half = world.split(world.rank() * 2 / world.ranks(), 0);
  Communicator *groups[] = {&world, copy.get(), half.get()};
  for (uint64_t sequence = 0; sequence < sequences; ++sequence) {
    std::mt19937_64 random(sequence * 31 + world.ranks());
    struct Started {
      Communicator *group;
      Buffers buffers;
      Communicator::Ticket ticket;
    };
    std::vector<Started> started;
    for (uint64_t count = 1 + random() % 5; count > 0; --count) {
      Communicator *group = groups[random() % 3];
      // A root that every half has, also where halves differ in size.
      OperationSpec spec =
          randomOperation(random, std::max(1, world.ranks() / 2));
      started.push_back(
          {group, Buffers(spec, group->rank(), group->ranks()), 0});
      started.back().ticket = group->start(spec.kind, spec.reduction,
                                           started.back().buffers.transfers());
    }
    inOwnOrder(started.size(), sequence, world.rank(),
               [&](size_t i) { started[i].group->wait(started[i].ticket); });
    for (const Started &each : started)
      each.buffers.expectCorrect();
    if (::testing::Test::HasFailure())
      return;
  }
}

} // namespace

/// 10,000 sequences between threads, and in each MPI job.
TEST(Conformance, RandomSequencesGiveWhatAPlainLoopGives) {
  for (int ranks : groupSizes()) {
    const uint64_t sequences = onProcesses() ? 10'000 : 2500;
    if (ranks == 1 && !onProcesses())
      continue;
    onRanks(ranks,
            [&](Communicator &world) { runRandomSequences(world, sequences); });
  }
}
