#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Registration/Registration.h"
#include "zero/Timeline/Timeline.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zero;

namespace {

class OperationCosts : public ::testing::Test {
protected:
  OperationCosts() : context(makeRegistry()) {}

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  OwningOpRef<ModuleOp> plan(const std::string &model,
                             const std::string &options) {
    auto module =
        parseSourceFile<ModuleOp>(ZERO_MODELS + ("/" + model), &context);
    EXPECT_TRUE(module);
    auto pipeline = ZeroPipelineOptions::createFromString(options);
    auto config = pipeline->resolve(*module);
    EXPECT_TRUE(succeeded(config));
    PassManager passes(&context, ModuleOp::getOperationName());
    buildZeroPipeline(passes, *config);
    EXPECT_TRUE(succeeded(passes.run(*module)));
    return module;
  }

  /// Costs of all operations of an update.
  static double costOfUpdate(ModuleOp module, const CostModel &model) {
    StepOp step = *module.getOps<StepOp>().begin();
    double seconds = 0;
    for (Operation &op : step.getRegionOp<MicroOp>().getBody().front())
      seconds += model.costOf(&op) * step.getTraining()->getAccumulation();
    for (Operation &op : step.getRegionOp<ApplyOp>().getBody().front())
      seconds += model.costOf(&op);
    return seconds;
  }

  MLIRContext context;
};

/// A machine on which nothing runs beside anything and all is bytes.
Machine makeMachine() {
  Machine machine;
  machine.flops.fill(1e15);
  machine.bandwidth = 1e9;
  machine.worksAtWait = true;
  machine.protocols = {{0, 0, 0, 1e9, 1e9}};
  return machine;
}

TEST_F(OperationCosts, AddUpToTheTimeline) {
  for (const char *options :
       {"stage=0 ranks=2", "stage=1 ranks=2 precision=bf16 accumulation=2",
        "stage=2 ranks=4 precision=bf16", "stage=2 ranks=3 layout=contiguous",
        "stage=3 ranks=2 accumulation=2 param-persistence-threshold=64"}) {
    OwningOpRef<ModuleOp> module = plan("gpt-small.mlir", options);
    Machine machine = makeMachine();
    auto timeline = simulate(*module, machine);
    ASSERT_TRUE(succeeded(timeline));
    StepOp step = *module->getOps<StepOp>().begin();
    CostModel model(machine, step.getTraining()->getRanks());
    // The translation also copies into buckets and clears their padding.
    double seconds = costOfUpdate(*module, model);
    EXPECT_NEAR(seconds / timeline->stepSeconds(), 1, 0.05) << options;
  }
}

/// Not as a copy within the memory of a rank.
TEST_F(OperationCosts, OfWhatStagesSendAreThoseOfTheLink) {
  OwningOpRef<ModuleOp> module =
      plan("tiny-gpt.mlir", "mesh=pipe=2,data=2 stage=1 accumulation=2");
  Machine machine = makeMachine();
  machine.bandwidth = 1e15;
  int transfers = 0;
  for (ModuleOp stage : module->getOps<ModuleOp>()) {
    StepOp step = *stage.getOps<StepOp>().begin();
    CostModel model = makeCostModel(machine, stage, *step.getTraining());
    PartitionTable partitions(stage);
    stage.walk([&](AsyncOpInterface op) {
      if (!isa<StartSendOp, StartReceiveOp, TieGradientsOp>(op.getOperation()))
        return;
      ++transfers;
      const double bytes = static_cast<double>(op.getBytes(partitions));
      EXPECT_GT(bytes, 0);
      EXPECT_GE(model.costOf(op), bytes / machine.protocols[0].bandwidth);
    });
  }
  EXPECT_GE(transfers, 5); // two each way, and a tied table
}

TEST_F(OperationCosts, AreOfOneOperationToo) {
  OwningOpRef<ModuleOp> module = plan("tiny-gpt.mlir", "stage=2 ranks=2");
  Machine machine = makeMachine();
  CostModel model(machine, 2);
  int kernels = 0;
  module->walk([&](MicroOp micro) {
    for (Operation &op : micro.getBody().front()) {
      double seconds = zero::costOf(&op, machine);
      EXPECT_EQ(seconds, model.costOf(&op));
      if (isa<LoadOp, WaitOp, FreeOp, YieldOp>(op))
        EXPECT_EQ(seconds, 0);
      kernels += seconds > 0;
    }
  });
  EXPECT_GT(kernels, 20);
}

} // namespace
