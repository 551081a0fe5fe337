// Dropout: what a mask depends on, and what it does not.
#include "KernelTest.h"
#include "Philox.h"

#include <cmath>

namespace zrt::test {
namespace {

constexpr int64_t kSamples = 6, kWidth = 1037;

Array drop(DataType type, const Array &x, Control &control, double p,
           int64_t id, int rank = 0, int ranks = 1) {
  KernelSpec spec = makeSpec("nn.dropout", {x}, {{type, x.type.shape}});
  spec.ints["id"] = {id};
  spec.floats["p"] = p;
  Setting setting;
  setting.control = &control;
  setting.rank = rank;
  setting.ranks = ranks;
  Array first = runKernel(spec, {x}, setting)[0];
  for (int threads : {2, 3}) {
    setting.threads = threads;
    EXPECT_TRUE(runKernel(spec, {x}, setting)[0] == first);
  }
  return first;
}

Array ones(DataType type, std::vector<int64_t> shape) {
  Array x(type, std::move(shape));
  for (int64_t i = 0; i < x.size(); ++i)
    x.set(i, 1);
  return x;
}

TEST(KernelDropout, FollowsTheStatedGenerator) {
  // The published test vector of Philox4x32-10 for a counter and key of zeros.
  EXPECT_EQ(philoxWord({0, 0, 0, 0}, 0, 0), 0x6627e8d5u);
  Control control{};
  control.seed = 0x123456789abcdef;
  control.batch = 5;
  for (DataType type : kFloats) {
    Array y = drop(type, ones(type, {kSamples, kWidth}), control, 0.3, 9, 1, 2);
    Array scale(type, {1});
    scale.set(0, 1 / 0.7);
    for (int64_t i = 0; i < y.size(); ++i) {
      uint64_t sample = (5 * 2 + 1) * kSamples + i / kWidth;
      int64_t at = i % kWidth;
      uint32_t word = philoxWord({uint32_t(at / 4), 9, uint32_t(sample), 0},
                                 control.seed, static_cast<int>(at % 4));
      ASSERT_EQ(y[i], word >= 0.3 * 4294967296.0 ? scale[0] : 0) << i;
    }
  }
}

TEST(KernelDropout, KeepsTheShareThatItSays) {
  Control control{};
  Array y =
      drop(DataType::F32, ones(DataType::F32, {64, kWidth}), control, 0.2, 0);
  double kept = 0, sum = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    kept += y[i] != 0;
    sum += y[i];
  }
  EXPECT_NEAR(kept / y.size(), 0.8, 0.01);
  EXPECT_NEAR(sum / y.size(), 1, 0.01);
}

// One rank with 6 samples a micro-batch sees what 3 ranks with 2 see.
TEST(KernelDropout, MasksBelongToGlobalSamples) {
  Control control{};
  control.batch = 7;
  Array whole =
      drop(DataType::F32, ones(DataType::F32, {6, kWidth}), control, 0.5, 1);
  for (int rank = 0; rank < 3; ++rank) {
    Array part = drop(DataType::F32, ones(DataType::F32, {2, kWidth}), control,
                      0.5, 1, rank, 3);
    for (int64_t i = 0; i < part.size(); ++i)
      ASSERT_EQ(part[i], whole[rank * 2 * kWidth + i]);
  }
}

/// Indices [first, first + part) of dimension `dim` of `x`.
Array takeRange(const Array &x, int64_t dim, int64_t first, int64_t part) {
  std::vector<int64_t> shape = x.type.shape;
  const int64_t size = shape[dim];
  shape[dim] = part;
  int64_t inner = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    inner *= shape[i];
  Array taken(x.type.type, shape);
  for (int64_t i = 0; i < taken.size(); ++i) {
    const int64_t row = i / inner;
    taken.set(i,
              x[(row / part * size + first + row % part) * inner + i % inner]);
  }
  return taken;
}

TEST(KernelDropout, OfAPartIsThatOfTheWhole) {
  Control control{};
  control.seed = 77;
  for (int evaluating : {0, 1})
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{2, 12, 37}, {2, 3, 6, 5}, {3, 12}, {1, 2, 600}})
      for (int64_t dim = 1; dim < int64_t(shape.size()); ++dim)
        for (int64_t part : {shape[dim], shape[dim] / 2, int64_t(1)}) {
          control.evaluating = evaluating;
          const Array x = randomArray(DataType::F32, shape, 1);
          const Array whole = drop(DataType::F32, x, control, 0.4, 5);
          for (int64_t first = 0; first + part <= shape[dim]; first += part) {
            Array begin(DataType::I32, {});
            begin.set(0, double(first));
            const Array taken = takeRange(x, dim, first, part);
            KernelSpec spec =
                makeSpec("nn.partial_dropout", {taken, begin}, {taken.type});
            spec.ints = {{"id", {5}}, {"dim", {dim}}, {"size", {shape[dim]}}};
            spec.floats["p"] = 0.4;
            Setting setting;
            setting.control = &control;
            EXPECT_TRUE(runKernel(spec, {taken, begin}, setting)[0] ==
                        takeRange(whole, dim, first, part));
          }
        }
}

TEST(KernelDropout, SeedBatchAndIdChangeTheMask) {
  Array x = ones(DataType::F32, {kSamples, kWidth});
  Control control{};
  Array first = drop(DataType::F32, x, control, 0.5, 1);
  EXPECT_TRUE(drop(DataType::F32, x, control, 0.5, 1) == first);
  EXPECT_FALSE(drop(DataType::F32, x, control, 0.5, 2) == first);
  control.seed = uint64_t(1) << 40;
  EXPECT_FALSE(drop(DataType::F32, x, control, 0.5, 1) == first);
  control.seed = 0;
  control.batch = 1;
  EXPECT_FALSE(drop(DataType::F32, x, control, 0.5, 1) == first);
}

TEST(KernelDropout, EvaluationIsTheIdentity) {
  Control control{};
  control.evaluating = 1;
  Array x = randomArray(DataType::BF16, {kSamples, kWidth}, 1);
  EXPECT_TRUE(drop(DataType::BF16, x, control, 0.5, 1) == x);
}

TEST(KernelDropout, DroppedInfinitiesAreZero) {
  Control control{};
  Array x = ones(DataType::F32, {1, 64});
  for (int64_t i = 0; i < 64; ++i)
    x.set(i, INFINITY);
  Array y = drop(DataType::F32, x, control, 0.5, 1);
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_TRUE(y[i] == 0 || y[i] == INFINITY);
}

} // namespace
} // namespace zrt::test
