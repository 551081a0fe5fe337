//===- RunPipeline.cpp - zero-pipeline for the module that there is -------===//

#include "zero/Transforms/Passes.h"
#include "zero/Transforms/Pipeline.h"

namespace mlir::zero {
#define GEN_PASS_DEF_RUNPIPELINE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct RunPipeline : public zero::impl::RunPipelineBase<RunPipeline> {
  using RunPipelineBase::RunPipelineBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager passes(ModuleOp::getOperationName());
    TrainConfig all;
    all.overlapCommunication = true;
    all.checkpoint.every = 1;
    buildZeroPipeline(passes, all);
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    std::string error;
    std::unique_ptr<ZeroPipelineOptions> options =
        ZeroPipelineOptions::read(settings, error);
    if (!options) {
      emitError(getOperation().getLoc()) << error;
      return signalPassFailure();
    }
    FailureOr<TrainConfig> config = options->resolve(getOperation());
    if (failed(config))
      return signalPassFailure();
    OpPassManager passes(ModuleOp::getOperationName());
    buildZeroPipeline(passes, *config);
    if (failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }
};
} // namespace
