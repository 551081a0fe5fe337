//===- LocalExperts.h - what one rank computes of experts -------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_LOCALEXPERTS_H
#define ZERO_LIB_TRANSFORMS_LOCALEXPERTS_H

#include "zero/Analysis/ExpertSharding.h"

namespace mlir::zero {

/// The body of a model, rewritten so that each rank has some of the experts.
class LocalExperts {
public:
  LocalExperts(StepOp model, const ExpertSharding &sharding)
      : model(model), sharding(sharding), builder(model.getContext()) {}

  void run();

private:
  void visitSort(Operation *op);
  void visitBetween(Operation *op);
  void visitReturn(Operation *op);
  Operation *clone(Operation *op, ValueRange operands);
  Value allOf(Value value, int64_t dim);
  bool isTrained(Value value) const {
    return sharding.isTrained(value) || trained.contains(value);
  }

  StepOp model;
  const ExpertSharding &sharding;
  OpBuilder builder;
  /// What a rank has of the values between.
  DenseMap<Value, Value> locals;
  /// What all ranks have of a value, along a dimension.
  DenseMap<std::pair<Value, int64_t>, Value> gathered;
  /// What has come back of what is trained.
  DenseSet<Value> trained;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_LOCALEXPERTS_H
