// The two counts of traffic agree on a schedule, and do not know of each other.
#include "zero/Analysis/Traffic.h"

#include "CompilerTesting.h"

#include "zero/Conversion/Translate.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

class Traffic : public ::testing::Test, public Compiler {
protected:
  OwningOpRef<ModuleOp> plan(const std::string &model,
                             const std::string &options) {
    auto module =
        parseSourceFile<ModuleOp>(ZERO_MODELS + ("/" + model), &context);
    EXPECT_TRUE(module && runPipeline(*module, options)) << message;
    return module;
  }
};

StepOp stepOf(ModuleOp module) { return *module.getOps<StepOp>().begin(); }

void expectEqual(ModuleOp module, int64_t maxReuseDistance) {
  TrafficAnalysis traffic(module, stepOf(module));
  auto planned = traffic.planned();
  auto expected = traffic.expected(maxReuseDistance);
  for (TrafficKind kind : {TrafficKind::Gradients, TrafficKind::Gathers,
                           TrafficKind::Regathers, TrafficKind::Refreshes})
    EXPECT_EQ(countElements(planned, kind), countElements(expected, kind));
}

TEST_F(Traffic, TheClosedFormIsWhatIsSent) {
  for (const char *options :
       {"stage=0 ranks=3 accumulation=2", "stage=0 ranks=3 deterministic",
        "stage=1 ranks=3 accumulation=2 overlap=true",
        "stage=2 ranks=2 accumulation=3 layout=contiguous",
        "stage=3 ranks=4 accumulation=3 overlap=true",
        "stage=3 ranks=2 accumulation=2 param-persistence-threshold=300",
        "stage=3 ranks=4 accumulation=2 overlap=true hpz-partition-size=2"}) {
    SCOPED_TRACE(options);
    expectEqual(*plan("tiny-gpt.mlir", options), /*maxReuseDistance=*/0);
  }
  expectEqual(*plan("tiny-gpt.mlir", "stage=3 ranks=2 max-reuse-distance=9000"),
              /*maxReuseDistance=*/9000);
}

/// hpZ: of the gathers, all but the first of a micro-batch leave the links
/// between nodes.
TEST_F(Traffic, SecondaryPartitionsMoveGathersIntoNodes) {
  auto count = [&](const std::string &options, TrafficKind kind) {
    auto module = plan("tiny-gpt.mlir", "stage=3 accumulation=3 " + options);
    return countElements(TrafficAnalysis(*module, stepOf(*module)).expected(0),
                         kind);
  };
  const std::string nodes = "ranks=6 hpz-partition-size=3";
  EXPECT_EQ(count("ranks=6", TrafficKind::Regathers), 0);
  EXPECT_GT(count(nodes, TrafficKind::Regathers), 0);
  EXPECT_EQ(count(nodes, TrafficKind::Regathers) +
                count(nodes, TrafficKind::Gathers),
            count("ranks=6", TrafficKind::Gathers));
}

TEST_F(Traffic, AnotherGatherLeavesTheClosedFormAsItIs) {
  auto module = plan("tiny-gpt.mlir", "stage=3 ranks=4 accumulation=3");
  StepOp step = stepOf(*module);
  auto count = [&](bool planned) {
    TrafficAnalysis traffic(*module, step);
    return countElements(planned ? traffic.planned() : traffic.expected(0),
                         TrafficKind::Gathers);
  };
  int64_t sent = count(/*planned=*/true);
  ASSERT_EQ(count(/*planned=*/false), sent);
  auto gather =
      *step.getRegionOp<MicroOp>().getBody().getOps<AllGatherOp>().begin();
  OpBuilder(gather).clone(*gather);
  EXPECT_GT(count(/*planned=*/true), sent);
  EXPECT_EQ(count(/*planned=*/false), sent);
}

/// What the model itself sends is counted in the group that it names, in a
/// group of the program that nothing else uses.
TEST_F(Traffic, ExchangesAreCountedInTheirGroup) {
  auto module = parseSourceString<ModuleOp>(R"(
    zero.mesh @mesh <replica = 2, node = 3, local = 2> cut <node = 3, local = 2>
    zero.step @train(%x: tensor<12xf32> {zero.input = "x"})
        training #zero.training<stage = 0, ranks = 12, accumulation = 5> {
      zero.micro {
        %p = zero.all_to_all %x over <replica = 2, local = 2> : tensor<12xf32> -> <tensor<12xf32>>
        %y = zero.wait %p : <tensor<12xf32>>
        %loss = nn.reduce sum %y dims [0] : (tensor<12xf32>) -> tensor<f32>
        zero.yield %loss : tensor<f32>
      }
      zero.apply {
      }
    })",
                                            &context);
  ASSERT_TRUE(module) << message;
  PassManager passes(&context);
  ASSERT_TRUE(
      succeeded(parsePassPipeline("zero-free,zero-plan-memory", passes)));
  ASSERT_TRUE(run(passes, *module)) << message;
  auto program = translateToProgram(*module);
  ASSERT_TRUE(succeeded(program)) << message;

  ASSERT_EQ(program->mesh.groups.size(), 4u);
  EXPECT_EQ(program->mesh.groups[3].axes, (std::vector<uint32_t>{0, 2}));
  const zrt::Command &start = program->micro.commands.front();
  EXPECT_EQ(start.opcode, zrt::Opcode::Start);
  EXPECT_EQ(start.collective, zrt::Collective::AllToAll);
  EXPECT_EQ(start.group, 3u);
  ASSERT_EQ(start.parts.size(), 1u);
  EXPECT_EQ(start.parts[0].count, 3u);
  EXPECT_EQ(start.parts[0].send.arena, zrt::Arena::Inputs);
  EXPECT_EQ(start.parts[0].receive.bytes, 48u);
  // Five times 3 / 4 of twelve elements, in twelfths.
  const auto activation = size_t(zrt::TrafficClass::Activation);
  EXPECT_EQ(program->expectedTraffic[activation], 5u * 9 * 12);
  EXPECT_EQ(program->expectedByGroup[3].elements[activation], 5u * 9 * 12);
}

} // namespace
