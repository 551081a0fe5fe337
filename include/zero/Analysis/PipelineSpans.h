//===- PipelineSpans.h - between where a model may be cut -------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_PIPELINESPANS_H
#define ZERO_ANALYSIS_PIPELINESPANS_H

#include "zero/Analysis/PipelineStages.h"

namespace mlir::zero {

/// A run of operations between two places where a model may be cut.
struct Span {
  SmallVector<Operation *> operations;
  double work = 0;
  /// Whether it reads a trained parameter.
  bool isTrained = false;
  /// Bytes that are alive behind it; 0: no place to cut at.
  int64_t behind = 0;
};

/// How much work an operation is, in any unit.
using SpanWork = llvm::function_ref<double(Operation *)>;

/// Whether a stage can hand a value to the next one.
using CanCross = llvm::function_ref<bool(Value)>;

/// The spans of what `stages` do not repeat of `model`. They end where few
/// bytes that depend on parameters are alive, and all of it can be handed on:
/// in a model with a residual stream, between its halves of layers.
SmallVector<Span> findSpans(StepOp model, const PipelineStages &stages,
                            SpanWork work, CanCross canCross);

/// Joins the spans of each layer, where spans repeat: one that is cut in two is
/// no layer to whoever recomputes layers.
SmallVector<Span> joinLayers(ArrayRef<Span> spans);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PIPELINESPANS_H
