#include "zero/Cost/CostModel.h"

#include "program/KernelKey.h"
#include "program/KernelSchema.h"
#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

using namespace mlir::zero;
using zrt::Collective;
using zrt::DataType;

namespace {

zrt::KernelSpec copyOf(int64_t elements) {
  zrt::KernelSpec spec;
  spec.name = "zero.copy";
  spec.operands = {{DataType::F32, {elements}}, {DataType::F32, {elements}}};
  spec.bytes = 8 * elements;
  return spec;
}

/// 1 GB/s and 1 Gop/s of 4 cores, half of it of one; a link of 1 GB/s.
Machine makeMachine() {
  Machine machine;
  machine.name = "test";
  machine.flops.fill(1e9);
  machine.bandwidth = 1e9;
  machine.kernelOverhead = 1e-6;
  machine.protocols = {{10e-6, 1e-6, 5e-6, 1e9, 0.5e9}};
  return machine;
}

Machine makeHost() {
  Machine machine = makeMachine();
  machine.cores = 4;
  machine.coreBandwidth = 0.5e9;
  return machine;
}

MeasuredKernel measure(const zrt::KernelSpec &spec, int64_t ranks,
                       double seconds) {
  return {zrt::kernelKeyOf(spec),
          zrt::familyOf(spec),
          ranks,
          double(spec.flops),
          double(spec.bytes),
          zrt::computeTypeOf(spec),
          seconds};
}

TEST(CostModel, TakesTheSlowerOfComputingAndMoving) {
  Machine machine = makeMachine();
  CostModel model(machine, 1);
  zrt::KernelSpec spec = copyOf(1000);
  EXPECT_DOUBLE_EQ(model.kernelSeconds(spec), 9e-6);
  spec.flops = 20000;
  EXPECT_DOUBLE_EQ(model.kernelSeconds(spec), 21e-6);
  machine.flopsEfficiency = 0.5;
  EXPECT_DOUBLE_EQ(model.kernelSeconds(spec), 41e-6);
}

zrt::KernelSpec makeSpec(const char *name,
                         std::vector<zrt::TensorType> operands,
                         std::vector<zrt::TensorType> results) {
  zrt::KernelSpec spec;
  spec.name = name;
  spec.operands = std::move(operands);
  spec.results = std::move(results);
  zrt::fillFlags(spec);
  zrt::countWork(spec);
  return spec;
}

TEST(CostModel, ClassesOfKernelsReachTheirParts) {
  const auto F32 = DataType::F32;
  auto product = makeSpec("nn.linear", {{F32, {10, 8}}, {F32, {8, 20}}},
                          {{F32, {10, 20}}});
  auto attention =
      makeSpec("nn.attention",
               {{F32, {1, 8, 2, 4}}, {F32, {1, 8, 2, 4}}, {F32, {1, 8, 2, 4}}},
               {{F32, {1, 8, 2, 4}}, {F32, {1, 2, 8}}});
  Machine machine = makeMachine();
  machine.kernelOverhead = 0;
  machine.bandwidth = 1e15;
  machine.flopsEfficiency = 0.5;
  CostModel model(machine, 1);
  // Where nothing else is given, all have one efficiency.
  EXPECT_DOUBLE_EQ(model.kernelSeconds(product), 3200 / 0.5e9);
  const double before = model.kernelSeconds(attention);
  machine.productEfficiency = 0.8;
  EXPECT_DOUBLE_EQ(model.kernelSeconds(product), 3200 / 0.8e9);
  EXPECT_DOUBLE_EQ(model.kernelSeconds(attention), before);
  machine.attentionEfficiency = 0.25;
  EXPECT_DOUBLE_EQ(model.kernelSeconds(attention), 2 * before);
  // A product of 10 x 8 by 8 x 20 counts as one of 14 x 12 by 12 x 24.
  machine.productPadding = 4;
  EXPECT_DOUBLE_EQ(model.kernelSeconds(product), 2 * 14 * 12 * 24 / 0.8e9);
  EXPECT_DOUBLE_EQ(model.kernelSeconds(attention), 2 * before);
}

TEST(CostModel, LinksReachAPartOfTheirRate) {
  Machine machine = makeMachine();
  machine.protocols = {{0, 0, 0, 1e9, 1e9}};
  CostModel model(machine, 4);
  auto seconds = [&](Collective kind) {
    return model.collectiveSeconds(kind, 4e6, DataType::F32);
  };
  const double gather = seconds(Collective::AllGather);
  machine.linkEfficiency = 0.5;
  EXPECT_DOUBLE_EQ(seconds(Collective::AllGather), 2 * gather);
  machine.worksAtWait = true;
  const double atWait = seconds(Collective::AllGather);
  machine.linkEfficiency = 0.25;
  EXPECT_DOUBLE_EQ(seconds(Collective::AllGather), 2 * atWait);
}

TEST(CostModel, RanksOfAHostShareItsCores) {
  Machine host = makeHost();
  EXPECT_DOUBLE_EQ(host.coresOfRank(1), 4);
  EXPECT_DOUBLE_EQ(host.coresOfRank(3), 1); // whole threads
  EXPECT_DOUBLE_EQ(host.coresOfRank(8), 0.5);
  // Computing goes with the cores; memory is shared, and a core has its limit.
  EXPECT_DOUBLE_EQ(host.roofline(8e9, 0, DataType::F32, 2), 4);
  EXPECT_DOUBLE_EQ(host.roofline(0, 8e9, DataType::F32, 1), 8);
  EXPECT_DOUBLE_EQ(host.roofline(0, 8e9, DataType::F32, 4), 32);
}

TEST(CostModel, PrefersWhatWasMeasured) {
  Machine machine = makeMachine();
  machine.kernels = {measure(copyOf(1000), 1, 5e-6),
                     measure(copyOf(3000), 1, 11e-6)};
  CostModel model(machine, 1);
  EXPECT_DOUBLE_EQ(model.kernelSeconds(copyOf(1000)), 5e-6);
  EXPECT_DOUBLE_EQ(model.kernelSeconds(copyOf(2000)), 8e-6);
  EXPECT_DOUBLE_EQ(model.kernelSeconds(copyOf(6000)), 22e-6);
  EXPECT_DOUBLE_EQ(model.kernelSeconds(copyOf(500)), 3e-6);
  // Another type is another family.
  zrt::KernelSpec other = copyOf(1000);
  other.operands[0].type = DataType::BF16;
  EXPECT_DOUBLE_EQ(model.kernelSeconds(other), 9e-6);
}

TEST(CostModel, ScalesWhatOtherRankCountsMeasured) {
  Machine host = makeHost();
  host.kernels = {measure(copyOf(1000), 4, 5e-6)};
  EXPECT_DOUBLE_EQ(CostModel(host, 4).kernelSeconds(copyOf(1000)), 5e-6);
  EXPECT_DOUBLE_EQ(CostModel(host, 8).kernelSeconds(copyOf(1000)), 10e-6);
  EXPECT_DOUBLE_EQ(CostModel(host, 1).kernelSeconds(copyOf(1000)), 1.25e-6);
}

TEST(CostModel, OnlyOwnersAdd) {
  Machine machine = makeMachine();
  zrt::KernelSpec spec = copyOf(1000);
  spec.ints["owner"] = {1};
  EXPECT_DOUBLE_EQ(CostModel(machine, 4).kernelSeconds(spec), 9e-6 / 4);
}

TEST(CostModel, RingsHaveLatencyAStepAndARate) {
  Machine machine = makeMachine();
  CostModel model(machine, 4);
  double bytes = 4e6;
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(Collective::AllGather, bytes, DataType::F32),
      10e-6 + 3e-6 + 3e-3);
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(Collective::AllReduce, bytes, DataType::F32),
      10e-6 + 6e-6 + 6e-3);
  EXPECT_EQ(CostModel(machine, 1)
                .collectiveSeconds(Collective::AllReduce, bytes, DataType::F32),
            0);
  // Two nodes: one step between them, and its rate.
  machine.ranksPerNode = 2;
  EXPECT_DOUBLE_EQ(
      CostModel(machine, 4)
          .collectiveSeconds(Collective::AllGather, bytes, DataType::F32),
      10e-6 + 2e-6 + 5e-6 + 6e-3);
}

TEST(CostModel, TakesTheBestProtocol) {
  Machine machine = makeMachine();
  machine.protocols.push_back({1e-6, 0, 0, 1e6, 1e6});
  CostModel model(machine, 2);
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(Collective::AllGather, 2, DataType::F32), 2e-6);
  EXPECT_DOUBLE_EQ(
      model.collectiveSeconds(Collective::AllGather, 2e6, DataType::F32),
      11e-6 + 1e-3);
}

TEST(CostModel, TreesSpareStepsBetweenManyNodes) {
  Machine machine = makeMachine();
  machine.ranksPerNode = 8;
  double few = CostModel(machine, 16384)
                   .collectiveSeconds(Collective::AllReduce, 8, DataType::F32);
  // 2 x (7 steps in a node, 11 between 2048 nodes).
  EXPECT_LT(few, 10e-6 + 2 * (7e-6 + 11 * 5e-6) + 1e-6);
}

TEST(CostModel, InterpolatesMeasuredCollectives) {
  Machine machine = makeMachine();
  machine.collectives = {
      {Collective::AllGather, DataType::F32, 2, 1000, 1e-6},
      {Collective::AllGather, DataType::F32, 2, 3000, 5e-6},
  };
  CostModel model(machine, 2);
  auto seconds = [&](double bytes) {
    return model.collectiveSeconds(Collective::AllGather, bytes, DataType::F32);
  };
  EXPECT_DOUBLE_EQ(seconds(2000), 3e-6);
  EXPECT_DOUBLE_EQ(seconds(6000), 10e-6);
  EXPECT_DOUBLE_EQ(seconds(0), 1e-6);
  // Three ranks write twice as much as two.
  EXPECT_DOUBLE_EQ(
      CostModel(machine, 3)
          .collectiveSeconds(Collective::AllGather, 2000, DataType::F32),
      6e-6);
}

//===----------------------------------------------------------------------===//
// Machines
//===----------------------------------------------------------------------===//

/// The message for a machine file that is refused.
std::string refusal(llvm::StringRef text) {
  std::string error;
  EXPECT_TRUE(failed(detail::parseMachine(text, error)));
  return error;
}

constexpr const char *kLeast =
    R"({"name": "x", "flops": {"f32": 2}, "bandwidth": 3,
        "protocols": [{"latency": 0, "step": 1, "bandwidth": 4}])";

TEST(Machine, KnowsSomeByName) {
  std::string error;
  for (llvm::StringRef name : builtInMachineNames()) {
    mlir::FailureOr<Machine> machine = readMachine(name, error);
    ASSERT_TRUE(succeeded(machine)) << error;
    EXPECT_EQ(machine->name, name.str());
    for (double rate : machine->flops)
      EXPECT_GT(rate, 0);
    EXPECT_FALSE(machine->protocols.empty());
  }
  EXPECT_TRUE(failed(readMachine("no-such-machine", error)));
  EXPECT_EQ(
      error,
      "cannot read the machine 'no-such-machine': No such file or "
      "directory; wanted a file or one of host, a100, h100, h200, b200, gb200, "
      "a100-eager, h100-eager");
}

TEST(Machine, ReadsAFile) {
  std::string error;
  auto machine = detail::parseMachine(std::string(kLeast) + "}", error);
  ASSERT_TRUE(succeeded(machine)) << error;
  EXPECT_EQ(machine->flops[int(DataType::BF16)], 2);
  EXPECT_EQ(machine->protocols[0].farBandwidth, 4);
  machine = detail::parseMachine(
      std::string(kLeast) +
          R"(, "cores": 2, "core_bandwidth": 1, "works_at_wait": true,
         "kernels": [{"kernel": "k", "family": "f", "type": "bf16",
           "ranks": 2, "flops": 0, "bytes": 8, "seconds": 0.5}],
         "collectives": [{"kind": "all-gather", "type": "f32", "ranks": 2,
           "bytes": 8, "seconds": 0.25}]})",
      error);
  ASSERT_TRUE(succeeded(machine)) << error;
  EXPECT_TRUE(machine->worksAtWait);
  EXPECT_EQ(machine->kernels[0].type, DataType::BF16);
  EXPECT_EQ(machine->collectives[0].kind, Collective::AllGather);
  machine = detail::parseMachine(
      std::string(kLeast) + R"(, "bus_bandwidth": -0.0})", error);
  ASSERT_TRUE(succeeded(machine)) << error;
  EXPECT_FALSE(std::signbit(machine->busBandwidth));
}

TEST(Machine, RefusesWhatItDoesNotUnderstand) {
  EXPECT_EQ(refusal("[]"),
            "found no JSON object, wanted the fields of a machine");
  EXPECT_EQ(refusal("{}"), "name is missing; wanted text");
  EXPECT_EQ(refusal(R"({"name": 1})"), "name: found 1, wanted text");
  EXPECT_EQ(
      refusal(R"({"name": "x", "flops": {"f32": "fast"}})"),
      "flops.f32: found \"fast\", wanted 0, or a number from 1e-24 to 1e+24");
  for (const char *absurd : {"-1", "1e308", "1e-300"})
    EXPECT_EQ(
        refusal(std::string(kLeast) + R"(, "kernel_overhead": )" + absurd + "}")
            .find("kernel_overhead: found "),
        0u);
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "cores": 1.5})"),
            "cores: found 1.5, wanted a whole number of at least 0");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "cores": 2})"),
            "core_bandwidth is missing; wanted a number");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "works_at_wait": 1})"),
            "works_at_wait: found 1, wanted true or false");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "flops_efficiency": 0})"),
            "flops_efficiency: found 0, wanted more");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "flops_efficiency": 2})"),
            "flops_efficiency: found more than 1, wanted at most 1");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "bandwidth_efficiency": 1.1})"),
            "bandwidth_efficiency: found more than 1, wanted at most 1");
  for (const char *key :
       {"product_efficiency", "attention_efficiency", "link_efficiency"})
    EXPECT_EQ(refusal(std::string(kLeast) + ", \"" + key + "\": 1.5}"),
              std::string(key) + ": found more than 1, wanted at most 1");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "link_efficiency": 0})"),
            "link_efficiency: found 0, wanted more");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "overlap_slowdown": 0.5})"),
            "overlap_slowdown: found less than 1, wanted 1 or more");
  EXPECT_EQ(refusal(std::string(kLeast) +
                    R"(, "collectives": [{"kind": "gossip"}]})"),
            "collectives[0].kind: found \"gossip\", wanted a collective, such "
            "as all-gather");
  EXPECT_EQ(refusal(std::string(kLeast) +
                    R"(, "kernels": [{"kernel": "k", "family": "f",
                    "type": "f31"}]})"),
            "kernels[0].type: found \"f31\", wanted an element type, such as "
            "f32");
  EXPECT_EQ(refusal(std::string(kLeast) + R"(, "kernels": [7]})"),
            "kernels: found [7], wanted a list of objects");
  std::string unknown = refusal(std::string(kLeast) + R"(, "colour": 1})");
  EXPECT_EQ(unknown.rfind("colour is not known; wanted name, source", 0), 0u)
      << unknown;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

TEST(Signature, SaysWhatDecidesTheTime) {
  zrt::KernelSpec spec = copyOf(8);
  spec.ints["dims"] = {0, 1};
  spec.ints["kind"] = {2};
  spec.ints["partition"] = {3};
  EXPECT_EQ(zrt::kernelKeyOf(spec),
            "zero.copy(f32[8],f32[8])->() dims=0,1 kind=2");
  EXPECT_EQ(zrt::familyOf(spec), "zero.copy(f32,f32)->() kind=2");
  zrt::KernelSpec launch;
  launch.name = "launch";
  launch.symbol = "gelu_7";
  launch.results = {{DataType::BF16, {2, 4}}};
  launch.flops = 40;
  EXPECT_EQ(zrt::familyOf(launch), "launch()->(bf16) operations=5");
  EXPECT_EQ(zrt::kernelKeyOf(launch), "launch()->(bf16[2x4]) operations=5");
}

} // namespace
