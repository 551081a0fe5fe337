//===- CheckPlan.cpp - whether a plan is what was asked for ---------------===//
//
// What a configuration asks for and only a plan can answer.
//
//===----------------------------------------------------------------------===//

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Traffic.h"
#include "zero/Plan/Savings.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::zero;

namespace {
class CheckPlan : public PassWrapper<CheckPlan, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckPlan)

  explicit CheckPlan(const TrainConfig &config) : config(config) {}
  StringRef getName() const override { return "CheckPlan"; }
  void runOnOperation() override;

private:
  LogicalResult checkCommunicationType(StepOp step);

  const TrainConfig config;
};
} // namespace

/// A model may have parameters of several types.
LogicalResult CheckPlan::checkCommunicationType(StepOp step) {
  if (!config.communicationType)
    return success();
  StringRef wanted = nameOf(*config.communicationType);
  for (const TrafficPart &part :
       TrafficAnalysis(getOperation(), step).planned()) {
    std::string type;
    llvm::raw_string_ostream(type) << part.type;
    if (part.kind == TrafficKind::Gradients && type != wanted)
      return emitError(part.op->getLoc())
             << "gradients travel as " << type
             << " here, and communication_data_type asks for " << wanted
             << "; leave it out, or give all parameters one type";
  }
  return success();
}

void CheckPlan::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step) || failed(checkCommunicationType(*step)))
    return signalPassFailure();
  TrainingAttr training = *step->getTraining();
  if (training.getStage() == 3 && training.getRanks() > 1)
    remarkSavings(*step, summarizePlan(getOperation()));
  markAllAnalysesPreserved();
}

std::unique_ptr<Pass>
mlir::zero::createCheckPlanPass(const TrainConfig &config) {
  return std::make_unique<CheckPlan>(config);
}
