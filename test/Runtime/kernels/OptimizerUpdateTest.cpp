// The update rules against their formulas in f64.
#include "OptimizerTesting.h"
#include "UpdateRuleList.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <map>

using namespace zrt;
using namespace zrt::testing;
using zrt::test::ListedRule;
using zrt::test::listUpdateRules;
using zrt::test::onlyItsOwn;

namespace {

constexpr DataType F32 = DataType::F32, F16 = DataType::F16,
                   BF16 = DataType::BF16;

struct Hyper {
  double rate = 1e-2, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, decay = 0.1;
  double momentum = 0, weight = 0.3;
  bool nesterov = false;
};

/// One element's state.
struct Reference {
  double parameter, states[kMostStates] = {};
};

//===----------------------------------------------------------------------===//
// The formulas, step for step as torch.optim's single-tensor rules
//===----------------------------------------------------------------------===//

void adamStep(Reference &r, double gradient, const Hyper &h, int step) {
  double &first = r.states[0], &second = r.states[1];
  first += (gradient - first) * (1 - h.beta1);
  second = second * h.beta2 + (1 - h.beta2) * gradient * gradient;
  double bias1 = 1 - std::pow(h.beta1, step);
  double bias2 = 1 - std::pow(h.beta2, step);
  double denominator = std::sqrt(second) / std::sqrt(bias2) + h.epsilon;
  r.parameter -= h.rate / bias1 * first / denominator;
}

void adamW(Reference &r, double gradient, const Hyper &h, int step) {
  r.parameter -= h.rate * h.decay * r.parameter;
  adamStep(r, gradient, h, step);
}

void adam(Reference &r, double gradient, const Hyper &h, int step) {
  adamStep(r, gradient + h.decay * r.parameter, h, step);
}

void sgd(Reference &r, double gradient, const Hyper &h, int step) {
  double &buffer = r.states[0];
  gradient += h.decay * r.parameter;
  if (h.momentum != 0) {
    buffer = step == 1 ? gradient : h.momentum * buffer + gradient;
    gradient = h.nesterov ? gradient + h.momentum * buffer : buffer;
  }
  r.parameter -= h.rate * gradient;
}

void lion(Reference &r, double gradient, const Hyper &h, int) {
  double &momentum = r.states[0];
  double mixed = h.beta1 * momentum + (1 - h.beta1) * gradient;
  double sign = mixed > 0 ? 1 : mixed < 0 ? -1 : 0;
  r.parameter = (1 - h.rate * h.decay) * r.parameter - h.rate * sign;
  momentum = h.beta2 * momentum + (1 - h.beta2) * gradient;
}

void adagrad(Reference &r, double gradient, const Hyper &h, int) {
  gradient += h.decay * r.parameter;
  r.states[0] += gradient * gradient;
  r.parameter -= h.rate * gradient / (std::sqrt(r.states[0]) + h.epsilon);
}

void movingAverage(Reference &r, double value, const Hyper &h, int) {
  r.parameter = (1 - h.weight) * r.parameter + h.weight * value;
}

using Formula = void (*)(Reference &, double gradient, const Hyper &, int step);

/// Of each rule; `step` counts from 1.
const std::map<std::string, Formula> kFormulas = {
    {"zero.adamw", adamW},     {"zero.adam", adam},
    {"zero.sgd", sgd},         {"zero.lion", lion},
    {"zero.adagrad", adagrad}, {"zero.moving_average", movingAverage}};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

int countStates(const KernelSpec &spec) {
  for (const ListedRule &rule : listUpdateRules())
    if (spec.name == rule.name)
      return rule.states(spec);
  return -1;
}

KernelSpec specOf(const std::string &name, const Hyper &h, int64_t elements,
                  DataType gradient, DataType compute) {
  KernelSpec spec;
  spec.name = name;
  spec.ints = {
      {"partition", {3}}, {"bias_correction", {1}}, {"nesterov", {h.nesterov}}};
  spec.floats = {{"beta1", h.beta1},       {"beta2", h.beta2},
                 {"epsilon", h.epsilon},   {"weight_decay", h.decay},
                 {"momentum", h.momentum}, {"weight", h.weight}};
  spec.operands = flat(elements, {gradient, F32});
  for (int left = countStates(spec); left > 0; --left)
    spec.operands.push_back({F32, {elements}});
  if (compute != F32)
    spec.operands.push_back({compute, {elements}});
  return onlyItsOwn(spec);
}

/// The buffers of one update, in the kernels' order.
struct State {
  State(int64_t elements, DataType gradientType, DataType computeType)
      : gradient(gradientType, elements), parameter(F32, elements),
        compute(computeType, elements) {
    for (int k = 0; k < kMostStates; ++k)
      states.emplace_back(F32, elements);
  }

  std::vector<void *> buffers(const KernelSpec &spec, size_t at = 0) {
    std::vector<void *> result = {gradient.at(at), parameter.at(at)};
    const int kept = countStates(spec);
    for (int k = 0; k < kept; ++k)
      result.push_back(states[k].at(at));
    if (spec.operands.size() > result.size())
      result.push_back(compute.at(at));
    return result;
  }

  Values gradient, parameter, compute;
  std::vector<Values> states;
};

/// What states may be: some hold sums of squares.
void randomizePositive(Values &values, std::mt19937 &generator) {
  values.randomize(generator, 1);
  for (size_t i = 0; i < values.size(); ++i)
    values.set(i, std::fabs(values.get(i)) * 1e-3f);
}

void compare(const std::string &name, const Hyper &h, DataType gradientType,
             DataType computeType) {
  SCOPED_TRACE(name + " " + nameOf(gradientType) + " " + nameOf(computeType));
  constexpr int64_t elements = 1003;
  std::mt19937 generator(7);
  Bench bench;
  State state(elements, gradientType, computeType);
  state.parameter.randomize(generator, 1);
  std::vector<Reference> reference(elements);
  for (int64_t i = 0; i < elements; ++i)
    reference[i].parameter = state.parameter.get(i);
  KernelSpec spec = specOf(name, h, elements, gradientType, computeType);
  bench.control.learningRate[3] = static_cast<float>(h.rate);
  bench.control.factor = 0.125f;
  bench.control.unscale = 0.5f;
  // What is no gradient is not clipped.
  const double scale = name == "zero.moving_average" ? 0.5 : 0.125;
  for (int step = 1; step <= 20; ++step) {
    state.gradient.randomize(generator, 0.5f, 0.1f);
    bench.run(spec, state.buffers(spec));
    bench.control.steps++;
    for (int64_t i = 0; i < elements; ++i) {
      double gradient = double(state.gradient.get(i)) * scale;
      kFormulas.at(name)(reference[i], gradient, h, step);
    }
  }
  for (int64_t i = 0; i < elements; ++i) {
    ASSERT_NEAR(state.parameter.get(i), reference[i].parameter, 2e-6) << i;
    for (int k = 0; k < countStates(spec); ++k)
      ASSERT_NEAR(state.states[k].get(i), reference[i].states[k], 1e-6) << i;
  }
}

TEST(OptimizerUpdate, FollowsTheFormulas) {
  Hyper plain, momentum, nesterov;
  momentum.momentum = nesterov.momentum = 0.9;
  nesterov.nesterov = true;
  for (auto [gradient, compute] : {std::pair{F32, F32},
                                   {BF16, BF16},
                                   {F32, BF16},
                                   {F16, F16},
                                   {F32, F16}}) {
    for (const ListedRule &rule : listUpdateRules())
      compare(rule.name, plain, gradient, compute);
    compare("zero.sgd", momentum, gradient, compute);
    compare("zero.sgd", nesterov, gradient, compute);
  }
}

/// Every step of torch.optim's classes, recorded in f64.
TEST(OptimizerUpdate, FollowsTorch) {
  std::ifstream file(goldenPath("optimizer.json"));
  nlohmann::json golden = nlohmann::json::parse(file);
  std::vector<float> start = golden["start"];
  auto elements = static_cast<int64_t>(start.size());
  for (const auto &run : golden["runs"]) {
    SCOPED_TRACE(run["name"]);
    Hyper h;
    h.rate = run["rate"];
    h.beta1 = run["beta1"];
    h.beta2 = run["beta2"];
    h.epsilon = run["epsilon"];
    h.decay = run["weight_decay"];
    h.momentum = run["momentum"];
    h.nesterov = run["nesterov"];
    Bench bench;
    bench.control.learningRate[3] = static_cast<float>(h.rate);
    State state(elements, F32, F32);
    for (int64_t i = 0; i < elements; ++i)
      state.parameter.set(i, start[i]);
    KernelSpec spec = specOf(run["kernel"], h, elements, F32, F32);
    for (size_t step = 0; step < golden["gradients"].size(); ++step) {
      std::vector<float> gradient = golden["gradients"][step];
      std::vector<double> wanted = run["parameters"][step];
      std::memcpy(state.gradient.data(), gradient.data(), elements * 4);
      bench.run(spec, state.buffers(spec));
      bench.control.steps++;
      for (int64_t i = 0; i < elements; ++i)
        ASSERT_NEAR(state.parameter.get(i), wanted[i], 1e-6) << step;
    }
  }
}

/// A bf16 parameter and the lower half of its master are the master.
TEST(OptimizerUpdate, SplitMastersHaveTheBitsOfWholeOnes) {
  constexpr int64_t elements = 4099, first = 5; // not whole vectors
  Hyper momentum;
  momentum.momentum = 0.9;
  for (const ListedRule &rule : listUpdateRules())
    for (DataType gradientType : {F32, BF16}) {
      const char *name = rule.name;
      std::mt19937 generator(11);
      Bench bench;
      bench.control.learningRate[3] = 1e-2f;
      State whole(elements, gradientType, BF16);
      State split(elements, gradientType, BF16);
      std::vector<uint16_t> lower(elements);
      whole.parameter.randomize(generator, 1);
      for (int64_t i = 0; i < elements; ++i) {
        uint32_t bits = bitsOf(whole.parameter.get(i));
        lower[i] = static_cast<uint16_t>(bits);
        split.compute.setRaw16(i, (bits + 0x8000u) >> 16);
      }
      KernelSpec spec =
          specOf(name, momentum, elements - first, gradientType, BF16);
      KernelSpec splitSpec = spec;
      splitSpec.operands[1].type = DataType::U16;
      for (int step = 1; step <= 50; ++step) {
        whole.gradient.randomize(generator, 0.5f, 0.1f);
        split.gradient = whole.gradient;
        bench.run(spec, whole.buffers(spec, first));
        std::vector<void *> buffers = split.buffers(splitSpec, first);
        buffers[1] = lower.data() + first;
        bench.run(splitSpec, buffers);
        bench.control.steps++;
      }
      for (int64_t i = first; i < elements; ++i) {
        uint32_t bits = bitsOf(whole.parameter.get(i));
        ASSERT_EQ(lower[i], static_cast<uint16_t>(bits)) << name << " " << i;
        ASSERT_EQ(split.compute.raw16(i), whole.compute.raw16(i)) << i;
      }
    }
}

/// Every exponent, ties among them, NaN and infinities.
float oddValue(uint32_t i) {
  return floatOf(i * 2654435761u & ~(i % 3 ? 0x7fffu : 0u));
}

TEST(OptimizerUpdate, RoundsTheComputeCopyAsTheRulesSay) {
  constexpr int64_t elements = 1 << 16;
  Hyper h;
  h.decay = 0;
  for (DataType type : {BF16, F16}) {
    Bench bench; // learning rate 0: the parameter stays
    State state(elements, F32, type);
    for (int64_t i = 0; i < elements; ++i)
      state.parameter.set(i, oddValue(i));
    KernelSpec spec = specOf("zero.sgd", h, elements, F32, type);
    bench.run(spec, state.buffers(spec));
    for (int64_t i = 0; i < elements; ++i) {
      float master = state.parameter.get(i);
      if (std::isnan(master)) {
        ASSERT_TRUE(std::isnan(state.compute.get(i)));
        continue;
      }
      uint32_t halfAway = (bitsOf(master) + 0x8000u) >> 16;
      ASSERT_EQ(state.compute.raw16(i),
                type == BF16 ? halfAway : f32ToF16(master))
          << master;
    }
  }
}

TEST(OptimizerUpdate, ASkippedUpdateChangesNothing) {
  std::mt19937 generator(1);
  for (const ListedRule &rule : listUpdateRules()) {
    std::string name = rule.name;
    Hyper h;
    h.momentum = 0.9;
    State state(100, F16, F16);
    for (Values *values : {&state.gradient, &state.parameter, &state.compute})
      values->randomize(generator, 1);
    for (Values &values : state.states)
      values.randomize(generator, 1);
    State before = state;
    Bench bench;
    bench.control.finite = 0;
    bench.control.learningRate[3] = 1;
    KernelSpec spec = specOf(name, h, 100, F16, F16);
    bench.run(spec, state.buffers(spec));
    EXPECT_TRUE(state.parameter == before.parameter);
    EXPECT_TRUE(state.states == before.states);
    EXPECT_TRUE(state.compute == before.compute);
  }
}

/// A moment that forgets keeps the digits of a small gradient behind a large
/// one.
TEST(OptimizerUpdate, SmallGradientsFollowLargeOnes) {
  for (const char *name : {"zero.adam", "zero.adamw", "zero.lion"})
    for (double beta : {0.0, 0.25}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(beta));
      Hyper h;
      h.beta1 = h.beta2 = beta;
      h.decay = 0;
      Bench bench;
      bench.control.learningRate[3] = static_cast<float>(h.rate);
      State state(1, F32, F32);
      state.parameter.set(0, 1);
      Reference reference{1};
      const KernelSpec spec = specOf(name, h, 1, F32, F32);
      for (int step = 1; step <= 40; ++step) {
        state.gradient.set(0, step == 1 ? 1000.0f : 1e-5f);
        bench.run(spec, state.buffers(spec));
        bench.control.steps++;
        kFormulas.at(name)(reference, double(state.gradient.get(0)), h, step);
        for (int k = 0; k < countStates(spec); ++k)
          ASSERT_NEAR(state.states[k].get(0) / reference.states[k], 1, 1e-5)
              << step;
      }
    }
}

/// Whole, against cut at odd places and on several threads.
TEST(OptimizerUpdate, BitsDoNotDependOnWhereASliceBegins) {
  constexpr int64_t elements = 150001;
  std::mt19937 generator(2);
  for (const ListedRule &rule : listUpdateRules()) {
    std::string name = rule.name;
    Hyper h;
    h.momentum = 0.9;
    State whole(elements, BF16, BF16);
    for (Values *values : {&whole.gradient, &whole.parameter})
      values->randomize(generator, 1);
    for (Values &values : whole.states)
      randomizePositive(values, generator);
    State cut = whole;
    Bench one(1), several(3);
    for (Bench *bench : {&one, &several}) {
      bench->control.learningRate[3] = 3e-4f;
      bench->control.factor = bench->control.unscale = 0.3f;
      bench->control.steps = 11;
    }
    KernelSpec spec = specOf(name, h, elements, BF16, BF16);
    one.run(spec, whole.buffers(spec));
    int64_t at = 0;
    for (int64_t size : {1, 15, 16, 17, 31, 4097, 70001}) {
      KernelSpec part = specOf(name, h, size, BF16, BF16);
      several.run(part, cut.buffers(part, at));
      at += size;
    }
    KernelSpec rest = specOf(name, h, elements - at, BF16, BF16);
    several.run(rest, cut.buffers(rest, at));
    EXPECT_TRUE(whole.parameter == cut.parameter) << name;
    EXPECT_TRUE(whole.states == cut.states) << name;
    EXPECT_TRUE(whole.compute == cut.compute) << name;
  }
}

TEST(OptimizerUpdate, RefusesWhatItCannotDo) {
  Bench bench;
  Hyper h;
  auto refused = [&](KernelSpec spec) {
    try {
      bench.make(spec);
    } catch (const std::invalid_argument &failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  KernelSpec spec = specOf("zero.adamw", h, 10, F32, F32);
  EXPECT_EQ(refused(spec), "");
  spec.ints["partition"] = {kMaxGroups};
  EXPECT_NE(refused(spec).find("found partition 256"), std::string::npos);
  spec = specOf("zero.adamw", h, 10, DataType::I32, F32);
  EXPECT_NE(refused(spec).find("gradient is 10xi32"), std::string::npos);
  spec = specOf("zero.adamw", h, 10, F32, F32);
  spec.operands.pop_back();
  EXPECT_NE(refused(spec).find("found 3 buffers, wanted 4 or 5"),
            std::string::npos);
  spec.operands.push_back({F32, {11}});
  EXPECT_NE(refused(spec).find("11xf32, wanted 10xf32"), std::string::npos);
  spec.operands.back() = {BF16, {10}};
  EXPECT_NE(refused(spec).find("a state is 10xbf16"), std::string::npos);
}

} // namespace
