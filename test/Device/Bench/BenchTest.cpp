// The model finds what is wrong with a kernel: in small ones that are wrong,
// and in those of the runtime, each barrier, shuffle, atomic operation and
// bound of which is broken once.
#include "../CudaTesting.h"
#include "Block.h"
#include "WrongKernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using namespace zrt;
using namespace zrt::test;

namespace {

class Bench : public ::testing::Test {
protected:
  Bench() : memory(static_cast<float *>(bench::allocate(kBytes))) {}
  ~Bench() override { bench::release(memory); }

  /// The text of the fault that `body` is.
  static std::string faultOf(const std::function<void()> &body) {
    try {
      body();
    } catch (const bench::Fault &fault) {
      return fault.what();
    }
    return "no fault";
  }
  static void expectFault(const std::function<void()> &body,
                          const std::vector<std::string> &parts) {
    const std::string text = faultOf(body);
    for (const std::string &part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  static constexpr size_t kBytes = 128 * sizeof(float);
  float *memory;
};

TEST_F(Bench, RunsWhatIsRight) {
  EXPECT_EQ(faultOf([&] { wrong::reverse(memory, 128, false); }), "no fault");
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(memory[i], float(127 - i));
}

TEST_F(Bench, SeesAMissingBarrier) {
  expectFault([&] { wrong::reverse(memory, 128, true); },
              {"kernel 'reverseKernel', block (0, 0, 0), thread ",
               "of shared memory", "with nothing to order them"});
}

TEST_F(Bench, SeesABarrierThatSomeDoNotReach) {
  expectFault([&] { wrong::diverge(memory); },
              {"kernel 'divergeKernel'",
               "waits at the barrier of "
               "WrongKernels.cu:",
               "thread 7 has left the kernel"});
}

TEST_F(Bench, SeesBytesOutside) {
  expectFault([&] { wrong::reverse(memory, 129, false); },
              {"writes 4 bytes at ", "outside of every allocation"});
  expectFault([&] { wrong::overrunShared(memory); },
              {"outside of every allocation"});
}

TEST_F(Bench, SeesSharedMemoryThatNobodyWrote) {
  expectFault([&] { wrong::readUnwritten(memory); },
              {"which nobody has written in this block"});
}

TEST_F(Bench, SeesBlocksThatWriteTheSameBytes) {
  expectFault([&] { wrong::count(memory, false); },
              {"which a thread of another block writes"});
  EXPECT_EQ(faultOf([&] { wrong::count(memory, true); }), "no fault");
}

TEST_F(Bench, SeesAShuffleFromALaneThatIsNotThere) {
  expectFault([&] { wrong::shuffleBeyond(memory); },
              {"takes the value of lane 24, which gives none"});
}

TEST_F(Bench, SeesAShuffleThatSomeLanesDoNotReach) {
  expectFault([&] { wrong::shuffleDivergent(memory); },
              {"waits for lanes of its warp"});
}

/// A shuffle moves values and orders no memory: that takes __syncwarp.
TEST_F(Bench, KnowsWhatOrdersAWarp) {
  expectFault([&] { wrong::exchange(memory, false); },
              {"with nothing to order them"});
  EXPECT_EQ(faultOf([&] { wrong::exchange(memory, true); }), "no fault");
}

TEST_F(Bench, SeesMoreThreadsThanBounds) {
  expectFault([&] { wrong::manyThreads(memory, 512); },
              {"is one of 512; a kernel of more than 256 threads declares its "
               "bounds"});
  EXPECT_EQ(faultOf([&] { wrong::manyThreads(memory, 128); }), "no fault");
}

TEST_F(Bench, SeesAnAddressThatIsNotAligned) {
  expectFault([&] { wrong::loadVector(memory, 4); },
              {"reads 16 bytes at ", "which is no multiple of 16"});
}

TEST_F(Bench, CopiesArriveWhenTheyAreWaitedFor) {
  for (int i = 0; i < 64; ++i)
    memory[i] = float(i);
  const auto reversed = [&](bool waits, bool meets) {
    return faultOf([&] { wrong::copy(memory, memory + 64, waits, meets); });
  };
  EXPECT_EQ(reversed(true, true), "no fault");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(memory[64 + i], float(63 - i));
  EXPECT_EQ(reversed(false, true), "no fault");
  for (int i = 0; i < 64; ++i)
    EXPECT_TRUE(std::isnan(memory[64 + i])) << i;
  expectFault([&] { wrong::copy(memory, memory + 64, true, false); },
              {"of shared memory, which nobody has written in this block"});
}

TEST_F(Bench, MultipliesMatricesByWarps) {
  auto *square = static_cast<float *>(bench::allocate(256 * sizeof(float)));
  EXPECT_EQ(faultOf([&] { wrong::square(square, 0); }), "no fault");
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(square[i], float(std::max(0, i / 16 - i % 16 + 1))) << i;
  expectFault([&] { wrong::square(square, 8); },
              {"whose address is no multiple of 32 bytes"});
  bench::release(square);
}

//===----------------------------------------------------------------------===//
// The runtime's kernels, broken
//===----------------------------------------------------------------------===//

struct Case {
  KernelSpec spec;
  std::vector<Array> inputs;
  double tolerance;
};

KernelSpec with(KernelSpec spec,
                std::map<std::string, std::vector<int64_t>> ints,
                std::map<std::string, double> floats = {}) {
  spec.ints.insert(ints.begin(), ints.end());
  spec.floats.insert(floats.begin(), floats.end());
  return spec;
}

void addNorms(std::vector<Case> &cases) {
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

void addRows(std::vector<Case> &cases) {
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

void addMoves(std::vector<Case> &cases) {
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

void addOptimizer(std::vector<Case> &cases) {
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

void addAttention(std::vector<Case> &cases) {
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
void addGroups(std::vector<Case> &cases) {
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

std::vector<Case> casesOfAll() {
  std::vector<Case> cases;
  addNorms(cases);
  addRows(cases);
  addMoves(cases);
  addOptimizer(cases);
  addAttention(cases);
  addGroups(cases);
  return cases;
}

class Broken : public CudaTest {
protected:
  Program program;
  static Control control() {
    Control start = {};
    start.factor = 0.5f;
    start.finite = 1;
    start.steps = 2;
    std::fill_n(start.learningRate, kMaxGroups, 1e-2f);
    return start;
  }

  std::vector<Array> buffersOf(const Case &each) {
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

  /// What is wrong with a case: a fault's text, "differs", or nothing.
  std::string verdict(const Case &each) {
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
};

TEST_F(Broken, EveryBarrierShuffleAndAtomicIsNeeded) {
  const std::vector<Case> cases = casesOfAll();
  for (const Case &each : cases)
    ASSERT_EQ(verdict(each), "") << each.spec.name;
  // Others, of this file's own kernels, may have been reached before.
  int count = 0;
  for (const bench::Site &site : bench::sites()) {
    if (site.place.find("WrongKernels") == 0)
      continue;
    ++count;
    const bench::Planted planted(site);
    bool isSeen = false;
    for (const Case &each : cases)
      isSeen = isSeen || !verdict(each).empty();
    EXPECT_TRUE(isSeen) << "without what is at " << site.place
                        << ", nothing changes";
  }
  EXPECT_GE(count, 20);
}

/// A buffer that ends an element early is seen, whichever it is.
TEST_F(Broken, EveryBoundIsChecked) {
  for (const Case &each : casesOfAll()) {
    const std::vector<Array> buffers = buffersOf(each);
    for (size_t cut = 0; cut < buffers.size(); ++cut) {
      KernelContext kernels;
      kernels.cuda = context.get();
      kernels.program = &program;
      const Control start = control();
      kernels.control =
          static_cast<Control *>(device->allocate(sizeof(Control), "control"));
      device->write(kernels.control, &start, sizeof(Control));
      std::vector<void *> addresses;
      for (size_t i = 0; i < buffers.size(); ++i) {
        const size_t bytes =
            buffers[i].bytes() - (i == cut ? sizeOf(buffers[i].type.type) : 0);
        addresses.push_back(device->allocate(bytes, "buffer"));
        device->write(addresses.back(), buffers[i].data(), bytes);
      }
      const auto kernel = makeCudaKernel(each.spec, kernels);
      void *workspace = device->allocate(
          std::max<size_t>(kernel->workspaceBytes(), 1), "workspace");
      bool isSeen = false;
      try {
        kernel->run(addresses.data(), workspace);
      } catch (const std::exception &) { // a fault, or CUDA's invalid argument
        isSeen = true;
      }
      EXPECT_TRUE(isSeen) << each.spec.name << ", buffer " << cut;
      cudaGetLastError();
      addresses.push_back(workspace);
      addresses.push_back(kernels.control);
      for (void *address : addresses)
        device->release(address);
    }
  }
}

} // namespace
