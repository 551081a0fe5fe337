// Gathers, scatters, sorts and running sums against plain loops in f64, and
// what numbers that are drawn depend on.
#include "KernelTest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace zrt::test {
namespace {

using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;

int64_t productOf(const Sizes &shape, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i)
    result *= shape[i];
  return result;
}

/// A whole of `shape` and a part that has `count` elements along `dim`.
struct Indexed {
  Sizes whole, part;
  int64_t dim, outer, size, count, inner;
  bool rows; ///< positions are those of rows

  Indexed(Sizes shape, int64_t dim, int64_t count, bool rows)
      : whole(shape), part(shape), dim(dim), outer(productOf(shape, 0, dim)),
        size(shape[dim]), count(count),
        inner(productOf(shape, dim + 1, shape.size())), rows(rows) {
    part[dim] = count;
  }

  Sizes idShape() const {
    return rows ? Sizes(part.begin(), part.begin() + dim + 1) : part;
  }
  Array ids(uint64_t seed) const { return randomIds(idShape(), size, seed); }

  /// Calls body(element of the part, element of the whole), in order.
  template <typename Body> void forEach(const Array &ids, Body body) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < count; ++k)
        for (int64_t i = 0; i < inner; ++i) {
          const int64_t row = o * count + k, at = row * inner + i;
          const auto id = static_cast<int64_t>(ids[rows ? row : at]);
          body(at, (o * size + id) * inner + i);
        }
  }
};

/// Along each dimension; rows that fill no vector, one column, and none.
std::vector<Indexed> someShapes() {
  std::vector<Indexed> shapes;
  for (bool rows : {false, true}) {
    shapes.emplace_back(Sizes{7, 40}, 0, 30, rows);
    shapes.emplace_back(Sizes{5, 4, 37}, 1, 9, rows);
    shapes.emplace_back(Sizes{6, 11}, 1, 3, rows);
    shapes.emplace_back(Sizes{3, 700}, 0, 5, rows);
    shapes.emplace_back(Sizes{19}, 0, 40, rows);
    shapes.emplace_back(Sizes{5, 4}, 0, 0, rows);
  }
  return shapes;
}

TEST(KernelGather, TakesElementsAndRows) {
  for (DataType type :
       {DataType::F32, DataType::BF16, DataType::F16, DataType::I32})
    for (const Indexed &s : someShapes()) {
      const std::vector<Array> inputs = {type == DataType::I32
                                             ? randomIds(s.whole, 100, 1)
                                             : randomArray(type, s.whole, 1),
                                         s.ids(2)};
      KernelSpec spec = makeSpec("nn.gather", inputs, {{type, s.part}});
      spec.ints["dim"] = {s.dim};
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            Values y(productOf(s.part, 0, s.part.size()));
            s.forEach(in[1], [&](int64_t part, int64_t whole) {
              y[part] = in[0][whole];
            });
            return std::vector<Values>{y};
          },
          0);
    }
}

KernelSpec scatterAdd(const Indexed &s, const std::vector<Array> &inputs) {
  KernelSpec spec =
      makeSpec("nn.scatter_add", inputs, {{inputs[0].type.type, s.whole}});
  spec.ints["dim"] = {s.dim};
  spec.ints["init"] = {inputs.size() == 3};
  return spec;
}

TEST(KernelScatterAdd, AddsToWhatIsThere) {
  for (DataType type : kFloats)
    for (bool init : {false, true})
      for (const Indexed &s : someShapes()) {
        std::vector<Array> inputs = {randomArray(type, s.part, 1), s.ids(2)};
        if (init)
          inputs.push_back(randomArray(type, s.whole, 3));
        checkKernel(
            scatterAdd(s, inputs), inputs,
            [&](const std::vector<Array> &in) {
              Values y(productOf(s.whole, 0, s.whole.size()), 0.0);
              for (size_t i = 0; init && i < y.size(); ++i)
                y[i] = in[2][static_cast<int64_t>(i)];
              s.forEach(in[1], [&](int64_t part, int64_t whole) {
                y[whole] += in[0][part];
              });
              return std::vector<Values>{y};
            },
            toleranceOf(type));
      }
}

// The order of the sum shows: a large number swallows what comes after it.
TEST(KernelScatterAdd, AddsInOrder) {
  const Indexed s({2, 1}, 0, 4, true);
  Array x(DataType::F32, {4, 1}), ids(DataType::I32, {4});
  const double values[] = {16777216, 1, 1, 1};
  for (int64_t i = 0; i < 4; ++i)
    x.set(i, values[i]);
  const Array y = runKernel(scatterAdd(s, {x, ids}), {x, ids})[0];
  EXPECT_EQ(y[0], 16777216);
  EXPECT_EQ(y[1], 0);
}

TEST(KernelScatterAdd, BlocksOfRowsHaveTheBitsOfTheWhole) {
  for (DataType type : kFloats)
    for (bool rows : {false, true}) {
      const Indexed s({9, 21}, 0, 50, rows);
      const std::vector<Array> inputs = {randomArray(type, s.part, 1),
                                         s.ids(2)};
      const Array whole = runKernel(scatterAdd(s, inputs), inputs)[0];
      KernelSpec spec = makeSpec("nn.scatter_add", inputs, {{type, {3, 21}}});
      spec.ints["dim"] = {0};
      spec.ints["init"] = {0};
      spec.ints["rows"] = {4, 7};
      const Array block = runKernel(spec, inputs)[0];
      for (int64_t i = 0; i < block.size(); ++i)
        EXPECT_EQ(block[i], whole[4 * 21 + i]);
    }
}

KernelSpec scatter(int64_t kind, const Indexed &s,
                   const std::vector<Array> &inputs) {
  KernelSpec spec =
      makeSpec("nn.scatter", inputs, {{inputs[0].type.type, s.whole}});
  spec.ints["dim"] = {s.dim};
  spec.ints["kind"] = {kind};
  return spec;
}

TEST(KernelScatter, SetsTheLastAndTakesTheLargest) {
  for (DataType type : kFloats)
    for (int64_t kind : {0, 1})
      for (const Indexed &s : someShapes()) {
        const std::vector<Array> inputs = {randomArray(type, s.part, 1),
                                           s.ids(2),
                                           randomArray(type, s.whole, 3)};
        checkKernel(
            scatter(kind, s, inputs), inputs,
            [&](const std::vector<Array> &in) {
              Values y;
              for (int64_t i = 0; i < in[2].size(); ++i)
                y.push_back(in[2][i]);
              s.forEach(in[1], [&](int64_t part, int64_t whole) {
                y[whole] = kind ? std::max(y[whole], in[0][part]) : in[0][part];
              });
              return std::vector<Values>{y};
            },
            0);
      }
}

TEST(KernelScatter, InvertsAPermutation) {
  const Indexed s({5}, 0, 5, true);
  Array numbers(DataType::I32, {5}), order(DataType::I32, {5});
  const double permutation[] = {3, 0, 4, 1, 2}, inverse[] = {1, 3, 4, 0, 2};
  for (int64_t i = 0; i < 5; ++i) {
    numbers.set(i, static_cast<double>(i));
    order.set(i, permutation[i]);
  }
  const std::vector<Array> inputs = {numbers, order, numbers};
  const Array y = runKernel(scatter(0, s, inputs), inputs)[0];
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(y[i], inverse[i]);
}

TEST(KernelScatter, ANanIsTheLargest) {
  const Indexed s({2}, 0, 2, true);
  Array x(DataType::F32, {2}), ids(DataType::I32, {2}), into(x);
  x.set(0, std::numeric_limits<double>::quiet_NaN());
  x.set(1, 5);
  const Array y = runKernel(scatter(1, s, {x, ids, into}), {x, ids, into})[0];
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0);
}

/// The order of a row, as nn.argsort defines it.
Values orderOf(const Array &x, int64_t row, int64_t width, bool descending) {
  auto less = [&](double a, double b) {
    return std::isnan(b) ? !std::isnan(a) : a < b;
  };
  std::vector<int64_t> order(width);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double first = x[row * width + a], second = x[row * width + b];
    if (less(first, second) == less(second, first))
      return a < b;
    return descending ? less(second, first) : less(first, second);
  });
  return Values(order.begin(), order.end());
}

void checkArgsort(const Array &x, bool descending, int64_t first) {
  const int64_t width = x.type.shape.back();
  Sizes shape = x.type.shape;
  shape.back() = first;
  KernelSpec spec = makeSpec("nn.argsort", {x}, {{DataType::I32, shape}});
  spec.ints["descending"] = {descending};
  if (first != width)
    spec.ints["first"] = {first};
  checkKernel(
      spec, {x},
      [&](const std::vector<Array> &in) {
        Values y;
        for (int64_t row = 0; row < in[0].size() / width; ++row) {
          const Values order = orderOf(in[0], row, width, descending);
          y.insert(y.end(), order.begin(), order.begin() + first);
        }
        return std::vector<Values>{y};
      },
      0);
}

/// Long rows are sorted otherwise than short ones on a GPU.
TEST(KernelArgsort, IsStableInBothDirections) {
  for (int64_t width : {1, 2, 33, 1500})
    for (bool descending : {false, true})
      for (int64_t first : {int64_t(1), (width + 1) / 2, width}) {
        for (DataType type : kFloats)
          checkArgsort(randomArray(type, {3, width}, 1), descending, first);
        checkArgsort(randomIds({3, width}, 8, 2), descending, first);
      }
}

TEST(KernelArgsort, OrdersZerosInfinitiesAndNans) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {0.0, -0.0, nan, -infinity, infinity,
                           -1,  nan,  0.0, 1,         -0.0};
  for (DataType type : kFloats) {
    Array x(type, {10});
    for (int64_t i = 0; i < 10; ++i)
      x.set(i, values[i]);
    for (bool descending : {false, true})
      checkArgsort(x, descending, 10);
  }
}

TEST(KernelCumsum, AddsUpInBothDirections) {
  struct Case {
    Sizes shape;
    int64_t dim;
  };
  const Case cases[] = {{{40}, 0},        {{5, 33}, 1},   {{33, 5}, 0},
                        {{3, 17, 30}, 1}, {{2, 3000}, 1}, {{4, 3, 1}, 1}};
  for (DataType type :
       {DataType::F32, DataType::BF16, DataType::F16, DataType::I32})
    for (const Case &c : cases)
      for (bool reverse : {false, true}) {
        const Array x = type == DataType::I32 ? randomIds(c.shape, 9, 1)
                                              : randomArray(type, c.shape, 1);
        KernelSpec spec = makeSpec("nn.cumsum", {x}, {x.type});
        spec.ints["dim"] = {c.dim};
        spec.ints["reverse"] = {reverse};
        checkKernel(
            spec, {x},
            [&](const std::vector<Array> &in) {
              const int64_t size = c.shape[c.dim];
              const int64_t inner =
                  productOf(c.shape, c.dim + 1, c.shape.size());
              Values y(in[0].size());
              for (int64_t i = 0; i < in[0].size(); ++i) {
                const int64_t k = i / inner % size;
                for (int64_t j = reverse ? k : 0; j < (reverse ? size : k + 1);
                     ++j)
                  y[i] += in[0][i + (j - k) * inner];
              }
              return std::vector<Values>{y};
            },
            toleranceOf(type == DataType::I32 ? DataType::F32 : type));
      }
}

Array drawnBy(KernelSpec spec, Control &control, int64_t id, int rank = 0,
              int ranks = 1) {
  spec.ints["id"] = {id};
  Setting setting;
  setting.control = &control;
  setting.rank = rank;
  setting.ranks = ranks;
  Array first = runKernel(spec, {}, setting)[0];
  for (int threads : {2, 3}) {
    setting.threads = threads;
    EXPECT_TRUE(runKernel(spec, {}, setting)[0] == first);
  }
  return first;
}

Array drawn(DataType type, const Sizes &shape, Control &control, int64_t id,
            int rank = 0, int ranks = 1) {
  return drawnBy(makeSpec("nn.random_normal", {}, {{type, shape}}), control, id,
                 rank, ranks);
}

TEST(KernelRandomNormal, HasTheMomentsOfTheDistribution) {
  Control control{};
  for (DataType type : kFloats) {
    const Array z = drawn(type, {16, 1001}, control, 3);
    double sum = 0, squares = 0, cubes = 0, fourths = 0, neighbours = 0;
    for (int64_t i = 0; i < z.size(); ++i) {
      sum += z[i];
      squares += z[i] * z[i];
      cubes += z[i] * z[i] * z[i];
      fourths += z[i] * z[i] * z[i] * z[i];
      neighbours += z[i] * z[(i + 1) % z.size()];
    }
    const auto count = static_cast<double>(z.size());
    EXPECT_NEAR(sum / count, 0, 0.03);
    EXPECT_NEAR(squares / count, 1, 0.04);
    EXPECT_NEAR(cubes / count, 0, 0.1);
    EXPECT_NEAR(fourths / count, 3, 0.3);
    EXPECT_NEAR(neighbours / count, 0, 0.03);
  }
}

// One rank with 6 samples draws what 3 ranks with 2 draw, and seed, batch and
// id change it.
TEST(KernelRandomNormal, NumbersBelongToGlobalSamples) {
  Control control{};
  control.batch = 7;
  const Array whole = drawn(DataType::F32, {6, 77}, control, 1);
  for (int rank = 0; rank < 3; ++rank) {
    const Array part = drawn(DataType::F32, {2, 77}, control, 1, rank, 3);
    for (int64_t i = 0; i < part.size(); ++i)
      ASSERT_EQ(part[i], whole[rank * 2 * 77 + i]);
  }
  EXPECT_FALSE(drawn(DataType::F32, {6, 77}, control, 2) == whole);
  control.seed = uint64_t(1) << 40;
  EXPECT_FALSE(drawn(DataType::F32, {6, 77}, control, 1) == whole);
  control.seed = 0;
  control.batch = 8;
  EXPECT_FALSE(drawn(DataType::F32, {6, 77}, control, 1) == whole);
}

KernelSpec uniform(DataType type, const Sizes &shape) {
  return makeSpec("nn.random_uniform", {}, {{type, shape}});
}

KernelSpec integers(int64_t below, const Sizes &shape) {
  KernelSpec spec =
      makeSpec("nn.random_integers", {}, {{DataType::I32, shape}});
  spec.ints["below"] = {below};
  return spec;
}

// Each share is one of as many as the type can tell apart, none of them 1.
TEST(KernelRandomUniform, IsEvenAndBelowOne) {
  Control control{};
  for (DataType type : kFloats) {
    const Array u = drawnBy(uniform(type, {16, 1001}), control, 3);
    const double steps = type == DataType::BF16  ? 256
                         : type == DataType::F16 ? 2048
                                                 : 16777216;
    double sum = 0, squares = 0, neighbours = 0;
    for (int64_t i = 0; i < u.size(); ++i) {
      ASSERT_GE(u[i], 0);
      ASSERT_LT(u[i], 1);
      ASSERT_EQ(u[i] * steps, std::floor(u[i] * steps));
      sum += u[i];
      squares += u[i] * u[i];
      neighbours += u[i] * u[(i + 1) % u.size()];
    }
    const auto count = static_cast<double>(u.size());
    EXPECT_NEAR(sum / count, 0.5, 0.01);
    EXPECT_NEAR(squares / count, 1.0 / 3, 0.01);
    EXPECT_NEAR(neighbours / count, 0.25, 0.01);
  }
}

TEST(KernelRandomIntegers, AreEvenAndBelowTheLimit) {
  Control control{};
  for (int64_t below : {int64_t(1), int64_t(7), int64_t(2147483647)}) {
    const Array t = drawnBy(integers(below, {16, 1001}), control, 3);
    std::vector<int64_t> counts(7);
    double sum = 0;
    for (int64_t i = 0; i < t.size(); ++i) {
      ASSERT_GE(t[i], 0);
      ASSERT_LT(t[i], static_cast<double>(below));
      sum += t[i] / static_cast<double>(below);
      ++counts[static_cast<int64_t>(t[i]) % 7];
    }
    const auto count = static_cast<double>(t.size());
    if (below == 1)
      EXPECT_EQ(sum, 0);
    else
      EXPECT_NEAR(sum / count, below == 7 ? 3.0 / 7 : 0.5, 0.01);
    for (const int64_t found : counts)
      if (below > 1)
        EXPECT_NEAR(found / count, 1.0 / 7, 0.01);
  }
}

// As with normal numbers: 3 ranks draw what one does, and other ids others.
TEST(KernelRandomUniform, NumbersBelongToGlobalSamples) {
  Control control{};
  control.batch = 7;
  for (bool whole : {false, true}) {
    auto spec = [&](int64_t samples) {
      return whole ? integers(1000, {samples, 77})
                   : uniform(DataType::F32, {samples, 77});
    };
    const Array all = drawnBy(spec(6), control, 1);
    for (int rank = 0; rank < 3; ++rank) {
      const Array part = drawnBy(spec(2), control, 1, rank, 3);
      for (int64_t i = 0; i < part.size(); ++i)
        ASSERT_EQ(part[i], all[rank * 2 * 77 + i]);
    }
    EXPECT_FALSE(drawnBy(spec(6), control, 2) == all);
  }
}

// Whoever computes: the host says which, a device that there is one.
TEST(KernelIndex, PositionsOutsideAreErrors) {
  const Indexed s({5, 4}, 0, 3, true);
  const Array part = randomArray(DataType::F32, s.part, 1);
  const Array whole = randomArray(DataType::F32, s.whole, 2);
  for (double position : {-1.0, 5.0}) {
    Array ids = s.ids(3);
    ids.set(1, position);
    KernelSpec gather =
        makeSpec("nn.gather", {whole, ids}, {{DataType::F32, s.part}});
    gather.ints["dim"] = {0};
    EXPECT_THROW(runKernel(gather, {whole, ids}), std::out_of_range);
    EXPECT_THROW(runKernel(scatterAdd(s, {part, ids}), {part, ids}),
                 std::out_of_range);
    for (int64_t kind : {0, 1})
      EXPECT_THROW(
          runKernel(scatter(kind, s, {part, ids, whole}), {part, ids, whole}),
          std::out_of_range);
  }
}

} // namespace
} // namespace zrt::test
