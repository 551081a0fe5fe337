//===- LocalModel.h - what one rank computes of a model ---------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_LOCALMODEL_H
#define ZERO_LIB_TRANSFORMS_LOCALMODEL_H

#include "zero/Analysis/Sharding.h"

#include <functional>

namespace mlir::zero {

/// A value that is the sum of what the ranks have, plus what each of them has
/// of it, which counts once.
struct Terms {
  Value term;
  /// Builds what counts once, or its rows that the cut says; null: nothing.
  std::function<Value(CutAttr rows)> once;
};

/// What has been built of a value of the model.
struct Local {
  Value whole, replicated, once;
  /// Whether ranks give its gradient terms, which ZeRO adds up: of parameters
  /// over `sequence`, and of what is computed of nothing else.
  bool addsUp = false;
  /// What ranks have that are cut, by how.
  SmallVector<std::pair<CutAttr, Value>, 1> parts;
  std::optional<Terms> terms;
};

/// The body of a model, rewritten to what one rank computes.
class LocalModel {
public:
  LocalModel(StepOp model, const Sharding &sharding)
      : model(model), sharding(sharding), builder(model.getContext()) {}

  void run();

private:
  void visit(Operation *op);
  bool addsUp(Operation *op);
  void visitWhole(Operation *op);
  void visitPart(Operation *op);
  void visitRange(Operation *op);
  Operation *clonePart(Operation *op, ValueRange operands);
  Value operandOfPart(Operation *op, unsigned index);
  SmallVector<Value> operandsOfPart(Operation *op);
  Value addendsOf(Operation *op, CutAttr rows);
  Value broadcast(Value addend, const zrt::FactoredTensor &from,
                  const zrt::FactoredTensor &to, RankedTensorType type);
  std::optional<SmallVector<unsigned>> findTerms(Operation *op);
  bool readsRows(Operation *op, ArrayRef<unsigned> terms);
  void visitTerms(Operation *op, ArrayRef<unsigned> terms);
  Value clone(Operation *op, ValueRange operands);
  Value buildOnce(Operation *op, ArrayRef<unsigned> terms, CutAttr rows);

  Value wholeOf(Value value);
  void reportWhole(Value value, CutAttr cut);
  Value partOf(Value value, CutAttr cut);
  Value buildPart(Value value, CutAttr cut);
  Value scatteredOf(Value value, CutAttr rows);
  Value rowsOrReplicated(Value value);
  Value computePart(Value value, CutAttr cut);
  Value replicatedOf(Value value);
  Value zerosLike(Value value, CutAttr rows = {});

  StepOp model;
  const Sharding &sharding;
  OpBuilder builder;
  Operation *reader = nullptr; ///< the one that is being rewritten
  DenseMap<Value, Local> locals;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_LOCALMODEL_H
