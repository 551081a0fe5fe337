// What cannot be a program: schedules without places, operations without
// kernels.
#include "CompilerTesting.h"

#include "zero/Conversion/Translate.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zero;

namespace {

class Translation : public ::testing::Test, protected Compiler {
protected:
  void SetUp() override {
    module = parseSourceFile<ModuleOp>(ZERO_MODELS "/tiny-mlp.mlir", &context);
    ASSERT_TRUE(module && runPipeline(*module, "stage=2 ranks=2")) << message;
  }

  /// What is said of the module as it is now.
  std::string refusal() {
    message.clear();
    EXPECT_TRUE(failed(translateToProgram(*module)));
    return message;
  }

  OwningOpRef<ModuleOp> module;
};

TEST_F(Translation, WantsAPlanOfTheStep) {
  (*module->getOps<StepOp>().begin())->removeAttr("zero.at");
  EXPECT_EQ(refusal(),
            "'zero.step' is not planned; run zero-plan-memory first");
}

TEST_F(Translation, WantsPlacesOfAllStates) {
  (*module->getOps<PartitionOp>().begin()).removeAtAttr();
  EXPECT_EQ(refusal(), "'zero.partition' op has no places; run "
                       "zero-plan-memory first");
}

TEST_F(Translation, WantsAKernelForEachOperation) {
  StepOp step = *module->getOps<StepOp>().begin();
  Value input = step.getBody().getArgument(0);
  OpBuilder builder =
      OpBuilder::atBlockBegin(&step.getRegionOp<MicroOp>().getBody().front());
  UnrealizedConversionCastOp::create(builder, step.getLoc(), input.getType(),
                                     input);
  EXPECT_EQ(refusal(), "'builtin.unrealized_conversion_cast' op has no runtime "
                       "kernel; implement KernelOpInterface for it");
}

} // namespace
