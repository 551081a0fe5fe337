// The `nn` operations: within rounding of the host's kernels.
#include "CudaTesting.h"

using namespace zrt;
using namespace zrt::test;

namespace {

using CudaKernels = CudaTest;

TensorType f32(std::vector<int64_t> shape) {
  return {DataType::F32, std::move(shape)};
}

TEST_F(CudaKernels, Products) {
  for (DataType type : kFloats)
    for (int64_t transposed : {0, 1})
      for (int64_t bias : {0, 1}) {
        std::vector<Array> x = {randomArray(type, {3, 40, 72}, 1)};
        x.push_back(transposed ? randomArray(type, {56, 72}, 2)
                               : randomArray(type, {72, 56}, 2));
        if (bias)
          x.push_back(randomArray(type, {56}, 3));
        KernelSpec spec = makeSpec("nn.linear", x, {{type, {3, 40, 56}}});
        spec.ints = {{"transposed", {transposed}}, {"bias", {bias}}};
        compare(spec, x, toleranceOf(type));
        const std::vector<Array> ab = {
            transposed ? randomArray(type, {4, 24, 40}, 4)
                       : randomArray(type, {4, 40, 24}, 4),
            bias ? randomArray(type, {4, 56, 24}, 5)
                 : randomArray(type, {4, 24, 56}, 5)};
        KernelSpec product = makeSpec("nn.matmul", ab, {{type, {4, 40, 56}}});
        product.ints = {{"transpose_a", {transposed}}, {"transpose_b", {bias}}};
        compare(product, ab, toleranceOf(type));
      }
}

/// Gelu of a product may be of what it was before it was rounded.
TEST_F(CudaKernels, ProductsWithGelu) {
  for (DataType type : {DataType::F16, DataType::BF16})
    for (int64_t transposed : {0, 1})
      for (bool second : {false, true}) {
        std::vector<Array> x = {randomArray(type, {3, 40, 72}, 1),
                                transposed ? randomArray(type, {56, 72}, 2)
                                           : randomArray(type, {72, 56}, 2)};
        const TensorType result = {type, {3, 40, 56}};
        KernelSpec grad = makeSpec(
            "nn.linear_gelu_grad",
            {x[0], x[1], randomArray(type, result.shape, 4)}, {result});
        grad.ints = {{"transposed", {transposed}}};
        if (second)
          grad.results.push_back({type, {56}});
        compare(grad, {x[0], x[1], randomArray(type, result.shape, 4, 3)},
                2 * toleranceOf(type));
        for (int64_t bias : {0, 1}) {
          if (bias)
            x.push_back(randomArray(type, {56}, 3));
          KernelSpec spec = makeSpec("nn.linear_gelu", x, {result});
          spec.ints = {{"transposed", {transposed}}, {"bias", {bias}}};
          if (second)
            spec.results.push_back(result);
          compare(spec, x, 2 * toleranceOf(type));
        }
      }
}

TEST_F(CudaKernels, Norms) {
  for (DataType type : kFloats)
    for (int64_t width : {24, 768, 1001}) {
      const int64_t rows = 70;
      const std::vector<Array> x = {randomArray(type, {rows, width}, 1),
                                    randomArray(type, {width}, 2),
                                    randomArray(type, {width}, 3)};
      KernelSpec layer =
          makeSpec("nn.layer_norm", x,
                   {{type, {rows, width}}, f32({rows}), f32({rows})});
      layer.floats["eps"] = 1e-5;
      compare(layer, x, toleranceOf(type));
      const std::vector<Array> y(x.begin(), x.begin() + 2);
      KernelSpec rms =
          makeSpec("nn.rms_norm", y, {{type, {rows, width}}, f32({rows})});
      rms.floats["eps"] = 1e-5;
      compare(rms, y, toleranceOf(type));
      const Array dy = randomArray(type, {rows, width}, 4);
      const Array mean = randomArray(DataType::F32, {rows}, 5, 0.1);
      Array rstd = randomArray(DataType::F32, {rows}, 6, 0.1);
      for (int64_t i = 0; i < rows; ++i)
        rstd.set(i, 1 + rstd[i]);
      const std::vector<Array> g = {dy, x[0], x[1], mean, rstd};
      compare(
          makeSpec("nn.layer_norm_grad", g,
                   {{type, {rows, width}}, {type, {width}}, {type, {width}}}),
          g, 2 * toleranceOf(type));
      const std::vector<Array> r = {dy, x[0], x[1], rstd};
      compare(makeSpec("nn.rms_norm_grad", r,
                       {{type, {rows, width}}, {type, {width}}}),
              r, 2 * toleranceOf(type));
    }
}

TEST_F(CudaKernels, SoftmaxAndCrossEntropy) {
  for (DataType type : kFloats)
    for (int64_t width : {17, 256, 5003}) {
      const int64_t rows = 33;
      const std::vector<Array> x = {randomArray(type, {rows, width}, 1, 4)};
      compare(makeSpec("nn.softmax", x, {{type, {rows, width}}}), x,
              toleranceOf(type));
      const std::vector<Array> g = {randomArray(type, {rows, width}, 2),
                                    randomArray(type, {rows, width}, 3)};
      compare(makeSpec("nn.softmax_grad", g, {{type, {rows, width}}}), g,
              2 * toleranceOf(type));
      Array targets = randomIds({rows}, width, 4);
      targets.set(5, -100);
      const std::vector<Array> l = {x[0], targets};
      compare(makeSpec("nn.cross_entropy", l, {f32({}), f32({rows})}), l, 2e-5);
      Array lse = randomArray(DataType::F32, {rows}, 5, 0.1);
      for (int64_t i = 0; i < rows; ++i)
        lse.set(i, 6 + lse[i]);
      const std::vector<Array> d = {randomArray(DataType::F32, {}, 6), x[0],
                                    targets, lse};
      compare(makeSpec("nn.cross_entropy_grad", d, {{type, {rows, width}}}), d,
              toleranceOf(type));
    }
}

TEST_F(CudaKernels, TokensAddInOrder) {
  for (DataType type : kFloats) {
    const Array ids = randomIds({4, 50}, 19, 1);
    const std::vector<Array> x = {ids, randomArray(type, {19, 72}, 2)};
    compare(makeSpec("nn.embedding", x, {{type, {4, 50, 72}}}), x, 0);
    for (int64_t init : {0, 1}) {
      std::vector<Array> g = {randomArray(type, {4, 50, 72}, 3), ids};
      if (init)
        g.push_back(randomArray(type, {19, 72}, 4));
      KernelSpec spec = makeSpec("nn.embedding_grad", g, {{type, {19, 72}}});
      spec.ints["init"] = {init};
      compare(spec, g, 0);
    }
  }
}

TEST_F(CudaKernels, AnIdOutsideIsTold) {
  Array ids = randomIds({8}, 5, 1);
  ids.set(3, 77);
  const std::vector<Array> x = {ids, randomArray(DataType::F32, {5, 4}, 2),
                                Array(DataType::F32, {8, 4})};
  KernelSpec spec = makeSpec("nn.embedding", {x[0], x[1]}, {f32({8, 4})});
  Control control = {};
  runOnDevice(spec, x, control);
  EXPECT_EQ(control.outOfRange, 1);
}

TEST_F(CudaKernels, RotaryAndDropout) {
  for (DataType type : kFloats) {
    const std::vector<Array> x = {randomArray(type, {2, 9, 3, 24}, 1)};
    for (int64_t interleaved : {0, 1})
      for (int64_t inverse : {0, 1}) {
        KernelSpec spec = makeSpec("nn.rotary", x, {x[0].type});
        spec.ints = {{"interleaved", {interleaved}}, {"inverse", {inverse}}};
        spec.floats["theta"] = 10000;
        compare(spec, x, toleranceOf(type));
      }
    KernelSpec spec = makeSpec("nn.dropout", x, {x[0].type});
    spec.ints["id"] = {5};
    spec.floats["p"] = 0.3;
    Control control = {};
    control.seed = 99;
    control.batch = 12;
    compare(spec, x, 0, control);
    control.evaluating = 1;
    compare(spec, x, 0, control);
  }
}

TEST_F(CudaKernels, Reductions) {
  const std::vector<std::vector<int64_t>> dims = {{0}, {2},    {0, 1},
                                                  {1}, {0, 2}, {0, 1, 2}};
  for (DataType type : kFloats)
    for (int64_t kind : {0, 1, 2})
      for (const auto &reduced : dims) {
        const std::vector<Array> x = {randomArray(type, {37, 6, 130}, 1)};
        std::vector<int64_t> shape;
        for (int64_t d = 0; d < 3; ++d)
          if (std::find(reduced.begin(), reduced.end(), d) == reduced.end())
            shape.push_back(x[0].type.shape[size_t(d)]);
        KernelSpec spec = makeSpec("nn.reduce", x, {{type, shape}});
        spec.ints = {{"kind", {kind}}, {"dims", reduced}};
        compare(spec, x, 2 * toleranceOf(type));
      }
}

TEST_F(CudaKernels, MovesData) {
  for (DataType type : {DataType::F32, DataType::BF16, DataType::I8}) {
    const Array x = type == DataType::I8 ? Array(type, {4, 33, 70})
                                         : randomArray(type, {4, 33, 70}, 1);
    for (const std::vector<int64_t> &permutation :
         {std::vector<int64_t>{0, 2, 1}, {2, 1, 0}, {1, 0, 2}}) {
      std::vector<int64_t> shape;
      for (int64_t dim : permutation)
        shape.push_back(x.type.shape[size_t(dim)]);
      KernelSpec spec = makeSpec("nn.transpose", {x}, {{type, shape}});
      spec.ints["permutation"] = permutation;
      compare(spec, {x}, 0);
    }
    KernelSpec split =
        makeSpec("nn.split", {x}, {{type, {4, 33, 30}}, {type, {4, 33, 40}}});
    split.ints["dim"] = {2};
    compare(split, {x}, 0);
    KernelSpec pad = makeSpec("tensor.pad", {x}, {{type, {5, 36, 70}}});
    pad.ints = {{"low", {1, 1, 0}}, {"high", {0, 2, 0}}};
    pad.floats["value"] = 3;
    compare(pad, {x}, 0);
  }
}

} // namespace
