// Results in the memory of operands: the kernels of operations that have the
// trait OverwritesOperands.
#include "KernelTest.h"

namespace zrt::test {
namespace {

/// Expects each result in the memory of each operand of its size to have the
/// bits that it has in memory of its own.
void expectInPlace(const KernelSpec &spec, const std::vector<Array> &inputs,
                   Setting setting = {}) {
  SCOPED_TRACE(spec.name + " " + nameOf(spec.results[0].type));
  const std::vector<Array> wanted = runKernel(spec, inputs, setting);
  int places = 0;
  for (int threads : {1, 3})
    for (size_t r = 0; r < spec.results.size(); ++r)
      for (size_t o = 0; o < inputs.size(); ++o) {
        if (inputs[o].type.type != spec.results[r].type ||
            inputs[o].type.shape != spec.results[r].shape)
          continue;
        setting.threads = threads;
        const std::vector<Array> found =
            runKernelInPlace(spec, inputs, r, o, setting);
        for (size_t i = 0; i < wanted.size(); ++i)
          EXPECT_TRUE(found[i] == wanted[i]) << "result " << r << " in operand "
                                             << o << " changes result " << i;
        ++places;
      }
  EXPECT_GT(places, 0);
}

TEST(KernelInPlace, CrossEntropyGrad) {
  for (DataType type : kFloats)
    for (int64_t width : {1, 13, 1000}) {
      const std::vector<Array> inputs = {
          randomArray(DataType::F32, {}, 1),
          randomArray(type, {133, width}, 2, 4), randomIds({133}, width, 3),
          randomArray(DataType::F32, {133}, 4, 4)};
      KernelSpec spec =
          makeSpec("nn.cross_entropy_grad", inputs, {inputs[1].type});
      spec.ints["ignore_index"] = {0};
      expectInPlace(spec, inputs);
    }
}

TEST(KernelInPlace, SiluMul) {
  for (DataType type : kFloats)
    for (int64_t size : {1, 33, 70001}) {
      const std::vector<Array> inputs = {randomArray(type, {size}, 1),
                                         randomArray(type, {size}, 2, 6),
                                         randomArray(type, {size}, 3)};
      const TensorType result = inputs[0].type;
      expectInPlace(makeSpec("nn.silu_mul", {inputs[1], inputs[2]}, {result}),
                    {inputs[1], inputs[2]});
      expectInPlace(makeSpec("nn.silu_mul_grad", inputs, {result, result}),
                    inputs);
    }
}

TEST(KernelInPlace, Rotary) {
  for (DataType type : kFloats)
    for (int64_t interleaved : {0, 1})
      for (int64_t width : {6, 64}) {
        const std::vector<Array> x = {randomArray(type, {2, 5, 4, width}, 1)};
        KernelSpec spec = makeSpec("nn.rotary", x, {x[0].type});
        spec.ints = {{"interleaved", {interleaved}}, {"inverse", {0}}};
        spec.floats["theta"] = 10000;
        expectInPlace(spec, x);
        spec.ints["heads"] = {1, 3};
        expectInPlace(spec, x);
      }
}

/// Rows of one warp of a device, and longer ones than its registers hold.
TEST(KernelInPlace, NormsWithAdditions) {
  for (DataType type : kFloats)
    for (int64_t width : {13, 256, 8216}) {
      auto rows = [&](uint64_t seed) {
        return randomArray(type, {3, width}, seed);
      };
      const Array w = randomArray(type, {width}, 3),
                  statistic = randomArray(DataType::F32, {3}, 4);
      const TensorType x = rows(1).type, s = statistic.type;
      std::vector<Array> sums = {rows(1), rows(2), w},
                         gradients = {rows(5), rows(6), rows(7), w, statistic};
      KernelSpec rms = makeSpec("nn.add_rms_norm", sums, {x, s, x});
      rms.floats["eps"] = 1e-5;
      expectInPlace(rms, sums);
      expectInPlace(makeSpec("nn.add_rms_norm_grad", gradients, {x, w.type}),
                    gradients);
      sums.push_back(w);
      gradients.push_back(statistic);
      KernelSpec layer = makeSpec("nn.add_layer_norm", sums, {x, s, s, x});
      layer.floats["eps"] = 1e-5;
      expectInPlace(layer, sums);
      expectInPlace(
          makeSpec("nn.add_layer_norm_grad", gradients, {x, w.type, w.type}),
          gradients);
    }
}

TEST(KernelInPlace, Dropout) {
  for (DataType type : kFloats)
    for (int32_t evaluating : {0, 1}) {
      const Array x = randomArray(type, {6, 10037}, 1);
      KernelSpec spec = makeSpec("nn.dropout", {x}, {x.type});
      spec.ints["id"] = {3};
      spec.floats["p"] = 0.3;
      Control control{};
      control.seed = 5;
      control.evaluating = evaluating;
      Setting setting;
      setting.control = &control;
      expectInPlace(spec, {x}, setting);
    }
}

} // namespace
} // namespace zrt::test
