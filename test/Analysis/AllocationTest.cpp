#include "zero/Analysis/Allocation.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace mlir::zero;

namespace {

void expectDisjoint(const std::vector<Lifetime> &buffers, int64_t needed, int64_t alignment) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(buffers[i].offset % alignment, 0);
    EXPECT_LE(buffers[i].offset + buffers[i].bytes, needed);
    for (size_t j = 0; j < i; ++j) {
      bool alive = buffers[i].begin <= buffers[j].end && buffers[j].begin <= buffers[i].end;
      bool overlap = buffers[i].offset < buffers[j].offset + buffers[j].bytes &&
                     buffers[j].offset < buffers[i].offset + buffers[i].bytes;
      EXPECT_FALSE(alive && overlap) << i << " and " << j;
    }
  }
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
  std::vector<Lifetime> empty = {{0, 5, 0}, {0, 5, 0}};
  EXPECT_EQ(allocate(empty, 64), 0);
}

TEST(Allocation, RandomBuffersNeverOverlap) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> buffers(random() % 60);
    for (Lifetime &buffer : buffers) {
      buffer.begin = random() % 100;
      buffer.end = buffer.begin + random() % 30;
      buffer.bytes = random() % 5000;
    }
    int64_t needed = allocate(buffers, 64);
    expectDisjoint(buffers, needed, 64);
    EXPECT_GE(needed, liveBytes(buffers));
  }
}

} // namespace
