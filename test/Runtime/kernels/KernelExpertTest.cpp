// Rows that go to experts and come back, and grouped products, against plain
// loops in f64.
#include "KernelTest.h"

#include <algorithm>
#include <stdexcept>

namespace zrt::test {
namespace {

using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;

/// `count` rows with `choices` of `experts`, of which `groups` are here, with
/// `places` rows.
struct Routing {
  int64_t count, choices, experts, groups, places, width;
  int64_t first = 0;

  Array ids() const { return randomIds({count, choices}, experts, 7); }

  /// The place of each choice, -1 where it has none, and the groups' ends.
  std::pair<std::vector<int64_t>, std::vector<int64_t>>
  place(const Array &ids) const {
    std::vector<int64_t> placed(count * choices, -1), ends;
    int64_t next = 0;
    for (int64_t e = 0; e < groups; ++e) {
      for (int64_t c = 0; c < count * choices; ++c)
        if (static_cast<int64_t>(ids[c]) == first + e && next < places)
          placed[c] = next++;
      ends.push_back(next);
    }
    return {placed, ends};
  }

  Array placesOf() const {
    Array found(DataType::I32, {count, choices});
    const auto placed = place(ids()).first;
    for (size_t c = 0; c < placed.size(); ++c)
      found.set(static_cast<int64_t>(c), static_cast<double>(placed[c]));
    return found;
  }
};

/// All experts here; half of them; more choices than rows; none; one.
const std::vector<Routing> kRoutings = {
    {17, 2, 5, 5, 34, 37},    {17, 3, 6, 3, 51, 20},  {40, 2, 4, 2, 11, 5},
    {9, 1, 3, 0, 4, 8},       {0, 2, 3, 3, 0, 4},     {300, 8, 64, 64, 2400, 6},
    {17, 3, 6, 3, 51, 20, 3}, {17, 3, 6, 2, 9, 20, 1}};

TEST(KernelExperts, DispatchSortsRows) {
  for (DataType type : kFloats)
    for (const Routing &r : kRoutings) {
      std::vector<Array> inputs = {randomArray(type, {r.count, r.width}, 1),
                                   r.ids()};
      if (r.first) {
        inputs.emplace_back(DataType::I32, Sizes{});
        inputs.back().set(0, static_cast<double>(r.first));
      }
      KernelSpec spec = makeSpec("nn.dispatch", inputs,
                                 {{type, {r.places, r.width}},
                                  {DataType::I32, {r.count, r.choices}},
                                  {DataType::I32, {r.groups}}});
      spec.ints["experts"] = {r.experts};
      spec.ints["first"] = {r.first != 0};
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            const auto [placed, ends] = r.place(in[1]);
            Values sorted(r.places * r.width, 0.0);
            for (size_t c = 0; c < placed.size(); ++c)
              for (int64_t i = 0; i < r.width && placed[c] >= 0; ++i)
                sorted[placed[c] * r.width + i] =
                    in[0][static_cast<int64_t>(c) / r.choices * r.width + i];
            return std::vector<Values>{sorted,
                                       Values(placed.begin(), placed.end()),
                                       Values(ends.begin(), ends.end())};
          },
          0);
    }
}

/// Places that each of `experts` has.
struct Capacity {
  int64_t count, choices, experts, capacity, width;
  bool ordered = false;

  /// The choices from last to first, so that none is where it is by itself.
  Array order() const {
    const int64_t all = count * choices;
    Array found(DataType::I32, {all});
    for (int64_t c = 0; c < all; ++c)
      found.set(c, static_cast<double>(all - 1 - c));
    return found;
  }

  std::vector<Values> run(const std::vector<Array> &in) const {
    const int64_t all = count * choices;
    Values sorted(experts * capacity * width, 0.0), places(all, -1),
        counts(experts, 0.0);
    for (int64_t i = 0; i < all; ++i) {
      const auto c = ordered ? static_cast<int64_t>(in[2][i])
                             : i % count * choices + i / count;
      const auto e = static_cast<int64_t>(in[1][c]);
      const auto taken = static_cast<int64_t>(counts[e]++);
      if (taken >= capacity)
        continue;
      places[c] = static_cast<double>(e * capacity + taken);
      for (int64_t j = 0; j < width; ++j)
        sorted[(e * capacity + taken) * width + j] =
            in[0][c / choices * width + j];
    }
    return {sorted, places, counts};
  }
};

TEST(KernelExperts, CapacityDispatchGivesPlaces) {
  // Room for all, for some, for one of each, and for none; no rows.
  const std::vector<Capacity> cases = {
      {17, 2, 5, 34, 37},      {17, 2, 5, 4, 37},        {17, 3, 6, 1, 20},
      {9, 1, 3, 0, 4},         {0, 2, 3, 4, 4},          {300, 8, 64, 30, 6},
      {17, 2, 5, 4, 37, true}, {300, 8, 64, 30, 6, true}};
  for (DataType type : kFloats)
    for (const Capacity &r : cases) {
      std::vector<Array> inputs = {
          randomArray(type, {r.count, r.width}, 1),
          randomIds({r.count, r.choices}, r.experts, 7)};
      if (r.ordered)
        inputs.push_back(r.order());
      KernelSpec spec = makeSpec("nn.capacity_dispatch", inputs,
                                 {{type, {r.experts, r.capacity, r.width}},
                                  {DataType::I32, {r.count, r.choices}},
                                  {DataType::I32, {r.experts}}});
      spec.ints["order"] = {r.ordered};
      checkKernel(
          spec, inputs, [&](const std::vector<Array> &in) { return r.run(in); },
          0);
    }
}

TEST(KernelExperts, CombineAddsUp) {
  for (DataType type : kFloats)
    for (bool weighted : {false, true})
      for (const Routing &r : kRoutings) {
        std::vector<Array> inputs = {randomArray(type, {r.places, r.width}, 1),
                                     r.placesOf()};
        if (weighted)
          inputs.push_back(randomArray(type, {r.count, r.choices}, 2));
        KernelSpec spec =
            makeSpec("nn.combine", inputs, {{type, {r.count, r.width}}});
        spec.ints["weights"] = {weighted};
        checkKernel(
            spec, inputs,
            [&](const std::vector<Array> &in) {
              Values y(r.count * r.width, 0.0);
              for (int64_t c = 0; c < r.count * r.choices; ++c)
                for (int64_t i = 0; i < r.width && in[1][c] >= 0; ++i)
                  y[c / r.choices * r.width + i] +=
                      (weighted ? in[2][c] : 1.0) *
                      in[0][static_cast<int64_t>(in[1][c]) * r.width + i];
              return std::vector<Values>{y};
            },
            toleranceOf(type));
      }
}

TEST(KernelExperts, GradientOfCombine) {
  for (DataType type : kFloats)
    for (bool weighted : {false, true})
      for (const Routing &r : kRoutings) {
        std::vector<Array> inputs = {randomArray(type, {r.count, r.width}, 1),
                                     randomArray(type, {r.places, r.width}, 2),
                                     r.placesOf()};
        std::vector<TensorType> results = {{type, {r.places, r.width}}};
        if (weighted) {
          inputs.push_back(randomArray(type, {r.count, r.choices}, 3));
          results.push_back({type, {r.count, r.choices}});
        }
        KernelSpec spec = makeSpec("nn.combine_grad", inputs, results);
        spec.ints["weights"] = {weighted};
        checkKernel(
            spec, inputs,
            [&](const std::vector<Array> &in) {
              Values drows(r.places * r.width, 0.0);
              Values dweights(r.count * r.choices, 0.0);
              for (int64_t c = 0; c < r.count * r.choices; ++c)
                for (int64_t i = 0; i < r.width && in[2][c] >= 0; ++i) {
                  const double dy = in[0][c / r.choices * r.width + i];
                  const int64_t at =
                      static_cast<int64_t>(in[2][c]) * r.width + i;
                  drows[at] = (weighted ? in[3][c] : 1.0) * dy;
                  dweights[c] += dy * in[1][at];
                }
              return weighted ? std::vector<Values>{drows, dweights}
                              : std::vector<Values>{drows};
            },
            toleranceOf(type));
      }
}

// Whoever computes: the host says which, a device that there is one.
TEST(KernelExperts, ExpertsAndPlacesOutsideAreErrors) {
  const Routing r = {4, 2, 3, 3, 8, 5};
  const Array rows = randomArray(DataType::F32, {4, 5}, 1);
  for (double id : {-1.0, 3.0}) {
    Array ids = r.ids();
    ids.set(5, id);
    KernelSpec spec = makeSpec("nn.dispatch", {rows, ids},
                               {{DataType::F32, {8, 5}},
                                {DataType::I32, {4, 2}},
                                {DataType::I32, {3}}});
    spec.ints["experts"] = {3};
    EXPECT_THROW(runKernel(spec, {rows, ids}), std::out_of_range);
    EXPECT_THROW(runKernel(makeSpec("nn.capacity_dispatch", {rows, ids},
                                    {{DataType::F32, {3, 2, 5}},
                                     {DataType::I32, {4, 2}},
                                     {DataType::I32, {3}}}),
                           {rows, ids}),
                 std::out_of_range);
  }
  const Array sorted = randomArray(DataType::F32, {8, 5}, 2);
  for (double place : {-2.0, 8.0}) {
    Array places = r.placesOf();
    places.set(3, place);
    EXPECT_THROW(
        runKernel(makeSpec("nn.combine", {sorted, places}, {rows.type}),
                  {sorted, places}),
        std::out_of_range);
    EXPECT_THROW(runKernel(makeSpec("nn.combine_grad", {rows, sorted, places},
                                    {sorted.type}),
                           {rows, sorted, places}),
                 std::out_of_range);
  }
}

TEST(KernelExperts, OrdersOfOtherChoicesAreErrors) {
  const Array rows = randomArray(DataType::F32, {4, 5}, 1);
  const Array ids = randomIds({4, 2}, 3, 7);
  for (double choice : {-1.0, 8.0}) {
    Array order = Capacity{4, 2, 3, 2, 5}.order();
    order.set(5, choice);
    KernelSpec spec = makeSpec("nn.capacity_dispatch", {rows, ids, order},
                               {{DataType::F32, {3, 2, 5}},
                                {DataType::I32, {4, 2}},
                                {DataType::I32, {3}}});
    spec.ints["order"] = {1};
    EXPECT_THROW(runKernel(spec, {rows, ids, order}), std::out_of_range);
  }
}

Array someOffsets(const std::vector<int32_t> &ends) {
  Array offsets(DataType::I32, {int64_t(ends.size())});
  for (size_t e = 0; e < ends.size(); ++e)
    offsets.set(static_cast<int64_t>(e), ends[e]);
  return offsets;
}

/// Rows of groups, with which `ends` cuts them, and the sizes of products.
struct Groups {
  std::vector<int32_t> ends;
  int64_t rows, width, columns;

  int64_t count() const { return static_cast<int64_t>(ends.size()); }

  /// Calls body(group, row) for each row that has one.
  template <typename Body> void forEachRow(Body body) const {
    int32_t begin = 0;
    for (int64_t e = 0; e < count(); begin = ends[e++])
      for (int64_t s = begin; s < ends[e]; ++s)
        body(e, s);
  }

  Values product(const std::vector<Array> &in, bool transposed) const {
    Values c(rows * columns, 0.0);
    forEachRow([&](int64_t e, int64_t s) {
      for (int64_t k = 0; k < width; ++k)
        for (int64_t n = 0; n < columns; ++n)
          c[s * columns + n] +=
              in[0][s * width + k] *
              in[1][(e * width * columns) +
                    (transposed ? n * width + k : k * columns + n)];
    });
    return c;
  }

  /// Of the matrices of groups [first, last).
  Values gradient(const std::vector<Array> &in, int64_t first,
                  int64_t last) const {
    Values d((last - first) * width * columns, 0.0);
    forEachRow([&](int64_t e, int64_t s) {
      for (int64_t k = 0; k < width && e >= first && e < last; ++k)
        for (int64_t n = 0; n < columns; ++n)
          d[((e - first) * width + k) * columns + n] +=
              in[0][s * width + k] * in[1][s * columns + n];
    });
    return d;
  }

  void check(DataType type, bool transposed) const {
    const std::vector<Array> inputs = {
        randomArray(type, {rows, width}, 1),
        randomArray(type,
                    transposed ? Sizes{count(), columns, width}
                               : Sizes{count(), width, columns},
                    2),
        someOffsets(ends)};
    KernelSpec spec =
        makeSpec("nn.grouped_matmul", inputs, {{type, {rows, columns}}});
    spec.ints["transpose_b"] = {transposed};
    checkKernel(
        spec, inputs,
        [&](const std::vector<Array> &in) {
          return std::vector<Values>{product(in, transposed)};
        },
        toleranceOf(type));
  }

  void checkGradient(DataType type, int64_t first, int64_t last) const {
    const std::vector<Array> inputs = {randomArray(type, {rows, width}, 1),
                                       randomArray(type, {rows, columns}, 2),
                                       someOffsets(ends)};
    KernelSpec spec = makeSpec("nn.grouped_matmul_grad", inputs,
                               {{type, {last - first, width, columns}}});
    if (last - first < count())
      spec.ints["rows"] = {first, last};
    checkKernel(
        spec, inputs,
        [&](const std::vector<Array> &in) {
          return std::vector<Values>{gradient(in, first, last)};
        },
        toleranceOf(type));
  }
};

/// Groups without rows, with one and with an odd number, and rows that no group
/// has; as many groups as rows; all rows of one group. Rows of operands are
/// whole vectors, or not.
std::vector<Groups> smallGroups() {
  const std::vector<int32_t> few = {0, 13, 14, 30, 30};
  std::vector<int32_t> ones(260);
  for (size_t e = 0; e < ones.size(); ++e)
    ones[e] = static_cast<int32_t>(e + 1);
  return {{few, 33, 20, 70},  {few, 33, 64, 16},  {few, 33, 1, 5},
          {few, 33, 72, 136}, {few, 33, 40, 133}, {ones, 261, 9, 8},
          {{97}, 97, 40, 24}, {{0, 0}, 3, 8, 8}};
}

TEST(KernelGroupedMatmul, MultipliesEachGroup) {
  for (DataType type : kFloats)
    for (const Groups &groups : smallGroups())
      for (bool transposed : {false, true})
        groups.check(type, transposed);
}

TEST(KernelGroupedMatmul, GradientOfTheMatrices) {
  for (DataType type : kFloats)
    for (const Groups &groups : smallGroups()) {
      groups.checkGradient(type, 0, groups.count());
      if (groups.count() > 3)
        groups.checkGradient(type, 1, 3);
    }
}

/// More rows and columns than a product has at once.
TEST(KernelGroupedMatmul, OfManyRowsAndColumns) {
  const std::vector<int32_t> ends = {300, 300, 333};
  for (DataType type : kFloats) {
    for (const Groups &groups :
         {Groups{ends, 340, 150, 290}, Groups{ends, 340, 136, 264}}) {
      groups.check(type, /*transposed=*/false);
      groups.checkGradient(type, 0, groups.count());
    }
    Groups{ends, 340, 72, 136}.check(type, /*transposed=*/true);
    Groups{ends, 340, 75, 131}.check(type, /*transposed=*/true);
  }
}

TEST(KernelGroupedMatmul, OffsetsThatDoNotCutTheRowsAreErrors) {
  for (DataType type : kFloats)
    for (const std::vector<int32_t> &ends :
         {std::vector<int32_t>{2, 1}, {-1, 3}, {2, 5}}) {
      const Array a = randomArray(type, {4, 3}, 1);
      const Array b = randomArray(type, {2, 3, 5}, 2);
      const Array dc = randomArray(type, {4, 5}, 3);
      const Array offsets = someOffsets(ends);
      EXPECT_THROW(
          runKernel(makeSpec("nn.grouped_matmul", {a, b, offsets}, {dc.type}),
                    {a, b, offsets}),
          std::out_of_range);
      EXPECT_THROW(runKernel(makeSpec("nn.grouped_matmul_grad",
                                      {a, dc, offsets}, {b.type}),
                             {a, dc, offsets}),
                   std::out_of_range);
    }
}

} // namespace
} // namespace zrt::test
