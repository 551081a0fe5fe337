//===- Estimate.h - DeepSpeed's estimates, and the plan beside them -------===//
#ifndef ZERO_PLAN_ESTIMATE_H
#define ZERO_PLAN_ESTIMATE_H

#include "Model.h"

#include "zero/Plan/Estimators.h"

namespace mlir::zero {

struct EstimateRequest {
  EstimateVersion version = EstimateVersion::Current;
  /// Parameter counts of 0 are taken from the model.
  EstimateSetup setup;
  /// All 0 where no activations are asked for.
  TransformerShape transformer;
  /// A model's file, or empty.
  std::string model;
  PlanOptions plan;
};

/// Prints the tables of ZeRO-2 and ZeRO-3 and the documentation's example; with
/// a model, what this compiler plans for as many ranks.
LogicalResult runEstimate(EstimateRequest request);

} // namespace mlir::zero

#endif // ZERO_PLAN_ESTIMATE_H
