//===- SpanCosts.h - what the spans of a model cost, measured ---*- C++ -*-===//
//
// Spans are measured in a trial: one stage that has each span as a chunk of its
// own, taken through the passes that stages go through up to their kernels.
// What a chunk computes, leaves and hands on there is what the span costs.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_TRANSFORMS_SPANCOSTS_H
#define ZERO_LIB_TRANSFORMS_SPANCOSTS_H

#include "StageBuilder.h"

#include "zero/Analysis/PipelineCuts.h"
#include "zero/Cost/CostModel.h"

namespace mlir::zero {

/// Reads what spans cost off `trial`, of whose step `spans` are the chunks.
/// Work is seconds by `model`; without one, floating-point operations. States
/// count where the step has its training.
FailureOr<PipelineCosts> readSpanCosts(ModuleOp trial,
                                       const PipelineStages &spans,
                                       const Crossings &crossings,
                                       const CostModel *model);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_SPANCOSTS_H
