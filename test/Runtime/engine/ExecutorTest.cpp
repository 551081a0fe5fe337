// The executor on hand-made programs.
#include "../MessageOf.h"
#include "FakeProgram.h"

#include "state/Arenas.h"

#include <gtest/gtest.h>

#include <thread>

using namespace zrt;
using namespace zrt::test;

namespace {

/// A communicator, arenas and context of one rank alone.
struct Alone {
  explicit Alone(const Program &program)
      : communicators(makeInProcess(1)), arenas(program) {
    context.program = &program;
    context.control = &arenas.control();
    executor.emplace(program, arenas.addresses(), *communicators[0], context);
  }
  std::vector<std::unique_ptr<Communicator>> communicators;
  Arenas arenas;
  KernelContext context;
  std::optional<Executor> executor;
};

TEST(Executor, RunsCommandsInOrder) {
  const Program program = makeFakeProgram(1, 1);
  Alone rank(program);
  std::vector<std::string> ran;
  FakeKernels kernels;
  for (const char *name :
       {"test.forward", "test.backward", "test.update", "test.evaluate"})
    kernels.functions[name] = [&ran, name](const KernelContext &,
                                           void *const *) {
      ran.push_back(name);
    };
  rank.executor->plan(kernels.maker());
  rank.executor->runInitialize();
  rank.executor->runMicro(0);
  rank.executor->runApply();
  rank.executor->runEvaluate();
  EXPECT_EQ(ran, (std::vector<std::string>{"test.forward", "test.backward",
                                           "test.update", "test.evaluate"}));
}

TEST(Executor, TracesEachCommand) {
  const Program program = makeFakeProgram(1, 1);
  Alone rank(program);
  const FakeKernels kernels = makeFakeKernels();
  rank.executor->plan(kernels.maker());
  std::vector<std::string> labels;
  rank.executor->setCommandHook(
      [&](const Command &command, int64_t begin, int64_t end) {
        labels.push_back(command.label);
        EXPECT_LE(begin, end);
      });
  rank.executor->runMicro(0);
  EXPECT_EQ(labels, (std::vector<std::string>{"test.forward of the test",
                                              "test.backward of the test"}));
}

TEST(Executor, SaysWhichCommandFailed) {
  const Program program = makeFakeProgram(1, 1);
  Alone rank(program);
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.backward"] = [](const KernelContext &,
                                          void *const *) {
    throw std::runtime_error("id 9 is outside the table of 4 rows");
  };
  rank.executor->plan(kernels.maker());
  EXPECT_EQ(messageOf([&] { rank.executor->runMicro(0); }),
            "test.backward 'test.backward of the test' at model.mlir:7:3: id 9 "
            "is outside the table of 4 rows");
}

TEST(Executor, RefusesBufferOutsideItsArena) {
  Program program = makeFakeProgram(1, 1);
  program.micro.commands[0].buffers[1].offset = 61;
  Alone rank(program);
  const FakeKernels kernels = makeFakeKernels();
  EXPECT_EQ(messageOf([&] { rank.executor->plan(kernels.maker()); }),
            "test.forward 'test.forward of the test' at model.mlir:7:3: in "
            "region micro: buffer of 4 bytes at offset 61 is outside the arena "
            "parameters of 64 bytes");
}

TEST(Executor, SaysWhichCommandHasNoKernel) {
  Program program = makeFakeProgram(1, 1);
  program.kernels[1].name = "nn.nothing";
  Alone rank(program);
  const KernelMaker make =
      [](const KernelSpec &spec,
         const KernelContext &) -> std::unique_ptr<Kernel> {
    if (spec.name == "nn.nothing")
      throw std::invalid_argument("there is no kernel 'nn.nothing'");
    return std::make_unique<FakeKernel>([](void *const *) {});
  };
  EXPECT_EQ(messageOf([&] { rank.executor->plan(make); }),
            "nn.nothing 'test.backward of the test' at model.mlir:7:3: there "
            "is no kernel 'nn.nothing'");
}

TEST(Executor, SaysForWhichCommandMemoryLacks) {
  const Program program = makeFakeProgram(1, 1);
  Alone rank(program);
  const std::string wanted = "test.backward 'test.backward of the test' at "
                             "model.mlir:7:3: there is not enough memory";
  FakeKernels kernels = makeFakeKernels();
  kernels.functions["test.backward"] =
      [](const KernelContext &, void *const *) { throw std::bad_alloc(); };
  rank.executor->plan(kernels.maker());
  EXPECT_EQ(messageOf([&] { rank.executor->runMicro(0); }), wanted);

  const KernelMaker make =
      [](const KernelSpec &spec,
         const KernelContext &) -> std::unique_ptr<Kernel> {
    if (spec.name == "test.backward")
      throw std::bad_alloc();
    return std::make_unique<FakeKernel>([](void *const *) {});
  };
  EXPECT_EQ(messageOf([&] { rank.executor->plan(make); }), wanted);
}

TEST(Executor, RefusesWrongBufferCount) {
  Program program = makeFakeProgram(1, 1);
  program.micro.commands[0].buffers.pop_back();
  Alone rank(program);
  const FakeKernels kernels = makeFakeKernels();
  EXPECT_NE(messageOf([&] {
              rank.executor->plan(kernels.maker());
            }).find("has 2 buffers, its kernel wants 3"),
            std::string::npos);
}

TEST(Executor, RefusesToStartWhatStillRuns) {
  Program program = makeFakeProgram(2, 1);
  program.apply.commands.erase(program.apply.commands.begin() + 1);
  program.training.ranks = 1;
  Alone rank(program);
  const FakeKernels kernels = makeFakeKernels();
  rank.executor->plan(kernels.maker());
  rank.executor->runApply();
  EXPECT_NE(messageOf([&] {
              rank.executor->runApply();
            }).find("starts an operation that is still running"),
            std::string::npos);
  rank.executor->drain();
}

/// The last all-gather of an update is waited for in the next micro-batch.
TEST(Executor, WaitsAcrossRegions) {
  constexpr int kRanks = 3;
  Program program;
  program.training.ranks = kRanks;
  program.arenaBytes[int(Arena::Parameters)] = 4 * kRanks;
  CollectivePart part;
  part.send = ref(Arena::Parameters, 0, 4, 4);
  part.receive = ref(Arena::Parameters, 0, 4 * kRanks);
  part.count = 1;
  addCollective(program.apply, Collective::AllGather, 0, part,
                TrafficClass::Parameter);
  program.micro.commands.push_back(program.apply.commands.back());
  program.apply.commands.pop_back();

  auto communicators = makeInProcess(kRanks);
  std::vector<std::thread> threads;
  std::array<Traffic, kRanks> sent;
  std::array<std::array<float, kRanks>, kRanks> gathered{};
  for (int r = 0; r < kRanks; ++r)
    threads.emplace_back([&, r] {
      Arenas arenas(program);
      auto *values = static_cast<float *>(arenas.addresses()[0]);
      values[r] = float(10 + r);
      Executor executor(program, arenas.addresses(), *communicators[r], {});
      executor.plan();
      executor.runMicro(0); // nothing runs yet
      executor.runApply();
      executor.runMicro(0);
      executor.runApply();
      executor.drain();
      std::copy(values, values + kRanks, gathered[r].begin());
      sent[r] = executor.traffic();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(gathered[r], (std::array<float, kRanks>{10, 11, 12}));
    // Twice (n-1)/n of three elements, in thirds.
    EXPECT_EQ(sent[r].elements[size_t(TrafficClass::Parameter)], 2u * 2 * 3);
    EXPECT_EQ(sent[r].bytes[size_t(TrafficClass::Parameter)], 4u * 2 * 2 * 3);
    EXPECT_EQ(sent[r].elements[size_t(TrafficClass::Gradient)], 0u);
  }
}

/// Six ranks as <replica = 2, shard = 3>: a reduce-scatter over shards, an
/// all-reduce of the slice over replicas, a gather over shards.
Program meshProgram() {
  Program program;
  program.training.ranks = 6;
  program.mesh = {{{"replica", 2}, {"shard", 3}}, {{{0, 1}}, {{0}}, {{1}}}};
  program.arenaBytes[int(Arena::Gradients)] = 12;
  CollectivePart part;
  part.send = ref(Arena::Gradients, 0, 12);
  part.receive = ref(Arena::Gradients, 0, 4, 4, /*group=*/2);
  part.count = 1;
  addCollective(program.apply, Collective::ReduceScatter, 0, part,
                TrafficClass::Gradient);
  program.apply.commands.rbegin()[1].group = 2;
  part.send = part.receive;
  addCollective(program.apply, Collective::AllReduce, 1, part,
                TrafficClass::Gradient);
  program.apply.commands.rbegin()[1].group = 1;
  part.receive = ref(Arena::Gradients, 0, 12);
  addCollective(program.apply, Collective::AllGather, 2, part,
                TrafficClass::Parameter);
  program.apply.commands.rbegin()[1].group = 2;
  return program;
}

/// Six ranks as <node = 2, expert = 3>: rank r of a group gets part r of each,
/// of what the ranks of its node sent, and counts it in that group.
TEST(Executor, ExchangesWithinAGroup) {
  Program program;
  program.training.ranks = 6;
  program.mesh = {{{"node", 2}, {"expert", 3}}, {{{0, 1}}, {{1}}}};
  program.arenaBytes[int(Arena::Activations)] = 48;
  CollectivePart part;
  part.send = ref(Arena::Activations, 0, 24);
  part.receive = ref(Arena::Activations, 24, 24);
  part.count = 2;
  addCollective(program.apply, Collective::AllToAll, 0, part,
                TrafficClass::Activation);
  program.apply.commands[0].group = 1;

  auto communicators = makeInProcess(6);
  std::vector<std::thread> threads;
  std::array<std::array<float, 6>, 6> received{};
  std::array<Traffic, 6> sent;
  for (int r = 0; r < 6; ++r)
    threads.emplace_back([&, r] {
      Arenas arenas(program);
      auto *values =
          static_cast<float *>(arenas.addresses()[int(Arena::Activations)]);
      for (int i = 0; i < 6; ++i)
        values[i] = float(10 * r + i);
      Executor executor(program, arenas.addresses(), *communicators[r], {});
      executor.plan();
      executor.runApply();
      std::copy(values + 6, values + 12, received[r].begin());
      sent[r] = executor.traffic();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int r = 0; r < 6; ++r) {
    const int node = r / 3 * 3, expert = r % 3;
    for (int from = 0; from < 3; ++from)
      for (int i = 0; i < 2; ++i)
        EXPECT_EQ(received[r][2 * from + i],
                  float(10 * (node + from) + 2 * expert + i))
            << "rank " << r;
    // Two thirds of six elements, in sixths.
    const auto activation = size_t(TrafficClass::Activation);
    EXPECT_EQ(sent[r].elements[activation], 4u * 6);
    EXPECT_EQ(sent[r].bytes[activation], 4u * 4 * 6);
    EXPECT_EQ(sent[r].groups[1].elements[activation], 4u * 6);
    EXPECT_EQ(sent[r].groups[0].elements[activation], 0u);
  }
}

TEST(Executor, RunsEachCollectiveInItsGroup) {
  const Program program = meshProgram();
  auto communicators = makeInProcess(6);
  std::vector<std::thread> threads;
  std::array<std::array<float, 3>, 6> sums{};
  std::array<Traffic, 6> sent;
  for (int r = 0; r < 6; ++r)
    threads.emplace_back([&, r] {
      Arenas arenas(program);
      auto *values =
          static_cast<float *>(arenas.addresses()[int(Arena::Gradients)]);
      for (int i = 0; i < 3; ++i)
        values[i] = float((i + 1) * (1 << (2 * r)));
      Executor executor(program, arenas.addresses(), *communicators[r], {});
      executor.plan();
      executor.runApply();
      std::copy(values, values + 3, sums[r].begin());
      sent[r] = executor.traffic();
    });
  for (std::thread &thread : threads)
    thread.join();
  const float all = 1 + 4 + 16 + 64 + 256 + 1024;
  for (int r = 0; r < 6; ++r) {
    EXPECT_EQ(sums[r], (std::array<float, 3>{all, 2 * all, 3 * all})) << r;
    // In sixths of an element: 2/3 of three over shards, 2 x 1/2 of one over
    // replicas.
    const auto gradient = size_t(TrafficClass::Gradient),
               parameter = size_t(TrafficClass::Parameter);
    ASSERT_EQ(sent[r].groups.size(), 3u);
    EXPECT_EQ(sent[r].groups[2].elements[gradient], 2u * 6);
    EXPECT_EQ(sent[r].groups[2].elements[parameter], 2u * 6);
    EXPECT_EQ(sent[r].groups[1].elements[gradient], 1u * 6);
    EXPECT_EQ(sent[r].groups[1].elements[parameter], 0u);
    EXPECT_EQ(sent[r].groups[0].elements[gradient], 0u);
    EXPECT_EQ(sent[r].elements[gradient], 3u * 6);
    EXPECT_EQ(sent[r].bytes[gradient], 4u * 3 * 6);
  }
}

} // namespace
