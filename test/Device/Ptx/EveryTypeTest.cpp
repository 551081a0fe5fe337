// Small cases of the kernels that no other test reaches, beside the host's: one
// for each type of elements, mostly.
#include "../CudaTesting.h"

using namespace zrt;
using namespace zrt::test;

namespace {

class EveryType : public CudaTest {};

/// Bytes that differ, of elements of any type.
Array counted(DataType type, std::vector<int64_t> shape) {
  Array made(type, std::move(shape));
  for (size_t i = 0; i < made.bytes(); ++i)
    static_cast<unsigned char *>(made.data())[i] = (unsigned char)(7 * i);
  return made;
}

KernelSpec attentionOf(const char *name, const std::vector<Array> &inputs,
                       const std::vector<TensorType> &results, double dropout) {
  KernelSpec spec = makeSpec(name, inputs, results);
  spec.ints = {{"causal", {1}}, {"mask", {0}}};
  spec.floats["scale"] = 0.125;
  if (dropout != 0) {
    spec.ints["id"] = {3};
    spec.floats["dropout"] = dropout;
  }
  return spec;
}

class Attentions : public EveryType {
protected:
  void check(DataType type, int64_t features, double dropout) {
    Control control = {};
    control.seed = 7;
    const std::vector<int64_t> shape = {1, 5, 1, features};
    const Array q = randomArray(type, shape, 1),
                k = randomArray(type, shape, 2),
                v = randomArray(type, shape, 3),
                dy = randomArray(type, shape, 4);
    const Array sums(DataType::F32, {1, 1, 5});
    const KernelSpec forward =
        attentionOf("nn.attention", {q, k, v}, {q.type, sums.type}, dropout);
    compare(forward, {q, k, v}, 4 * toleranceOf(type), control);
    Control own = control;
    const std::vector<Array> left =
        runOnHost(forward, {q, k, v, Array(type, shape), sums}, own);
    const std::vector<Array> inputs = {dy, q, k, v, left[3], left[4]};
    compare(attentionOf("nn.attention_grad", inputs, {q.type, q.type, q.type},
                        dropout),
            inputs, 8 * toleranceOf(type), control);
  }
};

/// Of so many features that a lane has four outputs or fewer, and of more.
TEST_F(Attentions, OfNarrowAndWideHeads) {
  for (DataType type : kFloats)
    for (int64_t features : {24, 136})
      for (double dropout : {0.0, 0.3})
        check(type, features, dropout);
}

TEST_F(EveryType, GathersAndScatters) {
  for (DataType type : {DataType::I8, DataType::I64}) {
    const Array whole = counted(type, {6, 11}), part = counted(type, {3, 11}),
                ids = randomIds({3, 11}, 6, 5);
    KernelSpec gather = makeSpec("nn.gather", {whole, ids}, {part.type});
    gather.ints["dim"] = {0};
    compare(gather, {whole, ids}, 0);
    KernelSpec scatter =
        makeSpec("nn.scatter", {part, ids, whole}, {whole.type});
    scatter.ints = {{"dim", {0}}, {"kind", {0}}};
    compare(scatter, {part, ids, whole}, 0);
  }
}

TEST_F(EveryType, MovesEightBytes) {
  const Array x = counted(DataType::I64, {70, 33});
  KernelSpec transpose =
      makeSpec("nn.transpose", {x}, {{DataType::I64, {33, 70}}});
  transpose.ints["permutation"] = {1, 0};
  compare(transpose, {x}, 0);
  KernelSpec pad = makeSpec("tensor.pad", {x}, {{DataType::I64, {71, 35}}});
  pad.ints = {{"low", {1, 1}}, {"high", {0, 1}}};
  pad.floats["value"] = 3;
  compare(pad, {x}, 0);
}

TEST_F(EveryType, ReducesColumns) {
  for (DataType type : kFloats)
    for (int64_t kind : {0, 1}) {
      const Array x = randomArray(type, {70, 64}, 1);
      KernelSpec reduce = makeSpec("nn.reduce", {x}, {{type, {64}}});
      reduce.ints = {{"kind", {kind}}, {"dims", {0}}};
      compare(reduce, {x}, toleranceOf(type));
    }
}

TEST_F(EveryType, AddsBesideNorms) {
  for (DataType type : kFloats) {
    const Array x = randomArray(type, {3, 1100}, 1),
                other = randomArray(type, {3, 1100}, 2),
                w = randomArray(type, {1100}, 3);
    KernelSpec norm = makeSpec("nn.add_rms_norm", {x, other, w},
                               {x.type, {DataType::F32, {3}}, x.type});
    norm.floats["eps"] = 1e-5;
    compare(norm, {x, other, w}, toleranceOf(type));
  }
}

TEST_F(EveryType, DropsOfAPart) {
  Control control = {};
  control.seed = 77;
  for (DataType type : kFloats) {
    const Array x = randomArray(type, {2, 3, 37}, 1);
    Array first(DataType::I32, {});
    first.set(0, 4);
    KernelSpec spec = makeSpec("nn.partial_dropout", {x, first}, {x.type});
    spec.ints = {{"id", {5}}, {"dim", {1}}, {"size", {12}}};
    spec.floats["p"] = 0.4;
    compare(spec, {x, first}, 0, control);
  }
}

/// Rows of an odd number of bytes, and of an odd number of 16 bits.
TEST_F(EveryType, LooksUpRowsOfOddWidth) {
  for (DataType type : {DataType::I8, DataType::BF16}) {
    const std::vector<Array> x = {randomIds({4, 5}, 19, 1),
                                  counted(type, {19, 7})};
    compare(makeSpec("nn.embedding", x, {{type, {4, 5, 7}}}), x, 0);
  }
}

} // namespace
