#include "BrokenKernels.h"

#include "Bench/Block.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace zrt;
using namespace zrt::test;

namespace {

KernelSpec with(KernelSpec spec,
                std::map<std::string, std::vector<int64_t>> ints,
                std::map<std::string, double> floats = {}) {
  spec.ints.insert(ints.begin(), ints.end());
  spec.floats.insert(floats.begin(), floats.end());
  return spec;
}

void addNorms(std::vector<BrokenCase> &cases) {
  for (int64_t width : {300, 600, 4200}) { // one warp of a row, four, a block
    const int64_t rows = width < 600 ? 21 : 5;
    const TensorType column = {DataType::F32, {rows}};
    const Array x = randomArray(DataType::F32, {rows, width}, 1),
                w = randomArray(DataType::F32, {width}, 2),
                statistic = randomArray(DataType::F32, {rows}, 3);
    cases.push_back(
        {with(makeSpec("nn.layer_norm", {x, w, w}, {x.type, column, column}),
              {}, {{"eps", 1e-5}}),
         {x, w, w},
         1e-4});
    const std::vector<Array> inputs = {x, x, w, statistic, statistic};
    cases.push_back(
        {makeSpec("nn.layer_norm_grad", inputs, {x.type, w.type, w.type}),
         inputs, 1e-3});
  }
}

void addRows(std::vector<BrokenCase> &cases) {
  const TensorType column = {DataType::F32, {5}};
  const Array x = randomArray(DataType::F32, {5, 300}, 1),
              targets = randomIds({5}, 300, 3);
  cases.push_back({makeSpec("nn.softmax", {x}, {x.type}), {x}, 1e-4});
  cases.push_back(
      {makeSpec("nn.softmax_grad", {x, x}, {x.type}), {x, x}, 1e-4});
  cases.push_back({makeSpec("nn.cross_entropy", {x, targets},
                            {{DataType::F32, {}}, column}),
                   {x, targets},
                   1e-4});
}

void addMoves(std::vector<BrokenCase> &cases) {
  const Array x = randomArray(DataType::F32, {40, 70}, 4);
  cases.push_back(
      {with(makeSpec("nn.transpose", {x}, {{DataType::F32, {70, 40}}}),
            {{"permutation", {1, 0}}}),
       {x},
       1e-9});
  cases.push_back({with(makeSpec("nn.reduce", {x}, {{DataType::F32, {70}}}),
                        {{"kind", {0}}, {"dims", {0}}}),
                   {x},
                   1e-4});
  // More results than one round of all blocks joins, in vectors and alone.
  for (int64_t width : {2000, 2001}) {
    const Array wide = randomArray(DataType::F32, {3, width}, 5);
    cases.push_back(
        {with(makeSpec("nn.reduce", {wide}, {{DataType::F32, {width}}}),
              {{"kind", {0}}, {"dims", {0}}}),
         {wide},
         1e-4});
  }
  for (int64_t rows : {60, 3}) { // rows of one chunk of tokens, and of several
    const Array dy = randomArray(DataType::F32, {200, 24}, 6),
                ids = randomIds({200}, rows, 7);
    cases.push_back({makeSpec("nn.embedding_grad", {dy, ids},
                              {{DataType::F32, {rows, 24}}}),
                     {dy, ids},
                     1e-4});
  }
}

void addOptimizer(std::vector<BrokenCase> &cases) {
  const Array g = randomArray(DataType::F32, {1500}, 8);
  for (int64_t exact : {0, 1})
    cases.push_back(
        {with(makeSpec("zero.grad_stats", {g}, {}),
              {{"partition", {0}}, {"first", {1}}, {"exact", {exact}}}),
         {g},
         0});
  cases.push_back({with(makeSpec("zero.adamw", {g, g, g, g}, {}),
                        {{"partition", {0}}, {"bias_correction", {1}}},
                        {{"beta1", 0.9},
                         {"beta2", 0.999},
                         {"epsilon", 1e-8},
                         {"weight_decay", 0.1}}),
                   {g, g, g, Array(DataType::F32, {1500})},
                   0});
}

void addAttention(std::vector<BrokenCase> &cases) {
  const Array q = randomArray(DataType::F32, {1, 70, 2, 16}, 9),
              lse = Array(DataType::F32, {1, 2, 70});
  const KernelSpec forward =
      with(makeSpec("nn.attention", {q, q, q}, {q.type, lse.type}),
           {{"causal", {1}}, {"mask", {0}}}, {{"scale", 0.25}});
  cases.push_back({forward, {q, q, q}, 1e-4});
  KernelSpec gradient = forward;
  gradient.name = "nn.attention_grad";
  gradient.operands = {q.type, q.type, q.type, q.type, q.type, lse.type};
  gradient.results = {q.type, q.type, q.type};
  cases.push_back({gradient, {q, q, q, q, q, lse}, 1e-3});
}

/// Tiles of many rows and of few, in several steps of the depth.
void addGroups(std::vector<BrokenCase> &cases) {
  const int64_t rows = 70, width = 72, columns = 40;
  for (DataType type : {DataType::F32, DataType::BF16})
    for (int64_t groups : {1, 3}) {
      Array offsets(DataType::I32, {groups});
      for (int64_t e = 0; e < groups; ++e)
        offsets.set(e, static_cast<double>(rows - 5 * (groups - 1 - e)));
      const Array a = randomArray(type, {rows, width}, 10),
                  b = randomArray(type, {groups, width, columns}, 11),
                  c = randomArray(type, {rows, columns}, 12);
      cases.push_back({makeSpec("nn.grouped_matmul", {a, b, offsets}, {c.type}),
                       {a, b, offsets},
                       1e-2});
      cases.push_back(
          {makeSpec("nn.grouped_matmul_grad", {a, c, offsets}, {b.type}),
           {a, c, offsets},
           1e-2});
    }
}

} // namespace

std::vector<BrokenCase> zrt::test::brokenCases() {
  std::vector<BrokenCase> cases;
  addNorms(cases);
  addRows(cases);
  addMoves(cases);
  addOptimizer(cases);
  addAttention(cases);
  addGroups(cases);
  return cases;
}

Control Broken::control() {
  Control start = {};
  start.factor = 0.5f;
  start.finite = 1;
  start.steps = 2;
  std::fill_n(start.learningRate, kMaxGroups, 1e-2f);
  return start;
}

std::vector<Array> Broken::buffersOf(const BrokenCase &each) {
  std::vector<Array> buffers = each.inputs;
  for (const TensorType &type : each.spec.results)
    buffers.emplace_back(type.type, type.shape);
  return buffers;
}

static bool isClose(const Array &a, const Array &b, double tolerance) {
  if (tolerance == 0)
    return a == b;
  double largest = 0;
  for (int64_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::fabs(a[i]));
  for (int64_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= tolerance * (largest + 1e-6)))
      return false;
  return true;
}

std::string Broken::verdict(const BrokenCase &each) {
  Control onHost = control(), onDevice = control();
  const auto wanted = runOnHost(each.spec, buffersOf(each), onHost, &program);
  try {
    const auto found =
        runOnDevice(each.spec, buffersOf(each), onDevice, &program);
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!isClose(wanted[i], found[i], each.tolerance))
        return "differs";
  } catch (const bench::Fault &fault) {
    return fault.what();
  }
  const double sum = std::fabs(onHost.normSum - onDevice.normSum);
  return sum <= 1e-9 * std::fabs(onHost.normSum) &&
                 !std::memcmp(onHost.normLimbs, onDevice.normLimbs,
                              sizeof(onHost.normLimbs)) &&
                 onHost.nonFinite == onDevice.nonFinite
             ? ""
             : "differs";
}
