// The loss scaler, the loss, accumulation and copies.
#include "OptimizerTesting.h"

#include <nlohmann/json.hpp>

#include <fstream>

using namespace zrt;
using namespace zrt::testing;

namespace {

constexpr DataType F32 = DataType::F32, F16 = DataType::F16,
                   BF16 = DataType::BF16;

KernelSpec named(const char *name, std::vector<TensorType> operands = {},
                 std::vector<TensorType> results = {}) {
  KernelSpec spec;
  spec.name = name;
  spec.operands = std::move(operands);
  spec.results = std::move(results);
  return spec;
}

/// The verdict over the gradients of one rank.
KernelSpec unclipped() {
  KernelSpec spec = named("zero.grad_scale");
  spec.floats = {{"clip", 0}, {"divisor", 1}};
  spec.ints = {{"skip", {1}}};
  return spec;
}

TEST(OptimizerScaler, FollowsDeepSpeed) {
  std::ifstream file(goldenPath("loss_scale.json"));
  int stops = 0;
  for (const auto &golden : nlohmann::json::parse(file)) {
    Bench bench;
    LossScale &scale = bench.program.training.lossScale;
    scale.kind = LossScaleKind::Dynamic;
    scale.initial = golden["initial"];
    scale.minimum = golden["minimum"];
    scale.window = golden["window"];
    scale.hysteresis = golden["hysteresis"];
    scale.consecutiveHysteresis = golden["consecutive"];
    bench.program.training.accumulation = 4;
    bench.control.scale = static_cast<float>(scale.initial);
    bench.control.hysteresis = static_cast<int32_t>(scale.hysteresis);
    std::unique_ptr<Kernel> kernel = bench.make(named("zero.update_scale"));
    std::string flags = golden["flags"];
    size_t update = 0, overflows = 0;
    auto advance = [&] {
      bench.control.finite = flags[update] == '0';
      overflows += flags[update++] == '1';
      kernel->run(nullptr, nullptr);
    };
    for (const auto &run : golden["scales"])
      for (int i = 0; i < run[0]; ++i) {
        advance();
        ASSERT_EQ(bench.control.scale, run[1].get<double>()) << update;
        ASSERT_EQ(bench.control.lossSeed, bench.control.scale / 4);
        ASSERT_FALSE(bench.control.fatal);
      }
    if (golden["stopped"]) {
      advance();
      EXPECT_TRUE(bench.control.fatal);
      ++stops;
    }
    EXPECT_EQ(update, flags.size());
    EXPECT_EQ(bench.control.skipped, int64_t(overflows));
    EXPECT_EQ(bench.control.steps, int64_t(update - overflows));
  }
  EXPECT_EQ(stops, 1);
}

TEST(OptimizerScaler, AStaticScaleStays) {
  for (LossScaleKind kind : {LossScaleKind::None, LossScaleKind::Static}) {
    Bench bench;
    bench.program.training.lossScale.kind = kind;
    bench.control.scale = 128;
    for (int finite : {0, 0, 0, 1}) {
      bench.control.finite = finite;
      bench.run(named("zero.update_scale"));
      EXPECT_EQ(bench.control.scale, 128);
      EXPECT_EQ(bench.control.lossSeed, 128);
    }
    EXPECT_EQ(bench.control.skipped, 3);
    EXPECT_EQ(bench.control.steps, 1);
    EXPECT_FALSE(bench.control.fatal);
  }
}

/// DeepSpeed changes the scale before the update divides by it, and so halves
/// the gradients of a growth step. Here they come out the same.
TEST(OptimizerScaler, AGrowthStepDividesByTheScaleOfItsLoss) {
  Bench bench;
  LossScale &scale = bench.program.training.lossScale;
  scale.kind = LossScaleKind::Dynamic;
  scale.window = 1;
  bench.control.scale = 1024;
  bench.control.hysteresis = 2;
  KernelSpec statistics = named("zero.grad_stats", flat(1, {F32}));
  statistics.ints = {{"partition", {0}}, {"first", {1}}};
  for (int update = 0; update < 5; ++update) {
    float gradient = 3 * bench.control.scale;
    float before = bench.control.scale;
    bench.run(statistics, {&gradient});
    bench.run(unclipped());
    EXPECT_EQ(bench.control.factor * gradient, 3);
    EXPECT_EQ(bench.control.norm, 3);
    bench.run(named("zero.update_scale"));
    EXPECT_EQ(bench.control.scale, update ? 2 * before : before);
  }
}

TEST(OptimizerLoss, SeedsAndSums) {
  Bench bench;
  bench.control.lossSeed = 0.375f;
  float seed = 0;
  bench.run(named("zero.loss_seed", {}, {{F32, {}}}), {&seed});
  EXPECT_EQ(seed, 0.375f);
  KernelSpec record = named("zero.record_loss", {{F32, {}}});
  bench.control.lossSum = 77;
  for (int micro = 0; micro < 3; ++micro) {
    float loss = 1.0f + micro;
    bench.control.microIndex = micro;
    bench.run(record, {&loss});
  }
  EXPECT_EQ(bench.control.lossSum, 6);
}

TEST(OptimizerLoss, WeighsMicroBatches) {
  Bench bench;
  bench.control.lossSeed = 0.5f;
  float seed = 0, weight = 0.25f;
  bench.run(named("zero.loss_seed", {{F32, {}}}, {{F32, {}}}),
            {&weight, &seed});
  EXPECT_EQ(seed, 0.125f);
  KernelSpec record = named("zero.record_loss", {{F32, {}}, {F32, {}}});
  bench.control.lossSum = bench.control.weightSum = 77;
  const float losses[] = {2, NAN, 8}, weights[] = {0.5f, 0, 0.25f};
  for (int micro = 0; micro < 3; ++micro) {
    bench.control.microIndex = micro;
    float loss = losses[micro], share = weights[micro];
    bench.run(record, {&loss, &share});
  }
  // The mean of no labels, which weighs nothing, is left out.
  EXPECT_EQ(bench.control.lossSum, 3);
  EXPECT_EQ(bench.control.weightSum, 0.75);

  bench.control.scale = 1;
  bench.control.normSum = 9;
  KernelSpec judge = unclipped();
  judge.ints["micro_batches"] = {3};
  bench.run(judge);
  EXPECT_EQ(bench.control.meanWeight, 0.25f);
  EXPECT_EQ(bench.control.norm, 12);
  EXPECT_EQ(bench.control.factor, 4);
  EXPECT_EQ(bench.control.unscale, 1); // of averages, which have no weights
  // Where nothing counts, all gradients are 0, and stay so.
  bench.control.weightSum = 0;
  bench.run(judge);
  EXPECT_EQ(bench.control.factor, 1);
}

TEST(OptimizerAccumulate, CopiesThenAdds) {
  constexpr size_t elements = 40007;
  std::mt19937 generator(3);
  for (DataType from : {F32, F16, BF16}) {
    Bench bench(2);
    bench.program.training.accumulation = 3;
    Values sum(F32, elements), wanted(F32, elements);
    for (size_t i = 0; i < elements; ++i)
      sum.set(i, NAN); // the first micro-batch must not read it
    for (int micro = 0; micro < 3; ++micro) {
      Values gradient(from, elements);
      gradient.randomize(generator, 1);
      bench.control.microIndex = micro;
      bench.run(named("zero.accumulate", flat(elements, {from, F32})),
                {gradient.data(), sum.data()});
      for (size_t i = 0; i < elements; ++i)
        wanted.set(i, wanted.get(i) + gradient.get(i));
    }
    EXPECT_TRUE(sum == wanted) << nameOf(from);
  }
}

/// Of what several stages of a pipeline have.
TEST(OptimizerAccumulate, AddsInTheFirstMicroBatchWhereToldTo) {
  constexpr size_t elements = 40007;
  std::mt19937 generator(4);
  Bench bench(2);
  bench.control.microIndex = 0;
  KernelSpec spec = named("zero.accumulate", flat(elements, {F32, F32}));
  spec.ints["add"] = {1};
  Values sum(F32, elements), gradient(F32, elements), wanted(F32, elements);
  sum.randomize(generator, 1);
  gradient.randomize(generator, 1);
  for (size_t i = 0; i < elements; ++i)
    wanted.set(i, sum.get(i) + gradient.get(i));
  bench.run(spec, {gradient.data(), sum.data()});
  EXPECT_TRUE(sum == wanted);
  spec = named("zero.accumulate", flat(4, {BF16, BF16}));
  spec.ints["add"] = {1};
  EXPECT_THROW(bench.make(spec), std::invalid_argument);
}

TEST(OptimizerAccumulate, RefusesSumsInSixteenBits) {
  Bench bench;
  KernelSpec spec = named("zero.accumulate", flat(4, {BF16, BF16}));
  EXPECT_NO_THROW(bench.make(spec));
  bench.program.training.accumulation = 2;
  EXPECT_THROW(bench.make(spec), std::invalid_argument);
}

TEST(OptimizerCopy, ConvertsEveryPairOfTypes) {
  constexpr size_t elements = 100003;
  for (DataType from : {F32, F16, BF16})
    for (DataType to : {F32, F16, BF16}) {
      Values source(from, elements), target(to, elements), wanted(to, elements);
      for (size_t i = 0; i < elements; ++i) {
        float value = floatOf(uint32_t(i) * 2654435761u);
        source.set(i, std::isnan(value) ? 1.5f : value);
        wanted.set(i, source.get(i));
      }
      Bench bench(3);
      bench.run(named("zero.copy", flat(elements, {from, to})),
                {source.data(), target.data()});
      EXPECT_TRUE(target == wanted) << nameOf(from) << " to " << nameOf(to);
    }
}

TEST(OptimizerCopy, MovesAnyTypeAsBytes) {
  Bench bench;
  std::vector<int64_t> source = {1, -2, 3}, target(3);
  bench.run(named("zero.copy", flat(3, {DataType::I64, DataType::I64})),
            {source.data(), target.data()});
  EXPECT_EQ(source, target);
  EXPECT_THROW(bench.make(named("zero.copy", flat(3, {DataType::I64, F32}))),
               std::invalid_argument);
}

TEST(OptimizerCopy, OfAnUpdateThatIsSkippedCopiesNothing) {
  Bench bench;
  KernelSpec spec = named("zero.copy", flat(3, {F32, F32}));
  spec.ints["updated"] = {1};
  std::vector<float> source = {1, 2, 3}, target = {7, 7, 7};
  bench.control.finite = 0;
  bench.run(spec, {source.data(), target.data()});
  EXPECT_EQ(target, std::vector<float>({7, 7, 7}));
  bench.control.finite = 1;
  bench.run(spec, {source.data(), target.data()});
  EXPECT_EQ(target, source);
}

} // namespace
