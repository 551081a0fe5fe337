#include "zero/Analysis/PartitionLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir::zero;
using llvm::SmallVector;

namespace {

LayoutOptions options(int64_t ranks, int64_t alignment, int64_t bucket) {
  LayoutOptions result;
  result.slices = ranks;
  result.alignment = alignment;
  result.bucketElements = bucket;
  return result;
}

SmallVector<int64_t> vec(std::initializer_list<int64_t> values) {
  return values;
}

TEST(PartitionLayout, CutsBucketsWhereTheNextWouldExceed) {
  EXPECT_EQ(cutIntoBuckets(vec({4, 4, 4}), 8), (SmallVector<size_t>{2, 3}));
  EXPECT_EQ(cutIntoBuckets(vec({4, 9, 4}), 8), (SmallVector<size_t>{1, 2, 3}));
  EXPECT_EQ(cutIntoBuckets(vec({9}), 8), (SmallVector<size_t>{1}));
  EXPECT_EQ(cutIntoBuckets(vec({8, 0, 0, 1}), 8), (SmallVector<size_t>{3, 4}));
  EXPECT_TRUE(cutIntoBuckets({}, 8).empty());
}

TEST(PartitionLayout, BucketsFollowReadinessAndPadForOwners) {
  FlatLayout layout =
      layOutBuckets(vec({5, 3, 10}), {2, 0, 1}, options(2, 2, 8), true);
  EXPECT_EQ(layout.order, (SmallVector<unsigned>{2, 0, 1}));
  EXPECT_EQ(layout.offsets, vec({0, 12, 17}));
  EXPECT_EQ(layout.segments, vec({0, 12, 20}));
  FlatLayout whole =
      layOutBuckets(vec({5, 3, 10}), {2, 0, 1}, options(2, 2, 8), false);
  EXPECT_EQ(whole.segments, vec({0, 10, 18}));
}

TEST(PartitionLayout, IntervalsAreWholeAndBounded) {
  // 66 elements pad to 72 for 2 ranks x 4; intervals of 20 round down to 16.
  FlatLayout layout = layOutIntervals(vec({48, 18}), options(2, 4, 20));
  EXPECT_EQ(layout.segments, vec({0, 16, 32, 48, 64, 80}));
  EXPECT_EQ(layOutIntervals(vec({48, 18}), options(2, 4, 1000)).segments,
            vec({0, 72}));
  // A bound below one unit still makes progress.
  EXPECT_EQ(layOutIntervals(vec({9}), options(3, 4, 1)).segments, vec({0, 12}));
}

TEST(PartitionLayout, ContiguousIsOneSegment) {
  FlatLayout layout = layOutContiguous(vec({3, 4}), options(4, 2, 1));
  EXPECT_EQ(layout.segments, vec({0, 8}));
  EXPECT_EQ(layout.offsets, vec({0, 3}));
}

TEST(PartitionLayout, BlocksAreBucketsWithPaddingAfterTheLast) {
  // 24 elements come in blocks of 10 and 14, between two small parameters.
  SmallVector<SmallVector<int64_t>> blocks = {{}, {10, 24}, {}};
  FlatLayout layout = layOutBuckets(vec({3, 24, 3}), {0, 1, 2},
                                    options(2, 4, 16), true, blocks);
  EXPECT_EQ(layout.offsets, vec({0, 8, 32}));
  EXPECT_EQ(layout.segments, vec({0, 8, 18, 32, 40}));
  FlatLayout parameters =
      layOutParameters(vec({3, 24, 3}), {0, 1, 2}, 2, 4, blocks);
  EXPECT_EQ(parameters.offsets, vec({0, 8, 32}));
  EXPECT_EQ(parameters.segments, vec({0, 8, 18, 32, 40}));
}

BlockOptions blockOptions(int64_t bucket, SmallVector<int64_t, 2> units) {
  BlockOptions result;
  result.bucketElements = bucket;
  result.units = std::move(units);
  return result;
}

TEST(PartitionLayout, BlocksAreRowsThatSplitOverRanks) {
  // Rows of 6 make multiples of 8 by fours.
  EXPECT_EQ(cutIntoBlocks(10, 6, blockOptions(40, {8})), vec({4, 8, 10}));
  // No 10 rows fit, but 5 do.
  EXPECT_EQ(cutIntoBlocks(10, 6, blockOptions(40, {20, 10})), vec({5, 10}));
  EXPECT_TRUE(cutIntoBlocks(10, 6, blockOptions(40, {20})).empty());
  EXPECT_TRUE(cutIntoBlocks(10, 60, blockOptions(40, {1})).empty());
  // A power of two where it costs less than a quarter.
  EXPECT_EQ(cutIntoBlocks(50257, 768, blockOptions(5000000, {512})).front(),
            6144);
  EXPECT_EQ(cutIntoBlocks(15, 1, blockOptions(7, {1})), vec({6, 12, 15}));
}

TEST(PartitionLayout, ParametersPadOneByOne) {
  FlatLayout layout = layOutParameters(vec({1, 9, 0}), {1, 0, 2}, 2, 4);
  EXPECT_EQ(layout.offsets, vec({0, 16, 24}));
  EXPECT_EQ(layout.segments, vec({0, 16, 24, 24}));
}

/// What every layout must hold, whatever the sizes.
void expectSound(const FlatLayout &layout, llvm::ArrayRef<int64_t> sizes,
                 int64_t ranks) {
  ASSERT_EQ(layout.order.size(), sizes.size());
  int64_t end = 0;
  for (auto [index, offset] : llvm::zip(layout.order, layout.offsets)) {
    EXPECT_GE(offset, end);
    end = offset + sizes[index];
  }
  EXPECT_LE(end, layout.segments.back());
  EXPECT_TRUE(llvm::is_sorted(layout.segments));
  for (int64_t boundary : layout.segments)
    EXPECT_EQ(boundary % ranks, 0);
}

TEST(PartitionLayout, RandomSizesAreSound) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    SmallVector<int64_t> sizes(1 + random() % 12);
    for (int64_t &size : sizes)
      size = random() % 300;
    SmallVector<unsigned> ready;
    for (unsigned i = sizes.size(); i > 0; --i)
      ready.push_back(i - 1);
    int64_t ranks = 1 + random() % 9;
    LayoutOptions some = options(ranks, 1 + random() % 16, 1 + random() % 500);
    expectSound(layOutBuckets(sizes, ready, some, true), sizes, ranks);
    expectSound(layOutIntervals(sizes, some), sizes, ranks);
    expectSound(layOutContiguous(sizes, some), sizes, ranks);
    expectSound(layOutParameters(sizes, ready, ranks, some.alignment), sizes,
                ranks);
  }
}

} // namespace
