// The vector functions and the thread pool that kernels are built from.
#include "kernels/Vector.h"

#include "../../Sanitized.h"
#include "KernelTest.h"

#include <atomic>
#include <cmath>
#include <stdexcept>

namespace zrt::test {
namespace {

using host::Vector;

/// Distance in units in the last place of `wanted` as an f32.
double ulps(float found, double wanted) {
  float near = static_cast<float>(wanted);
  double unit = std::nextafter(std::fabs(near), INFINITY) - std::fabs(near);
  return std::fabs(found - wanted) / unit;
}

TEST(KernelVector, ExponentialIsWithinTwoUlp) {
  double worst = 0;
  for (double x = -103; x < 88.7; x += 0.00037) {
    float argument = static_cast<float>(x);
    float found = host::exponential(host::splat(argument))[3];
    worst = std::max(worst, ulps(found, std::exp(double(argument))));
  }
  EXPECT_LE(worst, 1.5);
}

TEST(KernelVector, ExponentialOfTheExtremes) {
  auto one = [](float x) { return host::exponential(host::splat(x))[0]; };
  EXPECT_EQ(one(0), 1);
  EXPECT_EQ(one(-0.0f), 1);
  EXPECT_EQ(one(-INFINITY), 0);
  EXPECT_EQ(one(-1e30f), 0);
  EXPECT_EQ(one(INFINITY), INFINITY);
  EXPECT_EQ(one(89), INFINITY);
  EXPECT_TRUE(std::isnan(one(NAN)));
}

TEST(KernelVector, LanesRoundAsScalarsDo) {
  float values[16];
  for (int i = 0; i < 16; ++i)
    values[i] = floatOf(0x3f808000u + i * 0x4000u);
  values[7] = INFINITY;
  values[9] = 65519.9f;
  values[10] = 1e-7f;
  BFloat16 brain[16];
  Float16 half[16];
  host::store(brain, host::load(values));
  host::store(half, host::load(values));
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(brain[i].bits, fromFloat<BFloat16>(values[i]).bits);
    EXPECT_EQ(half[i].bits, fromFloat<Float16>(values[i]).bits);
  }
}

TEST(KernelVector, TransposeTileMovesEveryElementHome) {
  float from[16 * 20], to[16 * 24];
  for (int i = 0; i < 16 * 20; ++i)
    from[i] = i;
  host::transposeTile(from, 20, to, 24);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j)
      ASSERT_EQ(to[j * 24 + i], from[i * 20 + j]);
}

// The check that kernels do not allocate would see it if they did.
TEST(KernelHarness, CountsAllocations) {
  if (kIsSanitized)
    GTEST_SKIP() << "sanitizers bring their own operator new";
  std::vector<int> *made = nullptr;
  EXPECT_EQ(countAllocations([&] { made = new std::vector<int>(3); }).own, 2);
  delete made;
  EXPECT_EQ(countAllocations([] {}).own, 0);
}

TEST(ThreadPool, CoversTheExtentOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (int64_t extent : {0, 1, 2, 6, 7, 8, 1000}) {
      std::vector<std::atomic<int>> seen(extent);
      pool.parallelForWorkers(extent, 1,
                              [&](int64_t begin, int64_t end, int worker) {
                                EXPECT_LT(worker, threads);
                                for (int64_t i = begin; i < end; ++i)
                                  ++seen[i];
                              });
      for (const std::atomic<int> &count : seen)
        EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, SmallExtentsRunInline) {
  ThreadPool pool(4);
  int calls = 0;
  pool.parallelFor(100, 51, [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
  });
  EXPECT_EQ(calls, 1);
}

TEST(ThreadPool, RethrowsTheFirstRangesError) {
  ThreadPool pool(3);
  try {
    pool.parallelFor(300, 1, [&](int64_t begin, int64_t) {
      throw std::runtime_error("range at " + std::to_string(begin));
    });
    FAIL() << "no error";
  } catch (const std::runtime_error &error) {
    EXPECT_STREQ(error.what(), "range at 0");
  }
}

TEST(ThreadPool, WantsAThread) {
  EXPECT_THROW(ThreadPool(0), std::invalid_argument);
}

} // namespace
} // namespace zrt::test
