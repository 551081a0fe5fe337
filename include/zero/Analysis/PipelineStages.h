//===- PipelineStages.h - which stage computes what -------------*- C++ -*-===//
#ifndef ZERO_ANALYSIS_PIPELINESTAGES_H
#define ZERO_ANALYSIS_PIPELINESTAGES_H

#include "zero/Dialect/Zero/Zero.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::zero {

struct Span;

/// The operations of a model by the stages of a pipeline that compute them. A
/// place of the axis has one stage, or several with other places' between them:
/// its chunks.
class PipelineStages {
public:
  /// Stages of `model` for so many places of so many chunks, which have no
  /// operations yet.
  PipelineStages(StepOp model, int64_t places, int64_t chunks);

  /// Whether the model says itself where it is cut.
  bool isCutByUser() const { return hasBoundaries; }
  /// Gives stages their operations: up to the model's boundaries, or whole
  /// spans, stage i + 1 from span `begins[i]` on.
  void placeAtBoundaries();
  void place(ArrayRef<Span> spans, ArrayRef<size_t> begins);

  /// Whether the model can be cut; an error at the operation or parameter that
  /// is in the way otherwise.
  LogicalResult verify();

  int64_t getStages() const { return stages; }
  int64_t getPlaces() const { return places; }
  int64_t getChunks() const { return stages / places; }
  /// The place of the axis that has a stage, and the other way round.
  int64_t getPlace(int64_t stage) const { return stage % places; }
  int64_t getStageAt(int64_t place, int64_t chunk) const {
    return chunk * places + place;
  }
  /// Whether a stage computes `op` for itself where it needs the results:
  /// loads, and what follows from inputs and constants alone.
  bool isRepeated(Operation *op) const { return repeated.contains(op); }
  /// The stage of an operation that is not repeated.
  int64_t getStage(Operation *op) const { return stageOf.lookup(op); }
  /// Whether a value depends on a trained parameter.
  bool isTrained(Value value) const { return trained.contains(value); }
  /// The values that `stage` has from the one before, in their order.
  ArrayRef<Value> getIncoming(int64_t stage) const {
    return incoming[stage].getArrayRef();
  }
  /// The parameters of a stage, in the order of their first use.
  ArrayRef<Attribute> getParameters(int64_t stage) const {
    return parameters[stage].getArrayRef();
  }
  /// The places whose stages use a parameter.
  SmallVector<int64_t, 2> getPlacesOf(Attribute parameter) const;
  /// "stage 1 of the pipeline", "chunk 2 of stage 1 of the pipeline".
  std::string describe(int64_t stage) const;

private:
  void findRepeated();
  void findTrained();
  void findAllNeeds();
  void findNeeds(Operation *op, int64_t stage);

  StepOp model;
  int64_t places, stages, boundaries = 0;
  bool hasBoundaries = false;
  DenseSet<Operation *> repeated;
  DenseSet<Value> trained;
  DenseMap<Operation *, int64_t> stageOf;
  SmallVector<llvm::SetVector<Value>> incoming;
  SmallVector<llvm::SetVector<Attribute>> parameters;
  /// Operations whose needs in a stage are known.
  SmallVector<DenseSet<Operation *>> visited;
};

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PIPELINESTAGES_H
