// Convolutions, pooling and batch norm against plain loops in f64.
#include "KernelTest.h"

#include <algorithm>
#include <cmath>

namespace zrt::test {
namespace {

using Values = std::vector<double>;
using Shape = std::vector<int64_t>;

/// Sizes of images and windows in three dimensions; tensors have the last
/// `spatial` of them.
struct Case {
  int64_t samples, channels, features, groups;
  size_t spatial;
  Shape size, window, stride, padding, dilation;
  bool up = false; ///< the number of windows is rounded up

  int64_t count(size_t i) const {
    const int64_t room =
        size[i] + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1;
    return (room + (up ? stride[i] - 1 : 0)) / stride[i] + 1;
  }
  Shape with(int64_t first, int64_t second, const Shape &sizes) const {
    Shape shape = {first, second};
    shape.insert(shape.end(), sizes.end() - spatial, sizes.end());
    return shape;
  }
  Shape counts() const { return {count(0), count(1), count(2)}; }
  Shape images() const { return with(samples, channels, size); }
  Shape weights() const { return with(features, channels / groups, window); }
  Shape results() const { return with(samples, features, counts()); }
  Shape pooled() const { return with(samples, channels, counts()); }

  Shape last(const Shape &list) const {
    return {list.end() - spatial, list.end()};
  }

  /// Calls `body(o, tap, source)` for what each window of a plane sees.
  template <typename Body> void forEachSeen(Body body) const {
    const Shape c = counts();
    for (int64_t o = 0; o < c[0] * c[1] * c[2]; ++o)
      for (int64_t tap = 0; tap < window[0] * window[1] * window[2]; ++tap) {
        const int64_t at[3] = {o / c[2] / c[1], o / c[2] % c[1], o % c[2]};
        const int64_t k[3] = {tap / window[2] / window[1],
                              tap / window[2] % window[1], tap % window[2]};
        int64_t source = 0;
        bool inside = true;
        for (int i = 0; i < 3; ++i) {
          const int64_t p = at[i] * stride[i] + k[i] * dilation[i] - padding[i];
          inside &= p >= 0 && p < size[i];
          source = source * size[i] + p;
        }
        if (inside)
          body(o, tap, source);
      }
  }

  /// Calls `body(x, w, y)` with the flat indices of each product.
  template <typename Body> void forEachProduct(Body body) const {
    const int64_t depth = channels / groups,
                  plane = size[0] * size[1] * size[2];
    const int64_t taps = window[0] * window[1] * window[2];
    const int64_t all = count(0) * count(1) * count(2);
    for (int64_t n = 0; n < samples; ++n)
      for (int64_t f = 0; f < features; ++f)
        for (int64_t c = 0; c < depth; ++c)
          forEachSeen([&](int64_t o, int64_t tap, int64_t source) {
            const int64_t channel = f / (features / groups) * depth + c;
            body((n * channels + channel) * plane + source,
                 (f * depth + c) * taps + tap, (n * features + f) * all + o);
          });
  }
};

const Case kConvolutions[] = {
    {2, 3, 4, 1, 2, {1, 7, 6}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {3, 4, 6, 2, 2, {1, 9, 8}, {1, 3, 2}, {1, 2, 3}, {0, 0, 1}, {1, 1, 1}},
    {2, 5, 5, 5, 2, {1, 6, 20}, {1, 3, 3}, {1, 1, 1}, {0, 2, 2}, {1, 2, 2}},
    {4, 8, 7, 1, 2, {1, 5, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {2, 8, 7, 1, 2, {1, 5, 5}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}},
    {3, 4, 2, 1, 1, {1, 1, 37}, {1, 1, 5}, {1, 1, 2}, {0, 0, 4}, {1, 1, 1}},
    {1, 2, 4, 2, 3, {4, 3, 5}, {2, 2, 3}, {2, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {1, 2, 70, 1, 2, {1, 12, 12}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {7, 2, 10, 1, 2, {1, 20, 20}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
};

KernelSpec windowSpec(const std::string &name, const Case &c,
                      const std::vector<Array> &inputs,
                      const TensorType &result) {
  KernelSpec spec = makeSpec(name, inputs, {result});
  spec.ints["strides"] = c.last(c.stride);
  spec.ints["padding"] = c.last(c.padding);
  if (name.find("avg") == std::string::npos)
    spec.ints["dilations"] = c.last(c.dilation);
  if (name.find("pool") != std::string::npos)
    spec.ints["window"] = c.last(c.window);
  else
    spec.ints["groups"] = {c.groups};
  return spec;
}

TEST(KernelWindows, Convolution) {
  for (DataType type : kFloats)
    for (const Case &c : kConvolutions) {
      const std::vector<Array> inputs = {randomArray(type, c.images(), 1),
                                         randomArray(type, c.weights(), 2)};
      const TensorType result{type, c.results()};
      checkKernel(
          windowSpec("nn.conv", c, inputs, result), inputs,
          [&](const std::vector<Array> &in) {
            Values y(result.elements());
            c.forEachProduct([&](int64_t i, int64_t j, int64_t k) {
              y[k] += in[0][i] * in[1][j];
            });
            return std::vector<Values>{y};
          },
          toleranceOf(type));
    }
}

TEST(KernelWindows, TransposedConvolution) {
  for (DataType type : kFloats)
    for (const Case &c : kConvolutions) {
      const std::vector<Array> inputs = {randomArray(type, c.results(), 1),
                                         randomArray(type, c.weights(), 2)};
      const TensorType result{type, c.images()};
      checkKernel(
          windowSpec("nn.conv_transpose", c, inputs, result), inputs,
          [&](const std::vector<Array> &in) {
            Values y(result.elements());
            c.forEachProduct([&](int64_t i, int64_t j, int64_t k) {
              y[i] += in[0][k] * in[1][j];
            });
            return std::vector<Values>{y};
          },
          toleranceOf(type));
    }
}

TEST(KernelWindows, GradientOfWeights) {
  for (DataType type : kFloats)
    for (const Case &c : kConvolutions) {
      const std::vector<Array> inputs = {randomArray(type, c.results(), 1),
                                         randomArray(type, c.images(), 2)};
      const TensorType result{type, c.weights()};
      checkKernel(
          windowSpec("nn.conv_weight_grad", c, inputs, result), inputs,
          [&](const std::vector<Array> &in) {
            Values dw(result.elements());
            c.forEachProduct([&](int64_t i, int64_t j, int64_t k) {
              dw[j] += in[0][k] * in[1][i];
            });
            return std::vector<Values>{dw};
          },
          toleranceOf(type));
    }
}

/// Blocks of rows are bitwise equal to the whole.
TEST(KernelWindows, RowsOfAGradientOfWeights) {
  for (const Case &c : kConvolutions) {
    if (c.groups != 1)
      continue;
    const std::vector<Array> inputs = {
        randomArray(DataType::F32, c.results(), 1),
        randomArray(DataType::F32, c.images(), 2)};
    TensorType type{DataType::F32, c.weights()};
    const Array whole = runKernel(
        windowSpec("nn.conv_weight_grad", c, inputs, type), inputs)[0];
    const int64_t row = whole.size() / c.features;
    const int64_t ranges[3][2] = {
        {0, 1}, {1, c.features}, {c.features / 2, c.features / 2 + 1}};
    for (const auto &range : ranges) {
      type.shape[0] = range[1] - range[0];
      KernelSpec spec = windowSpec("nn.conv_weight_grad", c, inputs, type);
      spec.ints["rows"] = {range[0], range[1]};
      const Array block = runKernel(spec, inputs)[0];
      for (int64_t i = 0; i < block.size(); ++i)
        ASSERT_EQ(block[i], whole[range[0] * row + i]) << i;
    }
  }
}

const Case kPools[] = {
    {2, 3, 3, 1, 2, {1, 8, 6}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}},
    {2, 3, 3, 1, 2, {1, 9, 7}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}},
    {1, 4, 4, 1, 1, {1, 1, 30}, {1, 1, 5}, {1, 1, 1}, {0, 0, 2}, {1, 1, 1}},
    {1, 2, 2, 1, 3, {4, 5, 6}, {2, 3, 2}, {2, 1, 3}, {1, 1, 0}, {1, 1, 1}},
    {2,
     2,
     2,
     1,
     2,
     {1, 8, 8},
     {1, 3, 3},
     {1, 2, 2},
     {0, 0, 0},
     {1, 1, 1},
     true},
};

/// Distinct values in some order, so that no maximum is a tie.
Array distinct(DataType type, const Shape &shape) {
  Array x(type, shape);
  for (int64_t i = 0; i < x.size(); ++i)
    x.set(i, double(i * 37 % 251) / 64 - 2);
  return x;
}

/// Where each window of each plane has its first maximum.
std::vector<int64_t> maxima(const Case &c, const Array &x) {
  const int64_t plane = c.size[0] * c.size[1] * c.size[2];
  const int64_t all = c.count(0) * c.count(1) * c.count(2);
  std::vector<int64_t> found(c.samples * c.channels * all, -1);
  for (int64_t p = 0; p < c.samples * c.channels; ++p)
    c.forEachSeen([&](int64_t o, int64_t, int64_t source) {
      int64_t &at = found[p * all + o];
      if (at < 0 || x[p * plane + source] > x[at])
        at = p * plane + source;
    });
  return found;
}

TEST(KernelWindows, Maximum) {
  for (DataType type : kFloats)
    for (Case c : kPools)
      for (int64_t dilation : {1, 2}) {
        c.dilation[2] = dilation;
        if (c.up && dilation == 2)
          continue;
        const std::vector<Array> inputs = {distinct(type, c.images())};
        checkKernel(
            windowSpec("nn.max_pool", c, inputs, {type, c.pooled()}), inputs,
            [&](const std::vector<Array> &in) {
              Values y;
              for (int64_t at : maxima(c, in[0]))
                y.push_back(in[0][at]);
              return std::vector<Values>{y};
            },
            0);
      }
}

TEST(KernelWindows, MaximumOfTiesAndNaN) {
  Case c = kPools[0];
  c.samples = c.channels = 1;
  Array x(DataType::F32, c.images()), dy(DataType::F32, c.pooled());
  for (int64_t i = 0; i < x.size(); ++i)
    x.set(i, i == 13 ? NAN : 1.0);
  for (int64_t i = 0; i < dy.size(); ++i)
    dy.set(i, i + 1);
  const Array y = runKernel(windowSpec("nn.max_pool", c, {x}, dy.type), {x})[0];
  for (int64_t i = 0; i < y.size(); ++i)
    EXPECT_EQ(std::isnan(y[i]), i == 3) << i; // rows 2 and 3, columns 0 and 1
  const Array dx =
      runKernel(windowSpec("nn.max_pool_grad", c, {dy, x}, x.type), {dy, x})[0];
  EXPECT_EQ(dx[0], 1); // the first of four equal ones
  EXPECT_EQ(dx[1], 0);
  EXPECT_EQ(dx[12], 0); // beside the NaN
  EXPECT_EQ(dx[13], 4);
}

TEST(KernelWindows, GradientOfAMaximum) {
  for (DataType type : kFloats)
    for (const Case &c : kPools) {
      const std::vector<Array> inputs = {randomArray(type, c.pooled(), 3),
                                         distinct(type, c.images())};
      checkKernel(
          windowSpec("nn.max_pool_grad", c, inputs, inputs[1].type), inputs,
          [&](const std::vector<Array> &in) {
            Values dx(in[1].size());
            const std::vector<int64_t> found = maxima(c, in[1]);
            for (size_t o = 0; o < found.size(); ++o)
              dx[found[o]] += in[0][o];
            return std::vector<Values>{dx};
          },
          toleranceOf(type));
    }
}

/// Calls `body(x, y, share)` for each element of each window's mean.
template <typename Body>
void forEachShare(const Case &c, bool padding, Body body) {
  const int64_t plane = c.size[0] * c.size[1] * c.size[2];
  const Shape counts = c.counts();
  const int64_t all = counts[0] * counts[1] * counts[2];
  for (int64_t p = 0; p < c.samples * c.channels; ++p)
    c.forEachSeen([&](int64_t o, int64_t, int64_t source) {
      const int64_t at[3] = {o / counts[2] / counts[1],
                             o / counts[2] % counts[1], o % counts[2]};
      double elements = 1;
      for (int i = 0; i < 3; ++i) {
        const int64_t margin = padding ? c.padding[i] : 0;
        int64_t seen = 0;
        for (int64_t k = 0; k < c.window[i]; ++k) {
          const int64_t q = at[i] * c.stride[i] + k - c.padding[i];
          seen += q >= -margin && q < c.size[i] + margin;
        }
        elements *= seen;
      }
      body(p * plane + source, p * all + o, 1 / elements);
    });
}

TEST(KernelWindows, Mean) {
  for (DataType type : kFloats)
    for (const Case &c : kPools)
      for (bool padding : {false, true}) {
        const std::vector<Array> inputs = {randomArray(type, c.images(), 1)};
        const TensorType result{type, c.pooled()};
        KernelSpec spec = windowSpec("nn.avg_pool", c, inputs, result);
        spec.ints["count_padding"] = {padding};
        checkKernel(
            spec, inputs,
            [&](const std::vector<Array> &in) {
              Values y(result.elements());
              forEachShare(c, padding,
                           [&](int64_t source, int64_t o, double share) {
                             y[o] += in[0][source] * share;
                           });
              return std::vector<Values>{y};
            },
            toleranceOf(type));
      }
}

TEST(KernelWindows, GradientOfAMean) {
  for (DataType type : kFloats)
    for (const Case &c : kPools)
      for (bool padding : {false, true}) {
        const std::vector<Array> inputs = {randomArray(type, c.pooled(), 1)};
        const TensorType result{type, c.images()};
        KernelSpec spec = windowSpec("nn.avg_pool_grad", c, inputs, result);
        spec.ints["count_padding"] = {padding};
        checkKernel(
            spec, inputs,
            [&](const std::vector<Array> &in) {
              Values dx(result.elements());
              forEachShare(c, padding,
                           [&](int64_t source, int64_t o, double share) {
                             dx[source] += in[0][o] * share;
                           });
              return std::vector<Values>{dx};
            },
            toleranceOf(type));
      }
}

const Shape kNorms[] = {{4, 3, 5, 7}, {2, 5, 33}, {16, 6}, {3, 1, 64, 64}};

/// Mean and variance of each channel.
std::vector<Values> statistics(const Array &x, int64_t channels,
                               int64_t plane) {
  Values mean(channels), variance(channels);
  const double count = double(x.size()) / channels;
  for (int64_t i = 0; i < x.size(); ++i)
    mean[i / plane % channels] += x[i] / count;
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t c = i / plane % channels;
    variance[c] += (x[i] - mean[c]) * (x[i] - mean[c]) / count;
  }
  return {mean, variance};
}

constexpr double kEps = 1e-3;

TEST(KernelWindows, BatchNorm) {
  for (DataType type : kFloats)
    for (const Shape &shape : kNorms) {
      const int64_t channels = shape[1];
      const std::vector<Array> inputs = {randomArray(type, shape, 1, 3),
                                         randomArray(type, {channels}, 2),
                                         randomArray(type, {channels}, 3)};
      const int64_t plane = inputs[0].size() / shape[0] / channels;
      const TensorType statistic{DataType::F32, {channels}};
      KernelSpec spec = makeSpec("nn.batch_norm", inputs,
                                 {inputs[0].type, statistic, statistic});
      spec.floats["eps"] = kEps;
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            std::vector<Values> found = statistics(in[0], channels, plane);
            Values y;
            for (int64_t i = 0; i < in[0].size(); ++i) {
              const int64_t c = i / plane % channels;
              y.push_back((in[0][i] - found[0][c]) /
                              std::sqrt(found[1][c] + kEps) * in[1][c] +
                          in[2][c]);
            }
            return std::vector<Values>{y, found[0], found[1]};
          },
          toleranceOf(type));
    }
}

TEST(KernelWindows, GradientOfBatchNorm) {
  for (DataType type : kFloats)
    for (const Shape &shape : kNorms) {
      const int64_t channels = shape[1];
      std::vector<Array> inputs = {randomArray(type, shape, 1),
                                   randomArray(type, shape, 2, 3),
                                   randomArray(type, {channels}, 3)};
      const int64_t plane = inputs[0].size() / shape[0] / channels;
      const std::vector<Values> found = statistics(inputs[1], channels, plane);
      for (const Values &values : found) {
        inputs.emplace_back(DataType::F32, Shape{channels});
        for (int64_t c = 0; c < channels; ++c)
          inputs.back().set(c, values[c]);
      }
      KernelSpec spec =
          makeSpec("nn.batch_norm_grad", inputs,
                   {inputs[1].type, inputs[2].type, inputs[2].type});
      spec.floats["eps"] = kEps;
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            const double count = double(in[0].size()) / channels;
            auto channel = [&](int64_t i) { return i / plane % channels; };
            auto rstd = [&](int64_t c) {
              return 1 / std::sqrt(in[4][c] + kEps);
            };
            auto normal = [&](int64_t i) {
              return (in[1][i] - in[3][channel(i)]) * rstd(channel(i));
            };
            Values dx, dw(channels), db(channels);
            for (int64_t i = 0; i < in[0].size(); ++i) {
              dw[channel(i)] += in[0][i] * normal(i);
              db[channel(i)] += in[0][i];
            }
            for (int64_t i = 0; i < in[0].size(); ++i) {
              const int64_t c = channel(i);
              dx.push_back(
                  in[2][c] * rstd(c) *
                  (in[0][i] - db[c] / count - normal(i) * dw[c] / count));
            }
            return std::vector<Values>{dx, dw, db};
          },
          toleranceOf(type));
    }
}

TEST(KernelWindows, RefusesWindowsThatImagesDoNotHave) {
  Case c = kConvolutions[0];
  const std::vector<Array> inputs = {
      randomArray(DataType::F32, c.images(), 1),
      randomArray(DataType::F32, c.weights(), 2)};
  TensorType result{DataType::F32, c.results()};
  auto refused = [&](const KernelSpec &spec) {
    try {
      runKernel(spec, inputs);
    } catch (const std::invalid_argument &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  ++result.shape[3];
  EXPECT_NE(refused(windowSpec("nn.conv", c, inputs, result))
                .find("y is 2x4x7x7xf32, wanted 2x4x7x6xf32"),
            std::string::npos);
  --result.shape[3];
  c.groups = 3;
  EXPECT_NE(refused(windowSpec("nn.conv", c, inputs, result))
                .find("w is 4x3x3x3xf32, wanted [3*m, 1, 3, 3] of f32, with "
                      "groups 3"),
            std::string::npos);
  KernelSpec spec = windowSpec("nn.conv", kConvolutions[0], inputs, result);
  spec.ints["strides"] = {1};
  EXPECT_NE(
      refused(spec).find("attribute 'strides' is [1], wanted 2 numbers for "
                         "the dimensions k, each 1 or more"),
      std::string::npos);
}

} // namespace
} // namespace zrt::test
