// The `nn` operations: within rounding of the host's kernels.
#include "CudaTesting.h"
#include "kernels/cuda/Launchers.h"

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
        // Sums over rows, too, may be of what was not rounded yet: the host's
        // are of rounded terms, whose errors add up.
        compare(grad, {x[0], x[1], randomArray(type, result.shape, 4, 3)},
                (second ? 4 : 2) * toleranceOf(type));
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

/// The host rounds the product, which may be larger than the sum, before it
/// adds.
TEST_F(CudaKernels, ProductsThatAreAdded) {
  for (DataType type : kFloats)
    for (int64_t transposed : {0, 1})
      for (int64_t bias : {0, 1}) {
        std::vector<Array> x = {randomArray(type, {3, 40, 72}, 1),
                                transposed ? randomArray(type, {56, 72}, 2)
                                           : randomArray(type, {72, 56}, 2),
                                randomArray(type, {3, 40, 56}, 3, 5)};
        if (bias)
          x.push_back(randomArray(type, {56}, 4));
        KernelSpec spec = makeSpec("nn.linear_add", x, {x[2].type});
        spec.ints = {{"transposed", {transposed}}, {"bias", {bias}}};
        compare(spec, x, 4 * toleranceOf(type));
      }
}

TEST_F(CudaKernels, GradientsOfWeightAndBias) {
  for (DataType type : kFloats)
    for (int64_t transposed : {0, 1}) {
      const std::vector<Array> x = {randomArray(type, {3, 40, 56}, 1),
                                    randomArray(type, {3, 40, 72}, 2)};
      KernelSpec spec =
          makeSpec("nn.linear_weight_grad", x,
                   {{type, transposed ? std::vector<int64_t>{56, 72}
                                      : std::vector<int64_t>{72, 56}},
                    {type, {56}}});
      spec.ints = {{"transposed", {transposed}}};
      compare(spec, x, 2 * toleranceOf(type));
    }
}

TEST_F(CudaKernels, Norms) {
  // Rows of one warp and of several, and longer ones than registers hold.
  for (DataType type : kFloats)
    for (int64_t width : {24, 768, 1001, 2304, 8216}) {
      const int64_t rows = width < 2000 ? 70 : 21;
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
      const Array residual = randomArray(type, {rows, width}, 7);
      const std::vector<Array> sum = {x[0], residual, x[1], x[2]};
      KernelSpec ofSum = makeSpec("nn.add_layer_norm", sum,
                                  {{type, {rows, width}},
                                   f32({rows}),
                                   f32({rows}),
                                   {type, {rows, width}}});
      ofSum.floats["eps"] = 1e-5;
      compare(ofSum, sum, toleranceOf(type));
      const std::vector<Array> plus = {dy, residual, x[0], x[1], rstd};
      compare(makeSpec("nn.add_rms_norm_grad", plus,
                       {{type, {rows, width}}, {type, {width}}}),
              plus, 2 * toleranceOf(type));
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

/// Rows of one chunk of tokens, of several, and of one token more. Small whole
/// numbers: their sums are exact in any order.
TEST_F(CudaKernels, TokensOfManyChunks) {
  const int64_t counts[] = {31, 0, 32, 33, 64, 65, 1, 400, 96};
  std::vector<double> list;
  for (size_t row = 0; row < std::size(counts); ++row)
    list.insert(list.end(), size_t(counts[row]), double(row));
  const auto tokens = int64_t(list.size());
  Array ids(DataType::I32, {tokens});
  for (int64_t i = 0; i < tokens; ++i) // 7 and the number have no divisor
    ids.set(i, list[size_t(i * 7 % tokens)]);
  for (DataType type : kFloats)
    for (int64_t width : {72, 13, 1030})
      for (int64_t init : {0, 1}) {
        const auto rows = int64_t(std::size(counts));
        std::vector<Array> g = {Array(type, {tokens, width}), ids};
        for (int64_t i = 0; i < g[0].size(); ++i)
          g[0].set(i, double((uint32_t(i) * 2654435761u >> 9) % 5) - 2);
        if (init) {
          Array table(type, {rows, width});
          for (int64_t i = 0; i < table.size(); ++i)
            table.set(i, double(i % 7) - 3);
          g.push_back(table);
        }
        KernelSpec spec =
            makeSpec("nn.embedding_grad", g, {{type, {rows, width}}});
        spec.ints["init"] = {init};
        compare(spec, g, 0);
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
        spec.ints["heads"] = {1, 2};
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

/// Parts, slices and loads with and without a rest; dimensions of one between
/// those that are merged.
TEST_F(CudaKernels, ReductionsOfUnevenSizes) {
  struct Case {
    std::vector<int64_t> shape, dims;
  };
  const Case cases[] = {{{1, 5}, {0}},
                        {{7, 3}, {0}},
                        {{33, 257}, {0}},
                        {{33, 256}, {0}},
                        {{4099, 24}, {0}},
                        {{300, 1032}, {0}},
                        {{4099, 129}, {0}},
                        {{20011, 3}, {0}},
                        {{67, 9001}, {0}},
                        {{129, 4099}, {1}},
                        {{5, 63}, {1}},
                        {{3, 1, 37, 1, 70}, {0, 2}},
                        {{37, 70, 1}, {1}},
                        {{37, 70, 1}, {0, 2}},
                        {{9, 11, 5, 13}, {0, 2}},
                        {{9, 11, 5, 13}, {1, 3}},
                        {{1, 1}, {0}}};
  for (DataType type : kFloats)
    for (int64_t kind : {0, 1, 2})
      for (const Case &each : cases) {
        // Small whole numbers: their sums are exact in any order.
        std::vector<Array> x = {Array(type, each.shape)};
        for (int64_t i = 0; i < x[0].size(); ++i)
          x[0].set(i, double((uint32_t(i) * 2654435761u >> 9) % 5) - 2);
        std::vector<int64_t> shape;
        for (size_t d = 0; d < each.shape.size(); ++d)
          if (std::find(each.dims.begin(), each.dims.end(), int64_t(d)) ==
              each.dims.end())
            shape.push_back(each.shape[d]);
        KernelSpec spec = makeSpec("nn.reduce", x, {{type, shape}});
        spec.ints = {{"kind", {kind}}, {"dims", each.dims}};
        compare(spec, x, 2 * toleranceOf(type));
        if (kind != 0)
          continue;
        std::vector<Array> buffers = x;
        buffers.emplace_back(type, shape);
        Control control = {};
        const auto once = runOnDevice(spec, buffers, control);
        EXPECT_TRUE(once[1] == runOnDevice(spec, buffers, control)[1]);
      }
}

/// Bytes of a tensor, neighbours unlike each other.
Array countedBytes(DataType type, const std::vector<int64_t> &shape) {
  Array x(type, shape);
  for (size_t i = 0; i < x.bytes(); ++i)
    static_cast<uint8_t *>(x.data())[i] = uint8_t(i % 251);
  return x;
}

/// Moves of 1 to 16 bytes a thread: what divides the sizes, the strides and
/// where a part begins.
TEST_F(CudaKernels, MovesOfEveryWidth) {
  for (DataType type : {DataType::F32, DataType::BF16, DataType::I8})
    for (int64_t first : {1, 2, 4, 8, 16, 17, 48})
      for (int64_t second : {16, 24, 31}) {
        const std::vector<int64_t> shape = {3, 5, first + second};
        const Array x = countedBytes(type, shape);
        KernelSpec split = makeSpec(
            "nn.split", {x}, {{type, {3, 5, first}}, {type, {3, 5, second}}});
        split.ints = {{"dim", {2}}, {"sizes", {first, second}}};
        compare(split, {x}, 0);
        const Array narrow = countedBytes(type, {3, 5, first}),
                    wide = countedBytes(type, {3, 5, second});
        KernelSpec concat =
            makeSpec("tensor.concat", {narrow, wide}, {{type, shape}});
        concat.ints["dim"] = {2};
        compare(concat, {narrow, wide}, 0);
        KernelSpec transpose =
            makeSpec("nn.transpose", {x}, {{type, {5, 3, first + second}}});
        transpose.ints["permutation"] = {1, 0, 2};
        compare(transpose, {x}, 0);
      }
}

/// More elements than 32-bit numbers have, where memory suffices.
TEST_F(CudaKernels, MovesMoreThanTwoToThe31) {
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  const int64_t rows = (int64_t(1) << 31) / 5 + 7, width = 5;
  if (free < size_t(rows * width) * 3)
    GTEST_SKIP() << "wants " << rows * width * 3 << " bytes of the device";
  const auto stream = context->stream;
  auto *from =
      static_cast<uint8_t *>(device->allocate(uint64_t(rows * width), "from"));
  auto *to =
      static_cast<uint8_t *>(device->allocate(uint64_t(rows * width), "to"));
  const uint8_t ends[2] = {17, 29};
  device->write(from, ends, 1);
  device->write(from + rows * width - 1, ends + 1, 1);
  cuda::StridedMove move; // columns in reverse order of dimensions
  move.dims = 2;
  move.elements = rows * width;
  const int64_t sizes[2] = {width, rows};
  for (int d = 0; d < 2; ++d) {
    move.size[d] = sizes[d];
    move.from[d] = d == 0 ? 1 : width;
    move.to[d] = d == 0 ? rows : 1;
  }
  cuda::move(move, 1, from, to, stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  uint8_t found[2] = {};
  device->read(found, to, 1);
  device->read(found + 1, to + rows * width - 1, 1);
  EXPECT_EQ(found[0], 17);
  EXPECT_EQ(found[1], 29);
  device->release(to);
  device->release(from);
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
    split.ints = {{"dim", {2}}, {"sizes", {30, 40}}};
    compare(split, {x}, 0);
    KernelSpec pad = makeSpec("tensor.pad", {x}, {{type, {5, 36, 70}}});
    pad.ints = {{"low", {1, 1, 0}}, {"high", {0, 2, 0}}};
    pad.floats["value"] = 3;
    compare(pad, {x}, 0);
  }
}

} // namespace
