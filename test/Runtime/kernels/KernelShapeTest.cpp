// Data movement, reductions and launches.
#include "KernelTest.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace zrt::test {
namespace {

using Values = std::vector<double>;
using Sizes = std::vector<int64_t>;

int64_t elementsOf(const Sizes &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// The index of element `at` of a row-major `shape`, and back.
Sizes indexOf(const Sizes &shape, int64_t at) {
  Sizes index(shape.size());
  for (size_t i = shape.size(); i-- > 0; at /= shape[i])
    index[i] = at % shape[i];
  return index;
}
int64_t offsetOf(const Sizes &shape, const Sizes &index) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    at = at * shape[i] + index[i];
  return at;
}

Values valuesOf(const Array &array) {
  Values values;
  for (int64_t i = 0; i < array.size(); ++i)
    values.push_back(array[i]);
  return values;
}

/// result[index] = x[source(index)], for every index of `shape`.
template <typename Source>
Values gather(const Array &x, const Sizes &shape, Source source) {
  Values values;
  for (int64_t i = 0; i < elementsOf(shape); ++i)
    values.push_back(x[offsetOf(x.type.shape, source(indexOf(shape, i)))]);
  return values;
}

const DataType kTypes[] = {DataType::F32, DataType::BF16, DataType::F16,
                           DataType::I32};

Array someArray(DataType type, const Sizes &shape, uint64_t seed) {
  return type == DataType::I32 ? randomIds(shape, 1000, seed)
                               : randomArray(type, shape, seed);
}

TEST(KernelBroadcast, RepeatsAlongNewDimensions) {
  struct Case {
    Sizes from, dims, to;
  };
  for (DataType type : kTypes)
    for (const Case &c : std::vector<Case>{{{}, {}, {5, 7}},
                                           {{20}, {1}, {300, 20}},
                                           {{300}, {0}, {300, 20}},
                                           {{3, 5}, {0, 2}, {3, 4, 5}},
                                           {{3, 5}, {1, 2}, {2, 3, 5}},
                                           {{3, 5}, {0, 1}, {3, 5, 33}}}) {
      std::vector<Array> inputs = {someArray(type, c.from, 1)};
      KernelSpec spec = makeSpec("nn.broadcast", inputs, {{type, c.to}});
      spec.ints["dims"] = c.dims;
      checkKernel(
          spec, inputs,
          [&](const std::vector<Array> &in) {
            return std::vector<Values>{gather(in[0], c.to, [&](Sizes index) {
              Sizes source;
              for (int64_t dim : c.dims)
                source.push_back(index[dim]);
              return source;
            })};
          },
          0);
    }
}

TEST(KernelTranspose, EveryPermutation) {
  for (DataType type : kTypes)
    for (const Sizes &shape :
         std::vector<Sizes>{{3, 20, 5, 7}, {2, 1, 33, 40}}) {
      Sizes permutation = {0, 1, 2, 3};
      do {
        std::vector<Array> inputs = {someArray(type, shape, 1)};
        Sizes to;
        for (int64_t dim : permutation)
          to.push_back(shape[dim]);
        KernelSpec spec = makeSpec("nn.transpose", inputs, {{type, to}});
        spec.ints["permutation"] = permutation;
        checkKernel(
            spec, inputs,
            [&](const std::vector<Array> &in) {
              return std::vector<Values>{gather(in[0], to, [&](Sizes index) {
                Sizes source(4);
                for (size_t i = 0; i < 4; ++i)
                  source[permutation[i]] = index[i];
                return source;
              })};
            },
            0);
      } while (std::next_permutation(permutation.begin(), permutation.end()));
    }
}

TEST(KernelTranspose, LargeMatrix) {
  std::vector<Array> inputs = {randomArray(DataType::F32, {333, 250}, 1)};
  KernelSpec spec =
      makeSpec("nn.transpose", inputs, {{DataType::F32, {250, 333}}});
  spec.ints["permutation"] = {1, 0};
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        return std::vector<Values>{gather(in[0], {250, 333}, [](Sizes index) {
          return Sizes{index[1], index[0]};
        })};
      },
      0);
}

TEST(KernelSplit, IsUndoneByConcat) {
  for (DataType type : kTypes)
    for (int64_t dim : {0, 1, 2}) {
      Sizes shape = {6, 9, 12};
      Sizes first = shape, second = shape;
      first[dim] = 2;
      second[dim] -= 2;
      Array x = someArray(type, shape, 1);
      KernelSpec split =
          makeSpec("nn.split", {x}, {{type, first}, {type, second}});
      split.ints = {{"dim", {dim}}, {"sizes", {first[dim], second[dim]}}};
      std::vector<Array> pieces = checkKernel(
          split, {x},
          [&](const std::vector<Array> &in) {
            auto shifted = [dim](Sizes index) {
              index[dim] += 2;
              return index;
            };
            auto same = [](Sizes index) { return index; };
            return std::vector<Values>{gather(in[0], first, same),
                                       gather(in[0], second, shifted)};
          },
          0);
      KernelSpec concat = makeSpec("tensor.concat", pieces, {{type, shape}});
      concat.ints["dim"] = {dim};
      checkKernel(
          concat, pieces,
          [&](const std::vector<Array> &) {
            return std::vector<Values>{valuesOf(x)};
          },
          0);
    }
}

void setSlice(KernelSpec &spec) {
  spec.ints["offsets"] = {1, 0, 3};
  spec.ints["sizes"] = {2, 1, 4};
  spec.ints["strides"] = {2, 1, 3};
}
Sizes inSlice(const Sizes &index) {
  return {1 + 2 * index[0], index[1], 3 + 3 * index[2]};
}

TEST(KernelSlice, ExtractAndInsert) {
  const Sizes whole = {5, 3, 13}, part = {2, 1, 4};
  for (DataType type : kTypes) {
    Array x = someArray(type, whole, 1), y = someArray(type, part, 2);
    // The result may leave dimensions of 1 out.
    for (const Sizes &shape : {part, Sizes{2, 4}}) {
      KernelSpec spec = makeSpec("tensor.extract_slice", {x}, {{type, shape}});
      setSlice(spec);
      checkKernel(
          spec, {x},
          [&](const std::vector<Array> &in) {
            return std::vector<Values>{gather(in[0], part, inSlice)};
          },
          0);
    }
    KernelSpec spec = makeSpec("tensor.insert_slice", {y, x}, {{type, whole}});
    setSlice(spec);
    checkKernel(
        spec, {y, x},
        [&](const std::vector<Array> &in) {
          Values values = valuesOf(in[1]);
          for (int64_t i = 0; i < in[0].size(); ++i)
            values[offsetOf(whole, inSlice(indexOf(part, i)))] = in[0][i];
          return std::vector<Values>{values};
        },
        0);
  }
}

TEST(KernelSlice, NamesASliceThatLeavesItsTensor) {
  Array x = randomArray(DataType::F32, {5}, 1);
  KernelSpec spec =
      makeSpec("tensor.extract_slice", {x}, {{DataType::F32, {3}}});
  spec.ints["offsets"] = {1};
  spec.ints["sizes"] = {3};
  spec.ints["strides"] = {2};
  try {
    runKernel(spec, {x});
    FAIL() << "accepted elements 1, 3 and 5 of 5";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(),
                 "kernel 'tensor.extract_slice': the slice leaves dimension 0 "
                 "of 5xf32: it reaches from 1 to 5");
  }
}

TEST(KernelPad, SurroundsWithTheValue) {
  for (DataType type : kTypes) {
    Array x = someArray(type, {3, 5}, 1);
    KernelSpec spec = makeSpec("tensor.pad", {x}, {{type, {6, 6}}});
    spec.ints["low"] = {1, 0};
    spec.ints["high"] = {2, 1};
    spec.floats["value"] = -2;
    checkKernel(
        spec, {x},
        [&](const std::vector<Array> &in) {
          Values values(36, -2);
          for (int64_t i = 0; i < 15; ++i)
            values[(i / 5 + 1) * 6 + i % 5] = in[0][i];
          return std::vector<Values>{values};
        },
        0);
  }
}

TEST(KernelSplat, FillsWithTheValue) {
  for (DataType type : kTypes)
    for (bool listed : {false, true}) {
      std::vector<Array> inputs;
      if (listed)
        inputs.push_back(Array(type, {}));
      KernelSpec spec = makeSpec("tensor.splat", inputs, {{type, {7, 333}}});
      spec.floats["value"] = 3;
      std::vector<Array> results = runKernel(spec, inputs);
      for (int64_t i = 0; i < results[0].size(); ++i)
        ASSERT_EQ(results[0][i], 3);
    }
}

void checkReduce(DataType type, const Sizes &shape, const Sizes &dims,
                 int64_t kind) {
  Array x = randomArray(type, shape, 1);
  Sizes kept;
  auto isReduced = [&](int64_t dim) {
    return std::find(dims.begin(), dims.end(), dim) != dims.end();
  };
  for (size_t i = 0; i < shape.size(); ++i)
    if (!isReduced(i))
      kept.push_back(shape[i]);
  KernelSpec spec = makeSpec("nn.reduce", {x}, {{type, kept}});
  spec.ints["dims"] = dims;
  spec.ints["kind"] = {kind};
  checkKernel(
      spec, {x},
      [&](const std::vector<Array> &in) {
        Values values(elementsOf(kept), kind == 1 ? -INFINITY : 0);
        for (int64_t i = 0; i < in[0].size(); ++i) {
          Sizes index = indexOf(shape, i), target;
          for (size_t d = 0; d < shape.size(); ++d)
            if (!isReduced(d))
              target.push_back(index[d]);
          double &value = values[offsetOf(kept, target)];
          value = kind == 1 ? std::max(value, in[0][i]) : value + in[0][i];
        }
        for (double &value : values)
          value /= kind == 2 ? elementsOf(shape) / elementsOf(kept) : 1;
        return std::vector<Values>{values};
      },
      toleranceOf(type));
}

TEST(KernelReduce, EveryKindOverEveryDimension) {
  for (DataType type : kFloats)
    for (int64_t kind : {0, 1, 2}) {
      for (const Sizes &dims : std::vector<Sizes>{
               {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}, {}})
        checkReduce(type, {7, 13, 20}, dims, kind);
      checkReduce(type, {700, 300}, {0}, kind);
      checkReduce(type, {3, 5000}, {1}, kind);
      checkReduce(type, {4, 3, 5, 18}, {1, 3}, kind);
      checkReduce(type, {4, 3, 5, 18}, {0, 2}, kind);
    }
}

void triple(void *const *buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float *>(buffers[1])[i] =
        3 * static_cast<const float *>(buffers[0])[i];
}

TEST(KernelLaunch, RunsTheFunctionOfThatName) {
  GeneratedKernel table[] = {{"other", nullptr, 0, 1},
                             {"triple", triple, 1000, 10}};
  Array x = randomArray(DataType::F32, {1000}, 1);
  KernelSpec spec = makeSpec("launch", {x}, {{DataType::F32, {1000}}});
  spec.symbol = "triple";
  Setting setting;
  setting.generated = table;
  setting.generatedCount = 2;
  checkKernel(
      spec, {x},
      [&](const std::vector<Array> &in) {
        Values values = valuesOf(in[0]);
        for (double &value : values)
          value *= 3;
        return std::vector<Values>{values};
      },
      1e-6, setting);
  spec.symbol = "absent";
  EXPECT_THROW(runKernel(spec, {x}, setting), std::invalid_argument);
}

} // namespace
} // namespace zrt::test
