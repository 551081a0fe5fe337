// The `zero` operations: the bits of the host's kernels.
#include "../Runtime/UpdateRuleList.h"
#include "CudaTesting.h"

#include <cstring>
#include <limits>

using namespace zrt;
using namespace zrt::test;

namespace {

class CudaOptimizer : public CudaTest {
protected:
  Program program;
  Control control = [] {
    Control start = {};
    start.scale = 8;
    start.lossSeed = 2;
    start.factor = 0.25f;
    start.unscale = 0.5f;
    start.finite = 1;
    start.steps = 3;
    start.lastOverflow = -1;
    start.hysteresis = 2;
    std::fill_n(start.learningRate, kMaxGroups, 1e-3f);
    std::fill_n(start.firstNonFinite, kMaxGroups, int64_t(-1));
    return start;
  }();
};

/// Lengths around packs, threads and terms.
constexpr int64_t kLengths[] = {1, 3, 4, 1023, 65536, 200001};

KernelSpec makeUpdate(const ListedRule &rule,
                      const std::vector<Array> &buffers) {
  KernelSpec spec = makeSpec(rule.name, buffers, {});
  spec.ints = {{"partition", {1}}, {"bias_correction", {1}}, {"nesterov", {0}}};
  spec.floats = {{"beta1", 0.9},        {"beta2", 0.999},  {"epsilon", 1e-8},
                 {"weight_decay", 0.1}, {"momentum", 0.9}, {"weight", 0.3}};
  return onlyItsOwn(spec);
}

/// States that any rule may have: some hold sums of squares.
void addStates(const ListedRule &rule, int64_t n, std::vector<Array> &buffers) {
  const int states = rule.states(makeUpdate(rule, {}));
  for (int k = 0; k < states; ++k) {
    Array state = randomArray(DataType::F32, {n}, 3 + k, 0.1);
    for (int64_t i = 0; i < n; ++i)
      state.set(i, state[i] * state[i]);
    buffers.push_back(state);
  }
}

TEST_F(CudaOptimizer, Updates) {
  for (const ListedRule &rule : listUpdateRules())
    for (DataType gradient : kFloats)
      for (DataType compute : kFloats)
        for (int64_t n : kLengths) {
          std::vector<Array> buffers = {randomArray(gradient, {n}, 1),
                                        randomArray(DataType::F32, {n}, 2)};
          addStates(rule, n, buffers);
          if (compute != DataType::F32)
            buffers.push_back(randomArray(compute, {n}, 5));
          KernelSpec spec = makeUpdate(rule, buffers);
          compare(spec, buffers, 0, control, &program);
        }
}

TEST_F(CudaOptimizer, UpdatesOfASplitMaster) {
  for (const ListedRule &rule : listUpdateRules())
    for (int64_t n : kLengths) {
      Array lower(DataType::U16, {n});
      const Array bits = randomIds({n}, 65536, 9);
      for (int64_t i = 0; i < n; ++i)
        static_cast<uint16_t *>(lower.data())[i] = uint16_t(bits[i]);
      std::vector<Array> buffers = {randomArray(DataType::BF16, {n}, 1), lower};
      addStates(rule, n, buffers);
      buffers.push_back(randomArray(DataType::BF16, {n}, 5));
      KernelSpec spec = makeUpdate(rule, buffers);
      compare(spec, buffers, 0, control, &program);
    }
}

TEST_F(CudaOptimizer, AnUpdateThatIsSkippedChangesNothing) {
  control.finite = 0;
  const std::vector<Array> buffers = {randomArray(DataType::F32, {100}, 1),
                                      randomArray(DataType::F32, {100}, 2),
                                      randomArray(DataType::F32, {100}, 3),
                                      randomArray(DataType::F32, {100}, 4)};
  KernelSpec spec = makeSpec("zero.adamw", buffers, {});
  spec.ints = {{"partition", {0}}, {"bias_correction", {1}}};
  spec.floats = {{"beta1", 0.9},
                 {"beta2", 0.999},
                 {"epsilon", 1e-8},
                 {"weight_decay", 0.1}};
  const auto after = runOnDevice(spec, buffers, control, &program);
  for (size_t i = 0; i < buffers.size(); ++i)
    EXPECT_TRUE(after[i] == buffers[i]);
}

TEST_F(CudaOptimizer, ExactStatistics) {
  for (DataType type : kFloats)
    for (int64_t n : kLengths) {
      Array gradient = randomArray(type, {n}, 7, 1e-3);
      if (n > 1000)
        gradient.set(n - 2, std::numeric_limits<double>::infinity());
      KernelSpec spec = makeSpec("zero.grad_stats", {gradient}, {});
      spec.ints = {
          {"partition", {2}}, {"first", {1}}, {"exact", {1}}, {"base", {10}}};
      compare(spec, {gradient}, 0, control, &program);
    }
}

TEST_F(CudaOptimizer, StatisticsOfWhatIsNoGradient) {
  for (const int64_t exact : {0, 1})
    for (int64_t n : kLengths) {
      Array values = randomArray(DataType::F32, {n}, 7);
      if (n > 1000)
        values.set(n - 2, std::numeric_limits<double>::quiet_NaN());
      KernelSpec spec = makeSpec("zero.grad_stats", {values}, {});
      spec.ints = {
          {"partition", {2}}, {"exact", {exact}}, {"finite_only", {1}}};
      control.normSum = 7;
      control.normLimbs[4] = 9;
      compare(spec, {values}, 0, control, &program);
    }
}

/// The f64 sum has an order of its own here; the norm is an f32 in the end.
TEST_F(CudaOptimizer, RoundedStatistics) {
  const Array gradient = randomArray(DataType::BF16, {200001}, 8);
  KernelSpec spec = makeSpec("zero.grad_stats", {gradient}, {});
  spec.ints = {{"partition", {0}}, {"first", {1}}};
  Control onHost = control, onDevice = control;
  runOnHost(spec, {gradient}, onHost, &program);
  runOnDevice(spec, {gradient}, onDevice, &program);
  EXPECT_NEAR(onDevice.normSum / onHost.normSum, 1, 1e-12);
  EXPECT_EQ(onDevice.nonFinite, 0);
}

TEST_F(CudaOptimizer, NormVerdictAndScale) {
  for (int64_t bad : {0, 3})
    for (double clip : {0.0, 0.5}) {
      control.normSum = 1234.5;
      control.nonFinite = bad;
      KernelSpec scale = makeSpec("zero.grad_scale", {}, {});
      scale.floats = {{"clip", clip}, {"divisor", 4}};
      scale.ints = {{"skip", {1}}};
      compare(scale, {}, 0, control, &program);
    }
}

TEST_F(CudaOptimizer, TheScaleFollowsTheSameRule) {
  program.training.lossScale = {
      LossScaleKind::Dynamic, 65536, 1, 2, 3, 2, false};
  Control onHost = control, onDevice = control;
  const KernelSpec spec = makeSpec("zero.update_scale", {}, {});
  for (int i = 0; i < 40; ++i) {
    onHost.finite = onDevice.finite = i % 7 != 3 && i % 11 != 5;
    runOnHost(spec, {}, onHost, &program);
    runOnDevice(spec, {}, onDevice, &program);
    ASSERT_EQ(std::memcmp(&onHost, &onDevice, sizeof(Control)), 0) << i;
  }
}

TEST_F(CudaOptimizer, CopiesAccumulatesAndRecords) {
  for (int32_t micro : {0, 1}) {
    control.microIndex = micro;
    for (DataType from : kFloats) {
      for (DataType to : kFloats) {
        const std::vector<Array> two = {randomArray(from, {1023}, 1),
                                        randomArray(to, {1023}, 2)};
        compare(makeSpec("zero.copy", two, {}), two, 0, control, &program);
      }
      const std::vector<Array> sum = {randomArray(from, {1023}, 1),
                                      randomArray(DataType::F32, {1023}, 2)};
      compare(makeSpec("zero.accumulate", sum, {}), sum, 0, control, &program);
      const std::vector<Array> one = {randomArray(from, {}, 3)};
      compare(makeSpec("zero.loss_seed", {}, {one[0].type}), one, 0, control,
              &program);
      compare(makeSpec("zero.record_loss", one, {}), one, 0, control, &program);
      compare(makeSpec("zero.clear", one, {}), one, 0, control, &program);
    }
  }
}

TEST_F(CudaOptimizer, CopiesWhatWasUpdated) {
  for (int32_t finite : {0, 1}) {
    control.finite = finite;
    for (DataType type : kFloats) {
      const std::vector<Array> two = {randomArray(type, {1023}, 1),
                                      randomArray(type, {1023}, 2)};
      KernelSpec spec = makeSpec("zero.copy", two, {});
      spec.ints["updated"] = {1};
      compare(spec, two, 0, control, &program);
    }
  }
}

} // namespace
