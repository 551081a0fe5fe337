#include "zero/Cost/JoinPlan.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace mlir::zero;

namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

/// A block of a wait and a kernel by turns, in which a collective takes a
/// launch and a second for each element. The last gather travels alone: its
/// elements are the most at once, and take no time.
struct Layers {
  Layers(std::vector<int64_t> elements, double kernel, double launch,
         int64_t largest = 1'000'000)
      : launch(launch), alone(elements.size()) {
    elements.push_back(largest);
    for (int64_t count : elements) {
      int64_t wait = 2 * int64_t(gathers.size());
      seconds.kernels.append(2, double(gathers.size()) * kernel);
      gathers.push_back({wait, wait + 1, count, launch + double(count)});
    }
    gathers.back().seconds = launch;
    seconds.kernels.push_back(double(elements.size()) * kernel);
  }

  /// Of all but the last one.
  std::vector<size_t> join(PrefetchLimits limits = {0, kAny, kAny}) {
    auto canJoin = [&](size_t, size_t next) {
      return next != alone && next + 1 < gathers.size();
    };
    auto secondsOf = [&](size_t first, size_t last) {
      double sum = launch;
      for (size_t index = first; index <= last; ++index)
        sum += gathers[index].seconds - launch;
      return sum;
    };
    auto firsts = joinGathers(gathers, {canJoin, secondsOf}, limits, seconds);
    EXPECT_EQ(firsts.pop_back_val(), gathers.size() - 1);
    return {firsts.begin(), firsts.end()};
  }

  double launch;
  size_t alone; ///< joins none before it
  llvm::SmallVector<GatherUse> gathers;
  BlockSeconds seconds;
};

using Firsts = std::vector<size_t>;

TEST(JoinPlan, JoinsWhileALaunchIsWorthItsShare) {
  // The third of 40 would make the launch less than 2 % of what they take.
  EXPECT_EQ(Layers({40, 40, 40, 40}, 1e6, 2).join(), Firsts({0, 0, 2, 2}));
  EXPECT_EQ(Layers({40, 40, 40, 40}, 1e6, 4).join(), Firsts({0, 0, 0, 0}));
}

TEST(JoinPlan, JoinsNothingWhereALaunchCostsNothing) {
  EXPECT_EQ(Layers({1, 1, 1}, 10, 0).join(), Firsts({0, 1, 2}));
}

TEST(JoinPlan, KeepsTheLimitOnWhatIsAheadOfItsUse) {
  // Compared before a gather is added: the last one may exceed it.
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2).join({0, 5, kAny}),
            Firsts({0, 0, 0, 3}));
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2).join({0, 4, kAny}),
            Firsts({0, 0, 2, 2}));
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2).join({0, 0, kAny}),
            Firsts({0, 1, 2, 3}));
}

TEST(JoinPlan, KeepsTheLimitOnWhatIsLive) {
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2).join({0, kAny, 11}),
            Firsts({0, 0, 2, 2}));
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2).join({0, kAny, 12}),
            Firsts({0, 0, 0, 3}));
  // The first one is still used where the others come.
  Layers held({4, 4, 4, 4}, 1000, 2);
  held.alone = 1;
  held.gathers[0].lastUse = 7;
  EXPECT_EQ(held.join({0, kAny, 12}), Firsts({0, 1, 1, 3}));
}

TEST(JoinPlan, JoinsNothingThatIsNotMadeWhereTheFirstIsNeeded) {
  Layers layers({4, 4, 4, 4}, 1000, 2);
  layers.gathers[2].readyAt = 1;
  EXPECT_EQ(layers.join(), Firsts({0, 0, 2, 2}));
  layers.gathers[2].readyAt = 0;
  EXPECT_EQ(layers.join(), Firsts({0, 0, 2, 2}));
  layers.gathers[2].readyAt = -1;
  EXPECT_EQ(layers.join(), Firsts({0, 0, 0, 0}));
}

TEST(JoinPlan, JoinsNothingWithWhatTravelsAlone) {
  Layers layers({4, 4, 4, 4}, 1000, 2);
  layers.alone = 1;
  EXPECT_EQ(layers.join(), Firsts({0, 1, 1, 1}));
}

TEST(JoinPlan, JoinsLessWhereTheFirstWaitWouldTakeTooLong) {
  // Kernels hide gathers but for the first, which would wait for all.
  EXPECT_EQ(Layers({4, 40, 40, 40}, 50, 1).join(), Firsts({0, 1, 2, 3}));
  EXPECT_EQ(Layers({4, 40, 40, 40}, 1e6, 1).join(), Firsts({0, 0, 2, 3}));
}

TEST(JoinPlan, JoinsLessWhereMuchMoreWouldBeLive) {
  // Kernels are so long that nothing is prefetched.
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2, 13).join(), Firsts({0, 0, 0, 0}));
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2, 12).join(), Firsts({0, 0, 2, 2}));
  EXPECT_EQ(Layers({4, 4, 4, 4}, 1000, 2, 6).join(), Firsts({0, 1, 2, 3}));
}

TEST(JoinPlan, JoinsNothingOfABlockWithoutGathers) {
  EXPECT_TRUE(joinGathers({}, {nullptr, nullptr}, {0, kAny, kAny},
                          BlockSeconds{{0}, {}})
                  .empty());
}

} // namespace
