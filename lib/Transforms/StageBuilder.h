//===- StageBuilder.h - the module of the stages of one place ---*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_STAGEBUILDER_H
#define ZERO_LIB_TRANSFORMS_STAGEBUILDER_H

#include "zero/Analysis/PipelineStages.h"
#include "zero/Verify/StageValues.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::zero {

/// A value that stages hand on: its name, and how ranks have it.
struct Crossing {
  StringAttr name;
  ArrayAttr cuts; ///< null: whole
};

/// What each stage has from the one before.
using Crossings = SmallVector<DenseMap<Value, Crossing>>;

/// Names what stages hand on; an error where ranks have terms of it.
FailureOr<Crossings> findCrossings(const PipelineStages &stages,
                                   const StageValues &values);

/// Builds the module of the stages of one place.
class StageBuilder {
public:
  StageBuilder(ModuleOp whole, StepOp model, const PipelineStages &stages,
               int64_t place, StringRef order, const Crossings &crossings)
      : whole(whole), model(model), stages(stages), place(place), order(order),
        crossings(crossings) {}

  ModuleOp build(OpBuilder &builder);

private:
  void buildSymbols(OpBuilder &builder);
  void buildStep(OpBuilder &builder);
  void buildChunk(OpBuilder &builder, int64_t stage);
  void receive(OpBuilder &builder, int64_t stage);
  void send(OpBuilder &builder, int64_t stage);
  void repeat(OpBuilder &builder, Operation &op);
  void add(OpBuilder &builder, Operation &op);

  ModuleOp whole;
  StepOp model;
  const PipelineStages &stages;
  int64_t place;
  StringRef order;
  const Crossings &crossings;
  IRMapping mapping;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_STAGEBUILDER_H
