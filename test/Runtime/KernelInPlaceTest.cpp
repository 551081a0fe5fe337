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
