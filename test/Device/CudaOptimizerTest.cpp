// The `zero` operations, bitwise equal to the host's kernels.
#include "../Runtime/kernels/QuantizeTesting.h"
#include "../Runtime/kernels/UpdateRuleList.h"
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

/// Lower halves of f32 masters.
Array randomLower(int64_t n) {
  Array lower(DataType::U16, {n});
  const Array bits = randomIds({n}, 65536, 9);
  for (int64_t i = 0; i < n; ++i)
    static_cast<uint16_t *>(lower.data())[i] = uint16_t(bits[i]);
  return lower;
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
      std::vector<Array> buffers = {randomArray(DataType::BF16, {n}, 1),
                                    randomLower(n)};
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
      KernelSpec accumulate = makeSpec("zero.accumulate", sum, {});
      compare(accumulate, sum, 0, control, &program);
      accumulate.ints["add"] = {1};
      compare(accumulate, sum, 0, control, &program);
      const std::vector<Array> one = {randomArray(from, {}, 3)};
      compare(makeSpec("zero.loss_seed", {}, {one[0].type}), one, 0, control,
              &program);
      compare(makeSpec("zero.record_loss", one, {}), one, 0, control, &program);
      const Array weight = randomArray(DataType::F32, {}, 4);
      compare(makeSpec("zero.loss_seed", {weight}, {one[0].type}),
              {weight, one[0]}, 0, control, &program);
      const std::vector<Array> weighted = {one[0], weight};
      compare(makeSpec("zero.record_loss", weighted, {}), weighted, 0, control,
              &program);
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

//===----------------------------------------------------------------------===//
// Buffers that begin at multiples of their elements alone
//===----------------------------------------------------------------------===//

TEST_F(CudaOptimizer, UpdatesAtAnyAlignment) {
  constexpr int64_t n = 1023;
  for (const ListedRule &rule : listUpdateRules())
    for (DataType compute : kFloats) {
      std::vector<Array> buffers = {randomArray(compute, {n}, 1),
                                    randomArray(DataType::F32, {n}, 2)};
      addStates(rule, n, buffers);
      if (compute != DataType::F32)
        buffers.push_back(randomArray(compute, {n}, 5));
      compareAlignments(makeUpdate(rule, buffers), buffers, control, &program);
      if (compute != DataType::BF16)
        continue;
      buffers[1] = randomLower(n);
      compareAlignments(makeUpdate(rule, buffers), buffers, control, &program);
    }
}

TEST_F(CudaOptimizer, StatisticsAtAnyAlignment) {
  for (DataType type : kFloats)
    for (int64_t exact : {0, 1}) {
      Array gradient = randomArray(type, {70001}, 7, 1e-3);
      KernelSpec spec = makeSpec("zero.grad_stats", {gradient}, {});
      spec.ints = {{"partition", {2}}, {"first", {1}}, {"exact", {exact}}};
      compareAlignments(spec, {gradient}, control, &program);
      gradient.set(69998, std::numeric_limits<double>::infinity());
      compareAlignments(spec, {gradient}, control, &program);
    }
}

TEST_F(CudaOptimizer, CopiesAtAnyAlignment) {
  control.microIndex = 1;
  for (DataType from : kFloats)
    for (DataType to : kFloats) {
      const std::vector<Array> two = {randomArray(from, {1023}, 1),
                                      randomArray(to, {1023}, 2)};
      compareAlignments(makeSpec("zero.copy", two, {}), two, control, &program);
      if (to == DataType::F32)
        compareAlignments(makeSpec("zero.accumulate", two, {}), two, control,
                          &program);
      if (from != to)
        continue;
      KernelSpec updated = makeSpec("zero.copy", two, {});
      updated.ints["updated"] = {1};
      compareAlignments(updated, two, control, &program);
    }
}

TEST_F(CudaOptimizer, QuantizationAtAnyAlignment) {
  const QuantizedPieces cut = {2, 3, 65};
  for (DataType type : kFloats)
    for (const Quantization how : {Quantization{8, 32}, Quantization{4, 16}}) {
      const int64_t bytes = how.packedBytes(cut.piece);
      const TensorType packed = {DataType::I8, {cut.all() * bytes}};
      const Array x = randomArray(type, {cut.all() * cut.piece}, 1, 3);
      KernelSpec spec = makeSpec("zero.quantize", {x}, {packed});
      spec.ints = {{"bits", {how.bits}}, {"block", {how.block}}};
      setPieces(spec, cut);
      compareAlignments(spec, {x}, control, &program);
      const Array errors = randomArray(DataType::BF16, x.type.shape, 2, 0.1);
      spec.name = "zero.quantize_feedback";
      spec.operands.push_back(errors.type);
      spec.results.push_back(errors.type);
      spec.ints["reset"] = {3};
      spec.ints["accumulation"] = {2};
      spec.floats["beta"] = 0.7;
      compareAlignments(spec, {x, errors}, control, &program);
      // What another kernel packed: 130 elements of two ranks.
      KernelSpec pack = makeSpec("zero.quantize", {x}, {packed});
      pack.ints = {{"bits", {how.bits}}, {"block", {how.block}}};
      setPieces(pack, cut);
      Control own = control;
      const Array sent =
          runOnDevice(pack, {x, Array(packed.type, packed.shape)}, own)[1];
      KernelSpec sum = makeSpec("zero.sum_quantized", {sent},
                                {{type, {cut.pieces * cut.piece}}});
      sum.ints = {{"bits", {how.bits}}, {"block", {how.block}}};
      setPieces(sum, cut);
      compareAlignments(sum, {sent}, control, &program);
      compareAlignments(dequantizeSpec(sent, type, how, cut.all(), {cut.piece}),
                        {sent}, control, &program);
    }
}

} // namespace
