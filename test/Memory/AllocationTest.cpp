#include "zero/Memory/Allocation.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace mlir::zero;

namespace {

using Seconds = std::chrono::duration<double>;

void expectDisjoint(const std::vector<Lifetime> &buffers, int64_t needed,
                    int64_t alignment) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    ASSERT_EQ(buffers[i].offset % alignment, 0);
    ASSERT_GE(buffers[i].offset, 0);
    ASSERT_LE(buffers[i].offset + buffers[i].bytes, needed);
    for (size_t j = 0; j < i; ++j) {
      bool alive = buffers[i].begin <= buffers[j].end &&
                   buffers[j].begin <= buffers[i].end;
      bool overlap = buffers[i].offset < buffers[j].offset + buffers[j].bytes &&
                     buffers[j].offset < buffers[i].offset + buffers[i].bytes;
      ASSERT_FALSE(alive && overlap) << i << " and " << j;
    }
  }
}

/// The same numbers on every machine, which std's distributions do not promise.
class Numbers {
public:
  explicit Numbers(uint32_t seed) : random(seed) {}
  /// From `low` through `high`.
  int64_t operator()(int64_t low, int64_t high) {
    return low + int64_t(random() % uint64_t(high - low + 1));
  }

private:
  std::mt19937_64 random;
};

/// Cuts the rectangle of all times and offsets into pieces until none is left
/// to cut: the pieces fill it without a gap, so each is where it must be.
std::vector<Lifetime> makeFullPacking(Numbers &numbers, int64_t duration,
                                      int64_t capacity, int pieces) {
  std::vector<Lifetime> buffers = {{0, duration - 1, capacity, 0}};
  while (int(buffers.size()) < pieces) {
    // Of a few pieces the largest one is cut, so that sizes stay alike.
    size_t chosen = 0;
    double area = 0;
    for (int i = 0; i < 4; ++i) {
      size_t index = numbers(0, buffers.size() - 1);
      const Lifetime &piece = buffers[index];
      double its = double(piece.end - piece.begin + 1) / duration *
                   piece.bytes / capacity;
      if (its > area) {
        area = its;
        chosen = index;
      }
    }
    Lifetime &piece = buffers[chosen];
    Lifetime other = piece;
    if (numbers(0, 1) && piece.end > piece.begin) {
      piece.end = numbers(piece.begin, piece.end - 1);
      other.begin = piece.end + 1;
    } else if (piece.bytes > 1) {
      piece.bytes = numbers(1, piece.bytes - 1);
      other.bytes -= piece.bytes;
    } else {
      continue;
    }
    buffers.push_back(other);
  }
  for (size_t i = buffers.size() - 1; i > 0; --i)
    std::swap(buffers[i], buffers[numbers(0, i)]);
  return buffers;
}

/// As a training step makes them: what the forward makes waits for the
/// backward, and what is between two operations comes and goes.
std::vector<Lifetime> makeTrainingStep(Numbers &numbers, int64_t count) {
  std::vector<Lifetime> buffers;
  for (int64_t i = 0; i < count; ++i) {
    int64_t bytes = 256 * numbers(1, 4000);
    bool saved = i < count / 2 && numbers(0, 1);
    int64_t last = saved ? count - i : i + numbers(1, 6);
    buffers.push_back({i, std::max(i, last), bytes, 0});
  }
  return buffers;
}

TEST(Allocation, ReusesWhatDied) {
  std::vector<Lifetime> buffers = {{0, 1, 128}, {2, 3, 128}, {1, 2, 64}};
  EXPECT_EQ(allocate(buffers, 64), 192);
  EXPECT_EQ(buffers[0].offset, buffers[1].offset);
}

TEST(Allocation, LifetimesIncludeTheirEnd) {
  std::vector<Lifetime> buffers = {{0, 1, 64}, {1, 2, 64}};
  EXPECT_EQ(allocate(buffers, 64), 128);
}

TEST(Allocation, NothingAndEmptyNeedNothing) {
  std::vector<Lifetime> none;
  EXPECT_EQ(allocate(none, 64), 0);
  std::vector<Lifetime> empty = {{0, 5, 0, 7}, {0, 5, 0}};
  EXPECT_EQ(allocate(empty, 64), 0);
  EXPECT_EQ(empty[0].offset, 0);
}

TEST(Allocation, LiveBytesCountAlignment) {
  std::vector<Lifetime> buffers = {{0, 1, 1}, {1, 2, 65}, {3, 3, 100}};
  EXPECT_EQ(liveBytes(buffers), 100);
  EXPECT_EQ(liveBytes(buffers, 64), 192);
}

TEST(Allocation, RandomBuffersNeverOverlap) {
  Numbers numbers(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> buffers(numbers(0, 59));
    for (Lifetime &buffer : buffers) {
      buffer.begin = numbers(0, 99);
      buffer.end = buffer.begin + numbers(0, 29);
      buffer.bytes = numbers(0, 4999);
    }
    int64_t needed = allocate(buffers, 64);
    expectDisjoint(buffers, needed, 64);
    EXPECT_GE(needed, liveBytes(buffers, 64));
  }
}

/// Greedy placement of these needs more; the search reaches the bound.
TEST(Allocation, SearchReachesTheBound) {
  Numbers numbers(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<Lifetime> buffers = makeFullPacking(numbers, 40, 1000, 30);
    EXPECT_EQ(allocate(buffers, 1), 1000) << "round " << round;
    expectDisjoint(buffers, 1000, 1);
  }
}

TEST(Allocation, IsTheSameEveryTime) {
  Numbers numbers(3);
  std::vector<Lifetime> first = makeFullPacking(numbers, 100, 5000, 150);
  std::vector<Lifetime> second = first;
  EXPECT_EQ(allocate(first, 8), allocate(second, 8));
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_EQ(first[i].offset, second[i].offset);
}

/// Many that live for a short time, at moments of either sign, and some long.
std::vector<Lifetime> makeShortLived(Numbers &numbers, int64_t count) {
  std::vector<Lifetime> buffers;
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = i - count / 2, life = numbers(0, 999) ? 6 : count / 2;
    buffers.push_back({begin, begin + numbers(0, life), numbers(1, 999), 0});
  }
  return buffers;
}

TEST(Allocation, ShortLivedBuffersNeverOverlap) {
  Numbers numbers(7);
  for (int64_t count : {100, 500, 2500}) {
    std::vector<Lifetime> buffers = makeShortLived(numbers, count);
    int64_t needed = allocate(buffers, 16);
    expectDisjoint(buffers, needed, 16);
    EXPECT_GE(needed, liveBytes(buffers, 16));
  }
}

/// A statistic is listed only if they were enabled before it counted first.
const bool listsStatistics = [] {
  llvm::EnableStatistics(/*DoPrintOnExit=*/false);
  return true;
}();

uint64_t readStatistic(llvm::StringRef wanted) {
  for (const auto &[name, value] : llvm::GetStatistics())
    if (name == wanted)
      return value;
  return 0;
}

/// Placed buffers that the allocator looks at for `buffers`.
uint64_t countCompared(std::vector<Lifetime> &buffers, int64_t alignment) {
  EXPECT_TRUE(listsStatistics);
  const uint64_t before = readStatistic("numCompared");
  allocate(buffers, alignment);
  const uint64_t after = readStatistic("numCompared");
  EXPECT_GT(after, before) << "the allocator counts nothing";
  return after - before;
}

/// What is not alive with a buffer costs it nothing: all pairs of the larger
/// ones would be sixteen times as many.
TEST(Allocation, ShortLivedBuffersCostInProportion) {
  Numbers numbers(9);
  std::vector<Lifetime> few = makeShortLived(numbers, 5000);
  std::vector<Lifetime> many = makeShortLived(numbers, 20000);
  const uint64_t before = countCompared(few, 16);
  EXPECT_GT(before, few.size());
  EXPECT_LE(countCompared(many, 16), 5 * before);
}

/// A step of ten thousand buffers fills what is alive together, with as many
/// comparisons as a second of one core allows.
TEST(Allocation, TenThousandBuffersAreBounded) {
  Numbers numbers(1);
  std::vector<Lifetime> buffers = makeTrainingStep(numbers, 10000);
  EXPECT_LE(countCompared(buffers, 64), 600'000'000u);
  int64_t needed = 0;
  for (const Lifetime &buffer : buffers)
    needed = std::max(needed, buffer.offset + buffer.bytes);
  EXPECT_LE(double(needed), 1.02 * double(liveBytes(buffers, 64)));
}

/// Where no order of placement reaches the bound, what a search for it costs
/// has a limit that does not grow with the buffers.
TEST(Allocation, SearchesAreBounded) {
  EXPECT_TRUE(listsStatistics);
  Numbers numbers(23);
  for (int64_t count : {100, 400, 1600}) {
    std::vector<Lifetime> buffers =
        makeFullPacking(numbers, count, 1 << 20, 90);
    const uint64_t before = readStatistic("numSearched");
    allocate(buffers, 1);
    const uint64_t steps = readStatistic("numSearched") - before;
    EXPECT_GT(steps, 0u) << count;
    EXPECT_LE(steps, 50'000'000u) << count;
  }
}

TEST(Allocation, FillsACapacityWithoutAGap) {
  Numbers numbers(17);
  for (int round = 0; round < 8; ++round) {
    std::vector<Lifetime> buffers =
        makeFullPacking(numbers, 200, 1 << 20, 80 + 10 * round);
    int64_t height = 0;
    Fit fit = allocateWithin(buffers, 1, 1 << 20, Seconds(120), height);
    ASSERT_EQ(fit, Fit::Fits) << "round " << round << ", height " << height;
    EXPECT_LE(height, 1 << 20);
    expectDisjoint(buffers, height, 1);
  }
}

TEST(Allocation, SaysThatNothingFits) {
  std::vector<Lifetime> buffers = {
      {0, 0, 4}, {0, 1, 2}, {1, 2, 4}, {2, 3, 2}, {3, 3, 3}};
  int64_t height = 0;
  EXPECT_EQ(allocateWithin(buffers, 1, 5, Seconds(10), height),
            Fit::Impossible);
  EXPECT_EQ(height, 6);
  EXPECT_EQ(allocateWithin(buffers, 1, 6, Seconds(10), height), Fit::Fits);
}

/// Whether any offsets below `capacity` exist, by trying all.
bool fitsSomehow(std::vector<Lifetime> &buffers, size_t next,
                 int64_t capacity) {
  if (next == buffers.size())
    return true;
  Lifetime &mine = buffers[next];
  for (mine.offset = 0; mine.offset + mine.bytes <= capacity; ++mine.offset) {
    bool isFree = true;
    for (size_t i = 0; i < next && isFree; ++i) {
      const Lifetime &other = buffers[i];
      isFree = other.end < mine.begin || mine.end < other.begin ||
               other.offset + other.bytes <= mine.offset ||
               mine.offset + mine.bytes <= other.offset;
    }
    if (isFree && fitsSomehow(buffers, next + 1, capacity))
      return true;
  }
  return false;
}

/// What the search leaves out never holds the only answer.
TEST(Allocation, AgreesWithTryingAllOffsets) {
  // Alive together are 7 at most, and yet these need 8.
  const std::vector<Lifetime> tight = {{3, 6, 2},  {3, 5, 1}, {6, 7, 3},
                                       {7, 10, 4}, {4, 6, 2}, {2, 3, 4},
                                       {0, 1, 4},  {0, 2, 3}};
  Numbers numbers(23);
  int impossible = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Lifetime> buffers = tight;
    for (int change = round % 4; change > 0; --change) {
      Lifetime &buffer = buffers[numbers(0, buffers.size() - 1)];
      buffer.end = std::max(buffer.begin, buffer.end + numbers(-1, 1));
      buffer.bytes = std::max<int64_t>(1, buffer.bytes + numbers(-1, 1));
    }
    int64_t capacity = liveBytes(buffers);
    std::vector<Lifetime> copy = buffers;
    bool expected = fitsSomehow(copy, 0, capacity);
    impossible += !expected;
    int64_t height = 0;
    Fit fit = allocateWithin(buffers, 1, capacity, Seconds(60), height);
    ASSERT_EQ(fit, expected ? Fit::Fits : Fit::Impossible) << round;
    expectDisjoint(buffers, height, 1);
  }
  EXPECT_GE(impossible, 100);
  EXPECT_LT(impossible, 400);
}

} // namespace
