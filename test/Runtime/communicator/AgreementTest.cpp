// What ranks tell each other before data move, over a wire in memory, of any
// number of ranks in one thread.
#include "communicator/Agreement.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>

using namespace zrt;
using namespace zrt::processes;

namespace {

/// Messages that were sent, by sender and receiver.
struct Network {
  std::map<std::pair<int, int>, std::deque<std::string>> messages;
  int64_t sent = 0;
};

class MemoryRequests : public Requests {
public:
  MemoryRequests(Network &network, int rank) : network(network), rank(rank) {}
  void send(const void *from, size_t bytes, int peer, int) override {
    network.messages[{rank, peer}].emplace_back(static_cast<const char *>(from),
                                                bytes);
    ++network.sent;
  }
  void receive(void *to, size_t bytes, int peer, int) override {
    wanted.push_back({to, bytes, peer, false});
  }
  size_t active() const override {
    return std::count_if(wanted.begin(), wanted.end(),
                         [](const Wanted &each) { return !each.isComplete; });
  }
  bool isComplete(size_t index) const override {
    return wanted[index].isComplete;
  }
  void clear() override { wanted.clear(); }
  bool poll() override {
    bool moved = false;
    for (Wanted &each : wanted) {
      auto &queue = network.messages[{each.peer, rank}];
      if (each.isComplete || queue.empty())
        continue;
      EXPECT_EQ(queue.front().size(), each.bytes);
      std::memcpy(each.to, queue.front().data(), each.bytes);
      queue.pop_front();
      moved = each.isComplete = true;
    }
    return moved;
  }
  void cancel() override { wanted.clear(); }

private:
  struct Wanted {
    void *to;
    size_t bytes;
    int peer;
    bool isComplete;
  };
  Network &network;
  const int rank;
  std::vector<Wanted> wanted;
};

class MemoryWire : public Wire {
public:
  MemoryWire(Network &network, int rank, int ranks)
      : network(network), rank_(rank), ranks_(ranks) {}
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  int numberInJob(int rank) const override { return rank; }
  std::unique_ptr<Requests> makeRequests() override {
    return std::make_unique<MemoryRequests>(network, rank_);
  }
  std::unique_ptr<Wire> split(int, int) override { return nullptr; }

private:
  Network &network;
  const int rank_, ranks_;
};

OperationSignature barrierOf(uint64_t index) {
  return signatureOf(index, Meeting::barrier(), Reduction::Sum, {});
}

OperationSignature splitOf(uint64_t index) {
  return signatureOf(index, Meeting::split(), Reduction::Sum, {});
}

/// The agreements of all ranks on one operation.
class Group {
public:
  Group(Network &network, int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      MemoryWire wire(network, rank, ranks);
      agreements.push_back(std::make_unique<Agreement>(wire));
    }
  }
  Agreement &operator[](int rank) { return *agreements[rank]; }
  int size() const { return static_cast<int>(agreements.size()); }
  /// Until nothing moves; \p before has agreed, rank by rank.
  void run(Group *before = nullptr) {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < size(); ++rank) {
        if (before)
          moved |= (*before)[rank].progress(true);
        moved |= (*this)[rank].progress(!before || (*before)[rank].isKnown());
      }
    }
  }

private:
  std::vector<std::unique_ptr<Agreement>> agreements;
};

int64_t logarithm(int ranks) {
  int64_t rounds = 0;
  while ((int64_t(1) << rounds) < ranks)
    ++rounds;
  return rounds;
}

class AgreementOf : public testing::TestWithParam<int> {};

TEST_P(AgreementOf, AllStartTheSame) {
  Network network;
  Group group(network, GetParam());
  for (uint64_t index = 0; index < 3; ++index) {
    network.sent = 0;
    for (int rank = 0; rank < group.size(); ++rank)
      group[rank].begin(barrierOf(index));
    group.run();
    for (int rank = 0; rank < group.size(); ++rank) {
      ASSERT_TRUE(group[rank].isDone()) << rank;
      EXPECT_EQ(group[rank].describeDifference(), "");
    }
    const int64_t ranks = group.size();
    EXPECT_EQ(network.sent, ranks > Agreement::kEachOther
                                ? ranks * logarithm(group.size())
                                : ranks * (ranks - 1));
  }
}

TEST_P(AgreementOf, AllSayWhoDiffers) {
  const int ranks = GetParam();
  for (int different : {1, ranks / 2, ranks - 1}) {
    if (different < 1 || different >= ranks)
      continue;
    Network network;
    Group group(network, ranks);
    for (int rank = 0; rank < ranks; ++rank)
      group[rank].begin(rank == different || rank == ranks - 1 ? splitOf(0)
                                                               : barrierOf(0));
    group.run();
    const std::string wanted =
        describeMismatch(barrierOf(0), 0, splitOf(0), different);
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(group[rank].isKnown()) << rank;
      EXPECT_EQ(group[rank].describeDifference(), wanted) << rank;
    }
  }
}

TEST_P(AgreementOf, OnesThatAreLateAreKnown) {
  const int ranks = GetParam();
  if (ranks < 3)
    return;
  const int late = ranks / 2;
  Network network;
  Group group(network, ranks);
  for (int rank = 0; rank < ranks; ++rank)
    if (rank != late)
      group[rank].begin(barrierOf(0));
  for (int turn = 0; turn < 20; ++turn)
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != late)
        group[rank].progress(true);
  int speakers = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == late)
      continue;
    ASSERT_FALSE(group[rank].isKnown()) << rank;
    if (group[rank].awaitsStarts())
      EXPECT_EQ(group[rank].awaited(), std::vector<int>{late}) << rank;
    speakers += group[rank].speaks();
  }
  EXPECT_EQ(speakers, 1);
  // It comes, and all go on.
  group[late].begin(barrierOf(0));
  group.run();
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_TRUE(group[rank].isDone()) << rank;
}

/// Several operations are under way, and ranks are slow in any order.
TEST_P(AgreementOf, OperationsDoNotOvertake) {
  const int ranks = GetParam();
  Network network;
  Group first(network, ranks), second(network, ranks);
  std::mt19937 random(ranks);
  std::vector<int> begun(ranks);
  for (int left = 2 * ranks; left > 0;) {
    const int rank = int(random() % ranks);
    if (begun[rank] < 2 && random() % 2) {
      (begun[rank] ? second : first)[rank].begin(barrierOf(begun[rank]));
      ++begun[rank];
      --left;
    }
    if (begun[rank] > 0)
      first[rank].progress(true);
    if (begun[rank] > 1)
      second[rank].progress(first[rank].isKnown());
  }
  second.run(&first);
  for (int rank = 0; rank < ranks; ++rank) {
    ASSERT_TRUE(first[rank].isDone() && second[rank].isDone()) << rank;
    EXPECT_EQ(first[rank].describeDifference(), "");
    EXPECT_EQ(second[rank].describeDifference(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AgreementOf,
                         testing::Values(1, 2, 3, 8, 31, 32, 33, 64, 100, 1000,
                                         1024));

} // namespace
