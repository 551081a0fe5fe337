// Which kernels the host has, and what it says about others.
#include "../MessageOf.h"
#include "KernelTest.h"

#include "kernels/host/OneDnn.h"
#include "kernels/shapes/Movement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace zrt::test {
namespace {

std::unique_ptr<Kernel> none(const KernelSpec &, const KernelContext &) {
  return nullptr;
}

TEST(KernelRegistry, HasEveryKernelOfTheTable) {
  Registry registry;
  registerHostKernels(registry);
  const std::vector<std::string> names = registry.names();
  for (const std::string &name : kernelSchemaNames())
    EXPECT_TRUE(std::binary_search(names.begin(), names.end(), name)) << name;
}

TEST(KernelRegistry, HasARowForEveryKernel) {
  Registry registry;
  registerHostKernels(registry);
  for (const std::string &name : registry.names())
    EXPECT_NE(findKernelSchema(name), nullptr) << name;
}

TEST(KernelRegistry, NamesAnUnknownKernel) {
  KernelSpec spec;
  spec.name = "nn.convolution";
  try {
    makeHostKernel(spec, KernelContext());
    FAIL() << "made a kernel that there is none of";
  } catch (const std::invalid_argument &error) {
    EXPECT_EQ(std::string(error.what()).rfind("kernel 'nn.convolution': ", 0),
              0u)
        << error.what();
  }
}

TEST(KernelRegistry, RefusesANameTwice) {
  Registry registry;
  registry.add("nn.linear", none);
  EXPECT_EQ(messageOf([&] { registry.add("nn.linear", none); }),
            "kernel registry: 'nn.linear' is registered twice");
}

TEST(KernelRegistry, WantsAThread) {
  EXPECT_EQ(messageOf([] { ThreadPool(0); }),
            "thread pool: 0 threads asked for, wanted at least 1");
}

TEST(KernelRegistry, NamesWhatOneDnnReports) {
  EXPECT_EQ(messageOf([] { host::checkDnnl(dnnl_unimplemented); }),
            "matrix product: oneDNN reports status " +
                std::to_string(dnnl_unimplemented));
}

TEST(KernelRegistry, NamesAKernelThatDoesNotOnlyMove) {
  KernelSpec spec;
  spec.name = "nn.linear";
  EXPECT_EQ(messageOf([&] { movementOf(spec); }),
            "kernel 'nn.linear': does not only move data");
}

/// Its indices are of 32 bits.
TEST(KernelRegistry, RefusesMoreRowsThanItCounts) {
  const int64_t rows = int64_t(1) << 31;
  KernelSpec spec;
  spec.name = "nn.dispatch";
  spec.operands = {{DataType::F32, {rows, 1}}, {DataType::I32, {rows, 1}}};
  spec.results = {{DataType::F32, {rows, 1}},
                  {DataType::I32, {rows, 1}},
                  {DataType::I32, {2}}};
  spec.ints["experts"] = {2};
  ThreadPool pool(1);
  KernelContext context;
  context.pool = &pool;
  EXPECT_EQ(messageOf([&] { makeHostKernel(spec, context); }),
            "kernel 'nn.dispatch': more than 2^31 - 1 choices or rows");
}

/// Where a step has several micro-batches, each would round the sum.
TEST(KernelRegistry, RefusesASumThatLosesBits) {
  Program program;
  program.training.accumulation = 4;
  KernelSpec spec;
  spec.name = "zero.accumulate";
  spec.operands = {{DataType::BF16, {7}}, {DataType::BF16, {7}}};
  ThreadPool pool(1);
  KernelContext context;
  context.pool = &pool;
  context.program = &program;
  EXPECT_EQ(messageOf([&] { makeHostKernel(spec, context); }),
            "kernel 'zero.accumulate': found a sum of 4 micro-batches in bf16, "
            "wanted f32");
}

TEST(KernelRegistry, NamesATargetThatIsNoClass) {
  Array logits(DataType::F32, {2, 3}), targets(DataType::I32, {2});
  targets.set(1, 3);
  const KernelSpec spec = makeSpec("nn.cross_entropy", {logits, targets},
                                   {{DataType::F32, {}}, {DataType::F32, {2}}});
  EXPECT_EQ(messageOf([&] { runKernel(spec, {logits, targets}); }),
            "nn.cross_entropy: target 3 at position 1 is outside 0 .. 2 and is "
            "not the ignore_index -100; check the data against the vocabulary");
}

TEST(KernelRegistry, NamesAnIdThatIsNoRow) {
  Array ids(DataType::I32, {2}), table(DataType::F32, {3, 1});
  ids.set(1, -1);
  const KernelSpec spec =
      makeSpec("nn.embedding", {ids, table}, {{DataType::F32, {2, 1}}});
  EXPECT_EQ(messageOf([&] { runKernel(spec, {ids, table}); }),
            "nn.embedding: id -1 at position 1 is outside the table's 0 .. 2; "
            "check the data against the vocabulary");
}

TEST(KernelRegistry, NamesAChoiceThatIsNotThere) {
  const Array rows(DataType::F32, {2, 1}), ids(DataType::I32, {2, 1});
  Array order(DataType::I32, {2});
  order.set(0, 2);
  KernelSpec spec = makeSpec("nn.capacity_dispatch", {rows, ids, order},
                             {{DataType::F32, {2, 1, 1}},
                              {DataType::I32, {2, 1}},
                              {DataType::I32, {2}}});
  spec.ints["order"] = {1};
  EXPECT_EQ(messageOf([&] { runKernel(spec, {rows, ids, order}); }),
            "nn.capacity_dispatch: choice 2 of the order is outside 0 .. 1");
}

} // namespace
} // namespace zrt::test
