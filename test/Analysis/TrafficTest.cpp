// The two counts of traffic agree on a schedule, and do not know of each other.
#include "zero/Analysis/Traffic.h"

#include "CompilerTesting.h"

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
  for (TrafficKind kind :
       {TrafficKind::Gradients, TrafficKind::Gathers, TrafficKind::Refreshes})
    EXPECT_EQ(countElements(planned, kind), countElements(expected, kind));
}

TEST_F(Traffic, TheClosedFormIsWhatIsSent) {
  for (const char *options :
       {"stage=0 ranks=3 accumulation=2", "stage=0 ranks=3 deterministic",
        "stage=1 ranks=3 accumulation=2 overlap=true",
        "stage=2 ranks=2 accumulation=3 layout=contiguous",
        "stage=3 ranks=4 accumulation=3 overlap=true",
        "stage=3 ranks=2 accumulation=2 param-persistence-threshold=300"}) {
    SCOPED_TRACE(options);
    expectEqual(*plan("tiny-gpt.mlir", options), /*maxReuseDistance=*/0);
  }
  expectEqual(*plan("tiny-gpt.mlir", "stage=3 ranks=2 max-reuse-distance=9000"),
              /*maxReuseDistance=*/9000);
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

} // namespace
