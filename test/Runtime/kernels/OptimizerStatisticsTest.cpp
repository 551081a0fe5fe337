// zero.grad_stats and zero.grad_scale: exact norms, found-inf, clip.
#include "OptimizerTesting.h"

#include "kernels/optimizer/Rules.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

using namespace zrt;
using namespace zrt::testing;

namespace {

constexpr DataType F32 = DataType::F32, F16 = DataType::F16,
                   BF16 = DataType::BF16;

KernelSpec statistics(DataType type, int64_t elements, bool exact,
                      bool first = true) {
  KernelSpec spec;
  spec.name = "zero.grad_stats";
  spec.operands = flat(elements, {type});
  spec.ints = {{"partition", {1}}, {"exact", {exact}}, {"first", {first}}};
  return spec;
}

KernelSpec scaling(double clip, double divisor, bool exact, bool skip = true) {
  KernelSpec spec;
  spec.name = "zero.grad_scale";
  spec.floats = {{"clip", clip}, {"divisor", divisor}};
  spec.ints = {{"exact", {exact}}, {"skip", {skip}}};
  return spec;
}

std::string hexOf(const int64_t *limbs) {
  std::string text;
  char digits[9];
  for (int i = kNormLimbs - 1; i >= 0; --i) {
    std::snprintf(digits, sizeof digits, "%08x", unsigned(limbs[i]));
    text += digits;
  }
  size_t start = text.find_first_not_of('0');
  return start == std::string::npos ? "0" : text.substr(start);
}

TEST(OptimizerStatistics, SumsAreExact) {
  std::ifstream file(goldenPath("exact_norm.json"));
  for (const auto &golden : nlohmann::json::parse(file)) {
    SCOPED_TRACE(golden["name"]);
    std::vector<uint32_t> values = golden["values"];
    Bench bench;
    bench.control.normLimbs[5] = 99; // cleared by `first`
    bench.run(statistics(F32, values.size(), true), {values.data()});
    EXPECT_EQ(hexOf(bench.control.normLimbs), golden["units"]);
    double nearest = limbsToDouble(bench.control.normLimbs);
    uint64_t bits;
    std::memcpy(&bits, &nearest, sizeof bits);
    EXPECT_EQ(bits,
              std::stoull(golden["nearest"].get<std::string>(), nullptr, 16));
    EXPECT_EQ(bench.control.nonFinite, 0);
  }
}

/// A rank may own nothing of a partition: its part of the sum is nothing.
TEST(OptimizerStatistics, NoElementsAddNothing) {
  for (const DataType type : {F32, DataType::F16, DataType::BF16})
    for (const bool exact : {false, true}) {
      Bench bench;
      bench.control.normLimbs[5] = 99;
      bench.control.normSum = 7;
      bench.run(statistics(type, 0, exact), {nullptr});
      EXPECT_EQ(hexOf(bench.control.normLimbs), "0");
      EXPECT_EQ(bench.control.normSum, 0);
      EXPECT_EQ(bench.control.nonFinite, 0);
      EXPECT_EQ(bench.control.firstNonFinite[1], -1);
    }
}

/// Values of all magnitudes, in any order, cut anywhere, on any threads, and
/// with as many alike as fill a table between two flushes.
TEST(OptimizerStatistics, OrderSlicesAndThreadsDoNotMatter) {
  size_t elements = kSquaresPerFlush + 12345;
  std::mt19937 generator(5);
  Values values(F32, elements);
  for (size_t i = 0; i < elements; ++i)
    values.set(i, i % 4 ? 1.9999999f
                        : std::ldexp(1.7f, int(generator() % 250) - 140));
  Bench one;
  one.run(statistics(F32, elements, true), {values.data()});
  std::vector<float> shuffled(elements);
  std::memcpy(shuffled.data(), values.data(), values.bytes.size());
  std::shuffle(shuffled.begin(), shuffled.end(), generator);
  Bench other(3);
  size_t at = 0;
  for (size_t size : {size_t(1), size_t(17), size_t(100003)}) {
    other.run(statistics(F32, size, true, at == 0), {&shuffled[at]});
    at += size;
  }
  other.run(statistics(F32, elements - at, true, false), {&shuffled[at]});
  EXPECT_EQ(hexOf(one.control.normLimbs), hexOf(other.control.normLimbs));
}

/// The norm that an update finds where ranks hold slices of these
/// sizes.
float normOf(std::vector<float> values, std::vector<int64_t> slices,
             bool exact) {
  Control sum = {};
  size_t at = 0;
  for (int64_t size : slices) {
    Bench rank;
    rank.run(statistics(F32, size, exact), {&values[at]});
    for (int i = 0; i < kNormLimbs; ++i)
      sum.normLimbs[i] += rank.control.normLimbs[i];
    sum.normSum += rank.control.normSum;
    at += size_t(size);
  }
  Bench update;
  update.control.normSum = sum.normSum;
  std::copy_n(sum.normLimbs, kNormLimbs, update.control.normLimbs);
  update.run(scaling(1, 1, exact));
  return update.control.norm;
}

/// Why the norm of deterministic runs is exact: the square of this one lies
/// just above a tie of two f32 values, by small squares that are lost when
/// they are added to the large one, and kept when another rank adds them.
TEST(OptimizerStatistics, ARoundedNormDependsOnSlices) {
  std::vector<float> values(16 * 64);
  for (size_t i = 0; i < values.size(); i += 16)
    values[i] = std::ldexp(1.0f, -27);
  values[0] = 1;
  values[1] = values[2] = std::ldexp(1.0f, -12);
  values[3] = std::ldexp(1.0f, -24);
  const int64_t all = int64_t(values.size());
  const std::vector<int64_t> whole = {all}, cut = {16, all - 16};
  EXPECT_EQ(normOf(values, whole, true), normOf(values, cut, true));
  EXPECT_NE(normOf(values, whole, false), normOf(values, cut, false));
}

TEST(OptimizerStatistics, RoundedAndExactAgreeForEveryType) {
  std::mt19937 generator(6);
  for (DataType type : {F32, F16, BF16}) {
    Values values(type, 200001);
    values.randomize(generator, 1e-3f);
    Bench bench(2), alone(1);
    bench.run(statistics(type, values.size(), true), {values.data()});
    double exact = limbsToDouble(bench.control.normLimbs);
    bench.run(statistics(type, values.size(), false), {values.data()});
    EXPECT_NEAR(bench.control.normSum / exact, 1, 1e-14);
    alone.run(statistics(type, values.size(), false), {values.data()});
    EXPECT_EQ(bench.control.normSum, alone.control.normSum);
  }
}

TEST(OptimizerStatistics, CountsAndPlacesNonFiniteElements) {
  for (DataType type : {F32, F16, BF16})
    for (bool exact : {false, true}) {
      Values values(type, 100000);
      for (size_t i = 0; i < values.size(); ++i)
        values.set(i, 60000); // finite in f16
      Bench bench(2);
      KernelSpec spec = statistics(type, values.size(), exact);
      spec.ints["base"] = {1000};
      bench.run(spec, {values.data()});
      EXPECT_EQ(bench.control.nonFinite, 0);
      EXPECT_EQ(bench.control.firstNonFinite[1], -1);
      values.set(99999, -INFINITY);
      values.set(70001, NAN);
      values.set(70003, INFINITY);
      bench.run(spec, {values.data()});
      EXPECT_EQ(bench.control.nonFinite, 3);
      EXPECT_EQ(bench.control.firstNonFinite[1], 71001);
      EXPECT_EQ(bench.control.firstNonFinite[0], -1);
      // A second range adds, and the first place stays.
      spec.ints["first"] = {0};
      spec.ints["base"] = {500000};
      bench.run(spec, {values.data()});
      EXPECT_EQ(bench.control.nonFinite, 6);
      EXPECT_EQ(bench.control.firstNonFinite[1], 71001);
    }
}

/// What is no gradient is looked at, and not in the norm.
TEST(OptimizerStatistics, AddsNoSquaresWhereOnlyFiniteElementsAreAskedFor) {
  for (bool exact : {false, true}) {
    std::vector<float> values = {3, 4}, others(70000, 5);
    Bench bench(2);
    bench.run(statistics(F32, 2, exact), {values.data()});
    const Control before = bench.control;
    KernelSpec spec = statistics(F32, others.size(), exact, /*first=*/false);
    spec.ints["finite_only"] = {1};
    bench.run(spec, {others.data()});
    EXPECT_EQ(hexOf(bench.control.normLimbs), hexOf(before.normLimbs));
    EXPECT_EQ(bench.control.normSum, before.normSum);
    EXPECT_EQ(bench.control.nonFinite, 0);
    others[69999] = NAN;
    bench.run(spec, {others.data()});
    EXPECT_EQ(bench.control.nonFinite, 1);
    EXPECT_EQ(bench.control.firstNonFinite[1], 69999);
  }
}

TEST(OptimizerStatistics, ALargeFiniteGradientIsNoOverflow) {
  for (bool exact : {false, true}) {
    Values values(BF16, 1000);
    for (size_t i = 0; i < values.size(); ++i)
      values.set(i, 1e30f);
    Bench bench;
    bench.run(statistics(BF16, 1000, exact), {values.data()});
    bench.run(scaling(1.0, 1, exact));
    EXPECT_EQ(bench.control.finite, 1);
    double norm = values.get(0) * std::sqrt(1000.0);
    EXPECT_NEAR(bench.control.norm / norm, 1, 1e-6);
    EXPECT_NEAR(bench.control.factor * norm, 1, 1e-6);
  }
}

TEST(OptimizerStatistics, ScalesAndClips) {
  std::vector<float> values = {3, 4}; // norm 5
  for (bool exact : {false, true}) {
    Bench bench;
    bench.control.scale = 8;
    bench.run(statistics(F32, 2, exact), {values.data()});
    bench.run(scaling(0, 2, exact)); // unscaled norm 5/16
    EXPECT_FLOAT_EQ(bench.control.norm, 5.0f / 16);
    EXPECT_FLOAT_EQ(bench.control.factor, 1.0f / 16);
    bench.run(scaling(0.1, 2, exact));
    EXPECT_FLOAT_EQ(bench.control.factor, 0.1 / (5.0 / 16 + 1e-6) / 16);
    EXPECT_FLOAT_EQ(bench.control.unscale, 1.0f / 16);
    bench.run(scaling(1, 2, exact));
    EXPECT_FLOAT_EQ(bench.control.factor, 1.0f / 16);
    bench.control.nonFinite = 1;
    bench.run(scaling(1, 2, exact));
    EXPECT_EQ(bench.control.finite, 0);
    EXPECT_TRUE(std::isinf(bench.control.norm));
    bench.run(scaling(1, 2, exact, false));
    EXPECT_EQ(bench.control.finite, 1);
  }
}

TEST(OptimizerStatistics, AnEmptySliceTakesPart) {
  for (bool exact : {false, true}) {
    Bench bench(2);
    bench.control.nonFinite = 4;
    bench.run(statistics(F32, 0, exact), {nullptr});
    bench.run(scaling(1, 1, exact));
    EXPECT_EQ(bench.control.nonFinite, 0);
    EXPECT_EQ(bench.control.norm, 0);
    EXPECT_EQ(bench.control.factor, 1);
  }
}

} // namespace
