// Attention, its gradient, and rotary positions.
#include "KernelTest.h"
#include "Philox.h"

#include <cmath>
#include <stdexcept>

namespace zrt::test {
namespace {

using Values = std::vector<double>;

struct Shape {
  int64_t b, t, h, d, s, g;
  bool causal = false;
  std::vector<int64_t> mask = {};
  double dropout = 0;
  int64_t first = -1; ///< of a part of the key heads
};

constexpr int64_t kId = 9;
/// Of the run that drops weights: on rank 1 of 2.
constexpr uint64_t kSeed = 0x123456789abcdef, kBatch = 5;

/// Attention in f64, straight from its definition.
struct Model {
  Shape z;
  double scale;
  const Array &q, &k, &v;
  const Array *mask;

  int64_t query(int64_t b, int64_t t, int64_t h) const {
    return ((b * z.t + t) * z.h + h) * z.d;
  }
  int64_t key(int64_t b, int64_t s, int64_t h) const {
    return ((b * z.s + s) * z.g + h / (z.h / z.g)) * z.d;
  }
  double maskAt(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (!mask)
      return 0;
    int64_t index[4] = {b, h, t, s}, at = 0;
    size_t skipped = 4 - z.mask.size();
    for (size_t i = 0; i < z.mask.size(); ++i)
      at = at * z.mask[i] + (z.mask[i] == 1 ? 0 : index[skipped + i]);
    return (*mask)[at];
  }
  double score(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (z.causal && s > t)
      return -INFINITY;
    double dot = 0;
    for (int64_t d = 0; d < z.d; ++d)
      dot += q[query(b, t, h) + d] * k[key(b, s, h) + d];
    // A mask may be so large that nothing is left of the product in f32.
    return z.mask.empty() ? scale * dot
                          : float(float(scale * dot) + maskAt(b, h, t, s));
  }
  /// The probabilities of a query, zeros where it sees no key, and the
  /// logarithm of the sum of exponentials.
  std::pair<Values, double> softmax(int64_t b, int64_t h, int64_t t) const {
    Values p(z.s);
    double largest = -INFINITY, sum = 0;
    for (int64_t s = 0; s < z.s; ++s)
      largest = std::max(largest, p[s] = score(b, h, t, s));
    if (largest == -INFINITY)
      return {Values(z.s), 0};
    for (double &each : p)
      sum += each = std::exp(each - largest);
    for (double &each : p)
      each /= sum;
    return {p, largest + std::log(sum)};
  }
  /// What becomes of a weight, by its place in [b, all heads, t, s].
  double factor(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (z.dropout == 0)
      return 1;
    const int64_t head = std::max<int64_t>(z.first, 0) * (z.h / z.g) + h;
    const int64_t place = (head * z.t + t) * z.s + s;
    const uint64_t sample = (kBatch * 2 + 1) * z.b + b;
    const uint32_t word =
        philoxWord({uint32_t(place / 4), uint32_t(kId), uint32_t(sample), 0},
                   kSeed, static_cast<int>(place % 4));
    return word >= z.dropout * 4294967296.0 ? 1 / (1 - z.dropout) : 0;
  }
  template <typename Body> void forEachQuery(Body body) const {
    for (int64_t b = 0; b < z.b; ++b)
      for (int64_t h = 0; h < z.h; ++h)
        for (int64_t t = 0; t < z.t; ++t)
          body(b, h, t);
  }

  std::vector<Values> forward() const {
    Values out(z.b * z.t * z.h * z.d), all;
    forEachQuery([&](int64_t b, int64_t h, int64_t t) {
      const auto [p, lse] = softmax(b, h, t);
      all.push_back(lse);
      for (int64_t s = 0; s < z.s; ++s)
        for (int64_t d = 0; d < z.d; ++d)
          out[query(b, t, h) + d] +=
              p[s] * factor(b, h, t, s) * v[key(b, s, h) + d];
    });
    return {out, all};
  }

  std::vector<Values> backward(const Array &dout, const Array &out) const {
    Values dq(q.size()), dk(k.size()), dv(k.size());
    forEachQuery([&](int64_t b, int64_t h, int64_t t) {
      int64_t at = query(b, t, h);
      const Values all = softmax(b, h, t).first;
      double correction = 0;
      for (int64_t d = 0; d < z.d; ++d)
        correction += dout[at + d] * out[at + d];
      for (int64_t s = 0; s < z.s; ++s) {
        int64_t other = key(b, s, h);
        const double p = all[s], kept = factor(b, h, t, s);
        double dp = 0;
        for (int64_t d = 0; d < z.d; ++d) {
          dp += kept * dout[at + d] * v[other + d];
          dv[other + d] += kept * p * dout[at + d];
        }
        for (int64_t d = 0; d < z.d; ++d) {
          dq[at + d] += scale * p * (dp - correction) * k[other + d];
          dk[other + d] += scale * p * (dp - correction) * q[at + d];
        }
      }
    });
    return {dq, dk, dv};
  }
};

void setAttributes(KernelSpec &spec, const Shape &z, double scale) {
  spec.ints["causal"] = {z.causal};
  spec.ints["mask"] = {!z.mask.empty()};
  spec.floats["scale"] = scale;
  if (z.dropout == 0)
    return;
  spec.floats["dropout"] = z.dropout;
  spec.ints["id"] = {kId};
}

/// Puts the first key head behind those that are always there.
void addFirst(std::vector<Array> &inputs, const Shape &z, size_t at) {
  if (z.first < 0)
    return;
  Array first(DataType::I32, {});
  first.set(0, double(z.first));
  inputs.insert(inputs.begin() + at, first);
}

std::string nameOf(const Shape &z, const std::string &operation) {
  return (z.first < 0 ? "nn." : "nn.partial_") + operation;
}

/// Every third query sees no key, and the others some, where `hidden` is what
/// the mask has for a key that is not seen.
void checkAttention(DataType type, const Shape &z, double hidden = 0) {
  // The scores are exact where a mask is larger than their last digits, and
  // rounds them: a result that lies between two others could be either.
  const bool isExact = std::isfinite(hidden) && hidden != 0;
  const double scale = isExact ? 0.25 : 1 / std::sqrt(double(z.d));
  std::vector<Array> inputs = {randomArray(type, {z.b, z.t, z.h, z.d}, 1, 2),
                               randomArray(type, {z.b, z.s, z.g, z.d}, 2, 2),
                               randomArray(type, {z.b, z.s, z.g, z.d}, 3)};
  if (!z.mask.empty())
    inputs.push_back(randomArray(DataType::F32, z.mask, 4, 3));
  for (Array *x : {&inputs[0], &inputs[1]})
    for (int64_t i = 0; isExact && i < x->size(); ++i)
      x->set(i, std::round((*x)[i]));
  for (int64_t i = 0; hidden != 0 && i < inputs.back().size(); ++i)
    if (i / z.s % 3 == 0 || i % 5 == 0)
      inputs.back().set(i, hidden);
    else if (isExact)
      inputs.back().set(i, 0);
  std::vector<int64_t> queries = {z.b, z.t, z.h, z.d}, rows = {z.b, z.h, z.t};
  const Array q = inputs[0], k = inputs[1], v = inputs[2];
  const Array mask = inputs.back();
  addFirst(inputs, z, 3);
  KernelSpec forward = makeSpec(nameOf(z, "attention"), inputs,
                                {{type, queries}, {DataType::F32, rows}});
  setAttributes(forward, z, scale);
  Control control{};
  control.seed = kSeed;
  control.batch = kBatch;
  Setting setting;
  setting.control = &control;
  setting.rank = 1;
  setting.ranks = 2;
  // Products of bf16 round probabilities, and the gradients of scores.
  const double tolerance = (type == DataType::BF16 ? 3 : 1) * toleranceOf(type);
  Model model{z, scale, q, k, v, z.mask.empty() ? nullptr : &mask};
  std::vector<Array> results = checkKernel(
      forward, inputs,
      [&](const std::vector<Array> &) { return model.forward(); }, tolerance,
      setting);

  std::vector<Array> all = {
      randomArray(type, queries, 5), q, k, v, results[0], results[1]};
  if (!z.mask.empty())
    all.push_back(mask);
  addFirst(all, z, 6);
  KernelSpec backward =
      makeSpec(nameOf(z, "attention_grad"), all,
               {{type, queries}, {type, k.type.shape}, {type, k.type.shape}});
  setAttributes(backward, z, scale);
  checkKernel(
      backward, all,
      [&](const std::vector<Array> &in) {
        return model.backward(in[0], in[4]);
      },
      2 * tolerance, setting);
}

TEST(KernelAttention, PlainAndCausal) {
  for (DataType type : kFloats) {
    checkAttention(type, {2, 7, 3, 20, 7, 3, true});
    checkAttention(type, {2, 7, 3, 20, 7, 3, false});
    checkAttention(type, {1, 64, 2, 16, 64, 2, true});
    checkAttention(type, {1, 1, 1, 1, 1, 1, true});
  }
}

// More queries than a block, more keys than a panel, and tails of both.
TEST(KernelAttention, BlocksAndPanels) {
  for (DataType type : {DataType::F32, DataType::BF16}) {
    checkAttention(type, {1, 203, 2, 72, 203, 1, true});
    checkAttention(type, {1, 101, 1, 8, 150, 1, false});
  }
}

TEST(KernelAttention, HeadsShareKeys) {
  for (DataType type : kFloats) {
    checkAttention(type, {2, 13, 6, 20, 13, 2, true});
    checkAttention(type, {2, 5, 4, 20, 13, 1, false});
  }
}

TEST(KernelAttention, MasksOfEveryShape) {
  for (const std::vector<int64_t> &mask : std::vector<std::vector<int64_t>>{
           {7, 13}, {2, 3, 7, 13}, {1, 1, 7, 13}, {2, 1, 1, 13}, {1, 3, 7, 1}})
    checkAttention(DataType::F32, {2, 7, 3, 20, 13, 3, false, mask});
  checkAttention(DataType::BF16, {2, 7, 3, 20, 7, 3, true, {7, 7}});
}

TEST(KernelAttention, AQueryMaySeeNothing) {
  for (DataType type : kFloats) {
    checkAttention(type, {2, 7, 3, 20, 13, 3, false, {7, 13}}, -INFINITY);
    checkAttention(type, {1, 40, 2, 8, 40, 1, true, {40, 40}}, -INFINITY);
  }
}

// Where all keys of a query are hidden by a finite number, that number is all
// that is left of its scores, and each key has the same probability. The
// logarithm of the sum of exponentials has lost how many they are.
TEST(KernelAttention, AMaskOfFiniteNumbersMayHideAllKeys) {
  for (DataType type : kFloats)
    for (double hidden : {-3.4028234663852886e38, -1e9, -1e4, 1e5}) {
      checkAttention(type, {2, 7, 3, 20, 13, 3, false, {7, 13}}, hidden);
      checkAttention(type, {2, 9, 4, 8, 9, 2, false, {2, 1, 9, 9}}, hidden);
      checkAttention(type, {1, 40, 2, 8, 40, 1, true, {40, 40}}, hidden);
    }
}

/// Sizes by which words of one counter are those of several rows of weights.
TEST(KernelAttention, DropsWeightsAsDropoutDoesThatHasThemAll) {
  for (DataType type : kFloats) {
    checkAttention(type, {2, 7, 3, 20, 7, 3, true, {}, 0.3});
    checkAttention(type, {2, 5, 4, 20, 13, 1, false, {}, 0.5});
    checkAttention(type, {1, 101, 2, 8, 150, 1, false, {}, 0.1});
    checkAttention(type, {1, 64, 6, 16, 64, 2, true, {}, 0.1});
    checkAttention(type, {2, 7, 3, 20, 13, 3, false, {7, 13}, 0.3}, -INFINITY);
  }
}

TEST(KernelAttention, DropsOfAPartWhatItDropsOfTheWhole) {
  for (DataType type : kFloats)
    for (int64_t first : {0, 1, 6}) {
      checkAttention(type, {2, 7, 3, 20, 7, 3, true, {}, 0.3, first});
      checkAttention(type, {2, 5, 4, 20, 13, 2, false, {}, 0.3, first});
      checkAttention(type, {2, 5, 4, 20, 13, 1, false, {5, 13}, 0.3, first});
    }
}

/// Bit by bit what it is without dropout.
TEST(KernelAttention, EvaluationDropsNothing) {
  for (DataType type : kFloats) {
    const Shape z = {2, 7, 4, 20, 13, 2, false, {}, 0.3};
    std::vector<Array> inputs = {randomArray(type, {2, 7, 4, 20}, 1),
                                 randomArray(type, {2, 13, 2, 20}, 2),
                                 randomArray(type, {2, 13, 2, 20}, 3)};
    KernelSpec spec =
        makeSpec("nn.attention", inputs,
                 {{type, {2, 7, 4, 20}}, {DataType::F32, {2, 4, 7}}});
    setAttributes(spec, z, 0.25);
    KernelSpec plain = spec;
    plain.ints.erase("id");
    plain.floats.erase("dropout");
    Control control{};
    control.evaluating = 1;
    Setting setting;
    setting.control = &control;
    const std::vector<Array> found = runKernel(spec, inputs, setting),
                             wanted = runKernel(plain, inputs, setting);
    EXPECT_TRUE(found[0] == wanted[0]);
    EXPECT_TRUE(found[1] == wanted[1]);
    control.evaluating = 0;
    EXPECT_FALSE(runKernel(spec, inputs, setting)[0] == wanted[0]);
  }
}

TEST(KernelAttention, MaskedKeysAreNotSeen) {
  const double infinity = INFINITY;
  std::vector<Array> inputs = {randomArray(DataType::F32, {1, 2, 1, 4}, 1),
                               randomArray(DataType::F32, {1, 3, 1, 4}, 2),
                               randomArray(DataType::F32, {1, 3, 1, 4}, 3),
                               Array(DataType::F32, {2, 3})};
  for (int64_t i : {1, 2, 3, 5})
    inputs[3].set(i, -infinity);
  KernelSpec spec =
      makeSpec("nn.attention", inputs,
               {{DataType::F32, {1, 2, 1, 4}}, {DataType::F32, {1, 1, 2}}});
  spec.ints["mask"] = {1};
  spec.floats["scale"] = 1;
  std::vector<Array> results = runKernel(spec, inputs);
  for (int64_t d = 0; d < 4; ++d) {
    EXPECT_EQ(results[0][d], inputs[2][d]);         // query 0 sees key 0
    EXPECT_EQ(results[0][4 + d], inputs[2][4 + d]); // query 1 sees key 1
  }
}

TEST(KernelAttention, RefusesCausalWithOtherKeysThanQueries) {
  std::vector<Array> inputs = {randomArray(DataType::F32, {1, 2, 1, 4}, 1),
                               randomArray(DataType::F32, {1, 3, 1, 4}, 2),
                               randomArray(DataType::F32, {1, 3, 1, 4}, 3)};
  KernelSpec spec =
      makeSpec("nn.attention", inputs,
               {{DataType::F32, {1, 2, 1, 4}}, {DataType::F32, {1, 1, 2}}});
  spec.ints["causal"] = {1};
  EXPECT_THROW(runKernel(spec, inputs), std::invalid_argument);
}

/// Of heads [begin, 3): of all where that is 0.
void checkRotary(DataType type, int64_t features, bool interleaved,
                 bool inverse, int64_t begin) {
  std::vector<int64_t> shape = {2, 7, 3, features};
  std::vector<Array> inputs = {randomArray(type, shape, 1)};
  KernelSpec spec = makeSpec("nn.rotary", inputs, {{type, shape}});
  spec.ints["interleaved"] = {interleaved};
  spec.ints["inverse"] = {inverse};
  spec.floats["theta"] = 10000;
  if (begin)
    spec.ints["heads"] = {begin, 3};
  checkKernel(
      spec, inputs,
      [&](const std::vector<Array> &in) {
        Values y(in[0].size());
        for (int64_t row = 0; row < 2 * 7 * 3; ++row)
          for (int64_t i = 0; i < features / 2; ++i) {
            if (row % 3 < begin) {
              for (int64_t each : {i, i + features / 2})
                y[row * features + each] = in[0][row * features + each];
              continue;
            }
            int64_t a = row * features + (interleaved ? 2 * i : i);
            int64_t b = a + (interleaved ? 1 : features / 2);
            double angle = row / 3 % 7 * std::pow(10000, -2.0 * i / features);
            double c = std::cos(angle), s = std::sin(angle);
            s = inverse ? -s : s;
            y[a] = in[0][a] * c - in[0][b] * s;
            y[b] = in[0][a] * s + in[0][b] * c;
          }
        return std::vector<Values>{y};
      },
      toleranceOf(type));
}

TEST(KernelRotary, BothLayoutsBothWays) {
  for (DataType type : kFloats)
    for (int64_t features : {2, 20, 64})
      for (bool interleaved : {false, true})
        for (bool inverse : {false, true})
          for (int64_t begin : {0, 1, 2})
            checkRotary(type, features, interleaved, inverse, begin);
}

TEST(KernelRotary, HeadsMustBeThere) {
  const std::vector<Array> x = {randomArray(DataType::F32, {2, 7, 3, 8}, 1)};
  KernelSpec spec = makeSpec("nn.rotary", x, {x[0].type});
  spec.ints = {{"interleaved", {0}}, {"inverse", {0}}, {"heads", {1, 4}}};
  spec.floats["theta"] = 10000;
  EXPECT_THROW(runKernel(spec, x), std::invalid_argument);
}

} // namespace
} // namespace zrt::test
