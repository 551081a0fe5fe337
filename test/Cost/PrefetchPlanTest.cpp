#include "zero/Cost/PrefetchPlan.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace mlir::zero;

namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

/// A block of `layers` layers of two operations, a wait and a kernel that is
/// the last use of what was gathered.
struct Layers {
  Layers(int layers, double kernel, double gather) {
    for (int i = 0; i < layers; ++i) {
      gathers.push_back({2 * i, 2 * i + 1, /*elements=*/10, gather});
      seconds.kernels.append(2, i * kernel);
    }
    seconds.kernels.push_back(layers * kernel);
  }
  std::vector<size_t> inTime(PrefetchLimits limits = {0, kAny, kAny}) {
    auto before = startInTime(gathers, limits, seconds);
    return {before.begin(), before.end()};
  }

  llvm::SmallVector<GatherUse> gathers;
  BlockSeconds seconds;
};

using Starts = std::vector<size_t>;

TEST(PrefetchPlan, StartsOneAheadWhereALayerHidesAGather) {
  EXPECT_EQ(Layers(4, 2.0, 1.0).inTime(), Starts({0, 0, 1, 2}));
}

/// What is sent must have been made: after operation 3, the second kernel.
TEST(PrefetchPlan, StartsNoGatherBeforeWhatItSends) {
  Layers layers(4, 1.0, 3.0);
  EXPECT_EQ(layers.inTime(), Starts({0, 0, 1, 2}));
  layers.gathers[2].readyAt = 3;
  EXPECT_EQ(layers.inTime(), Starts({0, 0, 2, 2}));
  layers.gathers[2].readyAt = 1;
  EXPECT_EQ(layers.inTime(), Starts({0, 0, 1, 2}));
}

TEST(PrefetchPlan, StartsMoreAheadWhereLayersAreShort) {
  // The last gather lasts as long as three layers, and those before it have to
  // be out of its way.
  Layers layers(8, 1.0, 0.1);
  layers.gathers[7].seconds = 3;
  EXPECT_EQ(layers.inTime(), Starts({0, 0, 1, 2, 3, 3, 3, 4}));
}

TEST(PrefetchPlan, GathersNothingAheadThatSavesNoTime) {
  EXPECT_EQ(Layers(4, 0.0, 1.0).inTime(), Starts({0, 1, 2, 3}));
  EXPECT_EQ(Layers(4, 1.0, 0.001).inTime(), Starts({0, 1, 2, 3}));
}

TEST(PrefetchPlan, NeedsNoMoreThanTheLinksCanCarry) {
  // The links are always busy; what starts earlier would only stand in line.
  Starts starts = Layers(6, 1.0, 4.0).inTime();
  for (size_t i = 2; i < starts.size(); ++i) {
    EXPECT_LT(starts[i], i);
    EXPECT_GE(starts[i] + 2, i);
  }
}

TEST(PrefetchPlan, KeepsClearOfOtherCollectives) {
  // One that begins beside the second layer keeps the links until all is over.
  Layers layers(4, 2.0, 1.0);
  EXPECT_EQ(layers.inTime(), Starts({0, 0, 1, 2}));
  layers.seconds.others = {{3, std::nullopt, 5.0}};
  EXPECT_EQ(layers.inTime(), Starts({0, 0, 0, 1}));
}

TEST(PrefetchPlan, GainsNothingBesideOneThatComputeWaitsFor) {
  // While compute stands still for them, gathers find their time.
  Layers layers(4, 1.0, 1.0);
  EXPECT_EQ(layers.inTime(), Starts({0, 0, 1, 2}));
  layers.seconds.others = {{1, 2, 100.0}, {3, 4, 100.0}, {5, 6, 100.0}};
  EXPECT_EQ(layers.inTime(), Starts({0, 1, 2, 3}));
}

TEST(PrefetchPlan, KeepsTheLimits) {
  EXPECT_EQ(Layers(4, 1, 1).inTime({0, 0, kAny}), Starts({0, 1, 2, 3}));
  EXPECT_EQ(Layers(4, 1, 1).inTime({0, kAny, 19}), Starts({0, 1, 2, 3}));
  EXPECT_EQ(Layers(4, 1, 1).inTime({0, 10, kAny}), Starts({0, 0, 1, 2}));
  EXPECT_EQ(Layers(4, 1, 1).inTime({1, kAny, kAny}), Starts({0, 1, 2, 3}));
}

TEST(PrefetchPlan, ALimitNeverHoldsBackWhatIsNeededNow) {
  Layers layers(3, 1, 1);
  layers.gathers[1].elements = 1000;
  EXPECT_EQ(layers.inTime({0, 10, 15}), Starts({0, 1, 2}));
}

TEST(PrefetchPlan, OneThatIsLargerThanTheLimitIsGatheredAheadByItself) {
  Layers layers(4, 2, 1);
  layers.gathers[1].elements = 1000;
  EXPECT_EQ(layers.inTime({0, 10, kAny}), Starts({0, 0, 1, 2}));
  // Beside it, nothing more.
  auto before = startEarly(layers.gathers, {0, 10, kAny});
  EXPECT_EQ(Starts(before.begin(), before.end()), Starts({0, 0, 1, 2}));
  // What is live is a limit that is not exceeded.
  EXPECT_EQ(layers.inTime({0, 10, 1009}), Starts({0, 1, 2, 2}));
}

TEST(PrefetchPlan, HidesAGatherThatCostsMoreThanAHalfPercent) {
  EXPECT_EQ(Layers(40, 1.0, 0.02).inTime()[39], 38u);
  EXPECT_EQ(Layers(40, 1.0, 0.004).inTime()[39], 39u);
}

TEST(PrefetchPlan, EarlyStartsTakeAllThatTheLimitsAllow) {
  Layers layers(5, 1, 1);
  auto before = startEarly(layers.gathers, {3, kAny, kAny});
  EXPECT_EQ(Starts(before.begin(), before.end()), Starts({0, 0, 0, 1, 2}));
}

TEST(PrefetchPlan, NothingIsGatheredInAnEmptyBlock) {
  EXPECT_TRUE(Layers(0, 1, 1).inTime().empty());
}

} // namespace
