// nn.attention and its gradient: within rounding of the host's kernels, whoever
// computes them.
#include "CudaTesting.h"
#include "kernels/cuda/CudnnAttention.h"

using namespace zrt;
using namespace zrt::test;

namespace {

struct Problem {
  DataType type = DataType::BF16;
  int64_t batch = 2, queries = 45, keys = 45, heads = 4, groups = 4,
          features = 64;
  bool causal = true;
  std::vector<int64_t> mask; ///< its shape; empty: none
  /// What the mask has for each key of every third query; 0: as for others.
  double hidden = 0;
  double dropout = 0;
  int64_t first = -1; ///< of a part of the key heads
};

class CudaAttention : public CudaTest {
protected:
  KernelSpec forward(const Problem &p) {
    inputs = {randomArray(p.type, {p.batch, p.queries, p.heads, p.features}, 1),
              randomArray(p.type, {p.batch, p.keys, p.groups, p.features}, 2),
              randomArray(p.type, {p.batch, p.keys, p.groups, p.features}, 3)};
    if (!p.mask.empty())
      inputs.push_back(randomArray(DataType::F32, p.mask, 4, 3));
    for (int64_t i = 0; p.hidden != 0 && i < p.queries * p.keys; ++i)
      if (i / p.keys % 3 == 0)
        inputs[3].set(i, p.hidden);
    addFirst(p, 3);
    KernelSpec spec = makeSpec(
        p.first < 0 ? "nn.attention" : "nn.partial_attention", inputs,
        {inputs[0].type, {DataType::F32, {p.batch, p.heads, p.queries}}});
    spec.ints = {{"causal", {p.causal}}, {"mask", {!p.mask.empty()}}};
    spec.floats["scale"] = 0.125;
    if (p.dropout != 0) {
      spec.ints["id"] = {3};
      spec.floats["dropout"] = p.dropout;
    }
    return spec;
  }

  void addFirst(const Problem &p, size_t at) {
    if (p.first < 0)
      return;
    Array first(DataType::I32, {});
    first.set(0, double(p.first));
    inputs.insert(inputs.begin() + at, first);
  }

  /// Of what the host's forward left; `inputs` become the gradient's.
  KernelSpec gradient(const Problem &p) {
    const KernelSpec spec = forward(p);
    std::vector<Array> buffers = inputs;
    for (const TensorType &result : spec.results)
      buffers.emplace_back(result.type, result.shape);
    Control control = drawing();
    buffers = runOnHost(spec, buffers, control);
    const std::vector<Array> x = inputs;
    const size_t out = x.size();
    inputs = {randomArray(p.type, x[0].type.shape, 5),
              x[0],
              x[1],
              x[2],
              buffers[out],
              buffers[out + 1]};
    if (!p.mask.empty())
      inputs.push_back(x.back());
    addFirst(p, 6);
    KernelSpec grad = makeSpec(p.first < 0 ? "nn.attention_grad"
                                           : "nn.partial_attention_grad",
                               inputs, {x[0].type, x[1].type, x[2].type});
    grad.ints = spec.ints;
    grad.floats = spec.floats;
    return grad;
  }

  void check(const Problem &p, const Program *program = nullptr) {
    SCOPED_TRACE(std::string(nameOf(p.type)) + " heads of " +
                 std::to_string(p.features) + ", " + std::to_string(p.groups) +
                 " groups" + (p.causal ? ", causal" : ""));
    const KernelSpec spec = forward(p);
    // A host that multiplies pairs of bf16 rounds what a kernel here may not.
    const double tolerance =
        (p.type == DataType::BF16 ? 2 : 1) * toleranceOf(p.type);
    compare(spec, inputs, 2 * tolerance, drawing(), program);
    const KernelSpec grad = gradient(p);
    compare(grad, inputs, 4 * tolerance, drawing(), program);
  }

  /// Of what is dropped.
  static Control drawing() {
    Control control = {};
    control.seed = 0x123456789abcdef;
    control.batch = 5;
    return control;
  }

  std::string choiceFor(const KernelSpec &spec) {
    KernelContext kernels;
    kernels.cuda = context.get();
    return makeCudaKernel(spec, kernels)->choice();
  }

  std::vector<Array> inputs;
};

TEST_F(CudaAttention, FollowsTheHost) {
  Problem p;
  for (DataType type : kFloats)
    for (int64_t features : {8, 64, 128, 160})
      for (bool causal : {false, true})
        for (int64_t groups : {1, 2, 4}) {
          p.type = type;
          p.features = features;
          p.causal = causal;
          p.groups = groups;
          check(p);
        }
}

TEST_F(CudaAttention, FollowsTheHostOverWholeTiles) {
  Problem p;
  p.queries = p.keys = 256;
  check(p);
}

/// More heads than a grid has in its second dimension, of more tiles than one.
TEST_F(CudaAttention, OverManyHeads) {
  Problem p;
  p.type = DataType::F32;
  p.batch = 3000;
  p.heads = 24;
  p.groups = 12;
  p.queries = p.keys = 33;
  p.features = 4;
  check(p);
}

TEST_F(CudaAttention, InAGraph) {
  captured = true;
  check({});
}

TEST_F(CudaAttention, AddsMasks) {
  for (DataType type : {DataType::F32, DataType::BF16})
    for (const std::vector<int64_t> &mask :
         {std::vector<int64_t>{20, 33}, {2, 1, 20, 33}, {1, 4, 1, 33}}) {
      Problem p;
      p.type = type;
      p.queries = 20;
      p.keys = 33;
      p.causal = false;
      p.mask = mask;
      check(p);
    }
}

/// In f32, whose kernels are our own.
TEST_F(CudaAttention, AQueryMaySeeNothing) {
  Problem p;
  p.type = DataType::F32;
  p.queries = 20;
  p.keys = 33;
  p.causal = false;
  p.mask = {20, 33};
  p.hidden = -INFINITY;
  check(p);
}

/// Whoever computes it: cuDNN's gradient is made again where the logarithm of a
/// sum has lost its digits.
TEST_F(CudaAttention, AMaskOfFiniteNumbersMayHideAllKeys) {
  for (DataType type : kFloats)
    for (double hidden : {-3.4028234663852886e38, -1e9}) {
      Problem p;
      p.type = type;
      p.queries = 20;
      p.keys = 33;
      p.causal = false;
      p.mask = {20, 33};
      p.hidden = hidden;
      check(p);
    }
}

/// Numbers of keys by which words of one counter are those of several queries.
TEST_F(CudaAttention, DropsWhatTheHostDrops) {
  Problem p;
  p.dropout = 0.3;
  p.features = 16;
  for (DataType type : kFloats)
    for (int64_t keys : {45, 64})
      for (bool partial : {false, true}) {
        p.type = type;
        p.keys = p.queries = keys;
        p.first = partial ? 5 : -1;
        p.groups = partial ? 2 : 4;
        check(p);
      }
  p.keys = 33;
  p.causal = false;
  p.queries = 20;
  p.mask = {20, 33};
  check(p);
}

/// Few and small, and every part of the own kernels: what is run under tools
/// that are slow. 160 features need more shared memory than a block has
/// unasked.
TEST_F(CudaAttention, OwnKernelsInSmall) {
  Problem p;
  p.type = DataType::F32;
  p.groups = 2;
  for (int64_t features : {64, 160})
    for (const bool masked : {false, true}) {
      p.features = features;
      p.causal = !masked;
      if (masked)
        p.mask = {p.queries, p.keys};
      else
        p.mask.clear();
      check(p);
    }
}

TEST_F(CudaAttention, RepeatsBitsInADeterministicProgram) {
  Program program;
  program.training.deterministic = true;
  Problem p;
  p.queries = p.keys = 1024;
  p.groups = 2;
  check(p, &program);
  const KernelSpec grad = gradient(p);
  std::vector<Array> buffers = inputs;
  for (const TensorType &result : grad.results)
    buffers.emplace_back(result.type, result.shape);
  Control control = {};
  const auto once = runOnDevice(grad, buffers, control, &program);
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto again = runOnDevice(grad, buffers, control, &program);
    for (size_t i = 0; i < once.size(); ++i)
      EXPECT_TRUE(once[i] == again[i]) << "buffer " << i;
  }
}

TEST_F(CudaAttention, SaysWhoComputesIt) {
  Problem p;
  const std::string version = cuda::cudnnVersion();
  EXPECT_EQ(choiceFor(forward(p)),
            version.empty() ? "own kernels: built without cuDNN" : version);
  p.type = DataType::F32;
  EXPECT_EQ(choiceFor(forward(p)).find("own kernels: "), 0u);
  p.type = DataType::BF16;
  p.dropout = 0.1;
  EXPECT_EQ(choiceFor(forward(p)), version.empty()
                                       ? "own kernels: built without cuDNN"
                                       : "own kernels: dropout of weights");
}

} // namespace
