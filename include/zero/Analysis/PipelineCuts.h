//===- PipelineCuts.h - which spans of a model are a stage ------*- C++ -*-===//
//
// Chooses among all cuts of a model's spans into stages the one whose slowest
// stage is the fastest, of those that fit into the stages' memory. Knows
// numbers only.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_PIPELINECUTS_H
#define ZERO_ANALYSIS_PIPELINECUTS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace mlir::zero {

/// The costs of a span of a model for the stage that has it. Parameters and
/// values are numbers, those of PipelineCosts.
struct SpanCost {
  /// The work of its forward and backward pass of a micro-batch, in any unit.
  double work = 0;
  /// Whether it has a parameter that is trained.
  bool isTrained = false;
  /// The most bytes that one of its passes has at a time, beside the stash.
  int64_t working = 0;
  /// Bytes that its forward pass leaves, which no other span has.
  int64_t stashed = 0;
  SmallVector<unsigned> parameters;
  /// Values that other spans have as well, which its backward pass reads.
  SmallVector<unsigned> kept;
  /// Values that it hands on where a stage ends with it.
  SmallVector<unsigned> sent;
  /// Bytes of gradients that it hands back where a stage begins with it.
  int64_t sentBack = 0;
};

/// The costs of a parameter for a stage that has it.
struct ParameterCost {
  /// Bytes that a rank keeps of it from step to step.
  int64_t bytes = 0;
  /// Bytes that a stage takes besides where another one has it as well.
  int64_t received = 0;
  /// Spans that have it.
  int64_t uses = 0;
  /// The parameters that it shares intervals with, in PipelineCosts.
  unsigned group = 0;
};

struct PipelineCosts {
  SmallVector<SpanCost> spans;
  SmallVector<ParameterCost> parameters;
  /// By group of parameters: bytes that a stage keeps of them are a multiple of
  /// these where they are more; 0: they are not rounded.
  SmallVector<int64_t> intervals;
  /// By value.
  SmallVector<int64_t> valueBytes;
  /// Bytes that every stage has.
  int64_t always = 0;
  /// The most that any kernel wants for its workspace where it runs on a GPU.
  int64_t workspace = 0;
};

/// The stages to cut into, and their limits. Place s of p has the stages s, s +
/// p, s + 2 p, ... of the model's order.
struct StageLimits {
  int64_t places = 1;
  /// By stage: slots of its stash.
  SmallVector<int64_t> slots;
  /// Bytes that a place may need; none: any number.
  std::optional<int64_t> budget;

  int64_t stages() const { return slots.size(); }
};

/// A cut, with what it means by the costs.
struct PipelineCut {
  /// The first span of each stage but the first one; empty where there is no
  /// cut of which each stage has a trained parameter.
  SmallVector<size_t> begins;
  SmallVector<double> works;  ///< by stage
  SmallVector<int64_t> bytes; ///< by place

  int64_t largestBytes() const;
};

/// The cut whose largest work is the least, and among those the most even one,
/// of those that fit into the budget. Where none fits, of those that need the
/// least in the place that needs most. With several stages a place, whether a
/// cut fits is no sum over stages, and the search goes from one cut to its
/// neighbours: it may miss a better one.
PipelineCut chooseCut(const PipelineCosts &costs, const StageLimits &limits);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PIPELINECUTS_H
