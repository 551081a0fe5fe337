// The `nn` operations whose kernels move 16 bytes a thread, on buffers that are
// not aligned to as many: results are bitwise equal at all addresses.
#include "CudaTesting.h"
#include "kernels/cuda/Launchers.h"

using namespace zrt;
using namespace zrt::test;

namespace {

using CudaAlignment = CudaTest;

TensorType f32(std::vector<int64_t> shape) {
  return {DataType::F32, std::move(shape)};
}

/// Rows that begin at vectors, and rows that begin anywhere between them.
constexpr int64_t kWidths[] = {24, 77, 1001};

TEST_F(CudaAlignment, Softmax) {
  for (DataType type : kFloats)
    for (int64_t width : kWidths) {
      const TensorType rows = {type, {9, width}};
      const std::vector<Array> x = {randomArray(type, rows.shape, 1, 4)};
      compareAlignments(makeSpec("nn.softmax", x, {rows}), x);
      const std::vector<Array> g = {randomArray(type, rows.shape, 2),
                                    randomArray(type, rows.shape, 3)};
      compareAlignments(makeSpec("nn.softmax_grad", g, {rows}), g);
    }
}

TEST_F(CudaAlignment, CrossEntropy) {
  for (DataType type : kFloats)
    for (int64_t width : kWidths)
      for (int64_t classes : {width, width - 5}) {
        const TensorType rows = {type, {9, width}};
        const Array x = randomArray(type, rows.shape, 1, 4);
        Array targets = randomIds({9}, classes, 2);
        targets.set(5, -100);
        KernelSpec loss =
            makeSpec("nn.cross_entropy", {x, targets}, {f32({}), f32({9})});
        KernelSpec grad =
            makeSpec("nn.cross_entropy_grad",
                     {randomArray(DataType::F32, {}, 3), x, targets,
                      randomArray(DataType::F32, {9}, 4)},
                     {rows});
        if (classes != width)
          loss.ints["classes"] = grad.ints["classes"] = {classes};
        compareAlignments(loss, {x, targets});
        compareAlignments(grad, {randomArray(DataType::F32, {}, 3), x, targets,
                                 randomArray(DataType::F32, {9}, 4)});
      }
}

TEST_F(CudaAlignment, Norms) {
  // The last ones are longer than registers hold.
  for (DataType type : kFloats)
    for (int64_t width : {24, 77, 8216}) {
      const int64_t rows = width < 1000 ? 9 : 2;
      const auto x = [&](uint64_t seed) {
        return randomArray(type, {rows, width}, seed);
      };
      const Array w = randomArray(type, {width}, 3),
                  b = randomArray(type, {width}, 4),
                  mean = randomArray(DataType::F32, {rows}, 5, 0.1),
                  rstd = randomArray(DataType::F32, {rows}, 6);
      const TensorType y = x(1).type, s = rstd.type;
      KernelSpec layer =
          makeSpec("nn.add_layer_norm", {x(1), x(2), w, b}, {y, s, s, y});
      layer.floats["eps"] = 1e-5;
      compareAlignments(layer, {x(1), x(2), w, b});
      KernelSpec rms = makeSpec("nn.rms_norm", {x(1), w}, {y, s});
      rms.floats["eps"] = 1e-5;
      compareAlignments(rms, {x(1), w});
      compareAlignments(makeSpec("nn.add_layer_norm_grad",
                                 {x(7), x(8), x(1), w, mean, rstd},
                                 {y, w.type, w.type}),
                        {x(7), x(8), x(1), w, mean, rstd});
      compareAlignments(
          makeSpec("nn.rms_norm_grad", {x(7), x(1), w, rstd}, {y, w.type}),
          {x(7), x(1), w, rstd});
    }
}

TEST_F(CudaAlignment, SiluMul) {
  for (DataType type : kFloats)
    for (int64_t size : {5, 1003}) {
      const std::vector<Array> x = {randomArray(type, {size}, 1),
                                    randomArray(type, {size}, 2, 6),
                                    randomArray(type, {size}, 3)};
      const TensorType y = x[0].type;
      compareAlignments(makeSpec("nn.silu_mul", {x[0], x[1]}, {y}),
                        {x[0], x[1]});
      compareAlignments(makeSpec("nn.silu_mul_grad", x, {y, y}), x);
    }
}

TEST_F(CudaAlignment, GroupedMatmul) {
  const int64_t rows = 70, width = 24;
  for (DataType type : kFloats)
    for (int64_t columns : {40, 37})
      for (int64_t groups : {1, 3}) { // tiles of many rows, and of few
        Array offsets(DataType::I32, {groups});
        for (int64_t e = 0; e < groups; ++e)
          offsets.set(e, static_cast<double>(rows - 3 * (groups - e)));
        const Array a = randomArray(type, {rows, width}, 1),
                    b = randomArray(type, {groups, width, columns}, 2),
                    t = randomArray(type, {groups, columns, width}, 3),
                    c = randomArray(type, {rows, columns}, 4);
        compareAlignments(
            makeSpec("nn.grouped_matmul", {a, b, offsets}, {c.type}),
            {a, b, offsets});
        KernelSpec transposed =
            makeSpec("nn.grouped_matmul", {a, t, offsets}, {c.type});
        transposed.ints["transpose_b"] = {1};
        compareAlignments(transposed, {a, t, offsets});
        compareAlignments(
            makeSpec("nn.grouped_matmul_grad", {a, c, offsets}, {b.type}),
            {a, c, offsets});
      }
}

/// GELU by itself: elsewhere it is behind products, which need not be bitwise
/// equal at other addresses.
TEST_F(CudaAlignment, Gelu) {
  constexpr int64_t elements = 1003;
  for (DataType type : kFloats) {
    const Array h = randomArray(type, {elements}, 1, 3),
                g = randomArray(type, {elements}, 2);
    const auto run = [&](size_t first, size_t second) {
      Array y(type, {elements}), dh = g;
      auto *from =
          static_cast<char *>(device->allocate(h.bytes() + first, "h"));
      auto *to = static_cast<char *>(device->allocate(h.bytes() + second, "y"));
      device->write(from + first, h.data(), h.bytes());
      cuda::gelu(type, elements, from + first, to + second, context->stream);
      cudaStreamSynchronize(context->stream);
      device->read(y.data(), to + second, y.bytes());
      device->write(to + second, dh.data(), dh.bytes());
      cuda::geluGrad(type, elements, from + first, to + second,
                     context->stream);
      cudaStreamSynchronize(context->stream);
      device->read(dh.data(), to + second, dh.bytes());
      device->release(from);
      device->release(to);
      return std::pair(y, dh);
    };
    const auto wanted = run(0, 0);
    for (size_t start : {2, 4, 8})
      if (start % sizeOf(type) == 0)
        for (auto [first, second] :
             {std::pair(start, size_t(0)), {0, start}, {start, start}}) {
          const auto found = run(first, second);
          EXPECT_TRUE(found.first == wanted.first) << first << ", " << second;
          EXPECT_TRUE(found.second == wanted.second) << first << ", " << second;
        }
  }
}

TEST_F(CudaAlignment, Rotary) {
  for (DataType type : kFloats)
    for (int64_t width : {6, 12, 32})
      for (int64_t interleaved : {0, 1}) {
        const Array x = randomArray(type, {2, 5, 3, width}, 1);
        KernelSpec spec = makeSpec("nn.rotary", {x}, {x.type});
        spec.ints = {{"interleaved", {interleaved}}, {"inverse", {0}}};
        spec.floats["theta"] = 10000;
        compareAlignments(spec, {x});
      }
}

TEST_F(CudaAlignment, Dropout) {
  for (DataType type : kFloats)
    for (int64_t width : {5, 32})
      for (int evaluating : {0, 1}) {
        const Array x = randomArray(type, {3, 7, width}, 1);
        KernelSpec spec = makeSpec("nn.dropout", {x}, {x.type});
        spec.ints["id"] = {5};
        spec.floats["p"] = 0.3;
        Control control = {};
        control.seed = 99;
        control.evaluating = evaluating;
        compareAlignments(spec, {x}, control);
      }
}

TEST_F(CudaAlignment, Tokens) {
  // Of 7 rows, each has several chunks of tokens.
  const Array ids = randomIds({3, 100}, 7, 1);
  for (DataType type : kFloats)
    for (int64_t width : {24, 77}) {
      const std::vector<Array> x = {ids, randomArray(type, {7, width}, 2)};
      compareAlignments(makeSpec("nn.embedding", x, {{type, {3, 100, width}}}),
                        x);
      for (int64_t init : {0, 1}) {
        std::vector<Array> g = {randomArray(type, {3, 100, width}, 3), ids};
        if (init)
          g.push_back(x[1]);
        KernelSpec spec =
            makeSpec("nn.embedding_grad", g, {{type, {7, width}}});
        spec.ints["init"] = {init};
        compareAlignments(spec, g);
      }
    }
}

TEST_F(CudaAlignment, Movement) {
  for (DataType type : kFloats)
    for (int64_t width : {24, 77}) {
      const Array x = randomArray(type, {3, 5, width}, 1);
      KernelSpec split = makeSpec(
          "nn.split", {x}, {{type, {3, 5, 8}}, {type, {3, 5, width - 8}}});
      split.ints = {{"dim", {2}}, {"sizes", {8, width - 8}}};
      compareAlignments(split, {x});
      for (const std::vector<int64_t> &permutation :
           {std::vector<int64_t>{1, 0, 2}, {0, 2, 1}}) {
        std::vector<int64_t> shape;
        for (int64_t dim : permutation)
          shape.push_back(x.type.shape[size_t(dim)]);
        KernelSpec transpose = makeSpec("nn.transpose", {x}, {{type, shape}});
        transpose.ints["permutation"] = permutation;
        compareAlignments(transpose, {x});
      }
      KernelSpec pad = makeSpec("tensor.pad", {x}, {{type, {4, 5, width}}});
      pad.ints = {{"low", {1, 0, 0}}, {"high", {0, 0, 0}}};
      pad.floats["value"] = 3;
      compareAlignments(pad, {x});
    }
}

TEST_F(CudaAlignment, Reductions) {
  for (DataType type : kFloats)
    for (int64_t width : {24, 77, 1032})
      for (int64_t dim : {0, 1}) {
        const Array x = randomArray(type, {141, width}, 1);
        KernelSpec spec =
            makeSpec("nn.reduce", {x}, {{type, {dim ? 141 : width}}});
        spec.ints = {{"kind", {0}}, {"dims", {dim}}};
        compareAlignments(spec, {x});
      }
}

} // namespace
