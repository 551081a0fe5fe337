//===- LocalPlaces.h - what one rank computes of experts' places -*- C++ -*-==//
#ifndef ZERO_LIB_TRANSFORMS_LOCALPLACES_H
#define ZERO_LIB_TRANSFORMS_LOCALPLACES_H

#include "zero/Analysis/PlaceSharding.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::zero {

/// The body of a model, rewritten so that rows are sent to the ranks of their
/// experts, and back.
class LocalPlaces {
public:
  LocalPlaces(StepOp model, const PlaceSharding &sharding)
      : model(model), sharding(sharding), builder(model.getContext()) {}

  void run();

private:
  void visitMoved(Operation *op);
  void bringHome(Operation *op);
  Value partOf(Operation *op, OpOperand &operand);
  Value exchange(Value value, PlaceSharding::Places places, bool isHome);

  StepOp model;
  const PlaceSharding &sharding;
  OpBuilder builder;
  /// What the ranks of the experts have of a value; and of one of theirs, what
  /// each rank has of its own rows.
  DenseMap<Value, Value> moved, home;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_LOCALPLACES_H
