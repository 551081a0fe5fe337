//===- Values.h - what the ranks of an axis have of values ------*- C++ -*-===//
#ifndef ZERO_VERIFY_VALUES_H
#define ZERO_VERIFY_VALUES_H

#include "ValueRules.h"

#include "zero/Analysis/Mesh.h"

#include "mlir/IR/SymbolTable.h"

namespace mlir::zero::verify {

/// The values of one step, over one axis.
class Values {
public:
  Values(ModuleOp module, StepOp step, AxesAttr axis)
      : symbols(module), step(step), axis(axis), isModel(step.isModel()) {}

  LogicalResult run();
  /// The state of a value that was followed.
  State stateOf(Value value) const { return statesOf(value).front(); }

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visitOther(Operation *op);
  LogicalResult visitLoad(LoadOp op);
  LogicalResult visitGradient(GradientOp op);
  LogicalResult visitYield(YieldOp op);
  LogicalResult visitReplicate(ReplicateOp op);
  LogicalResult visitCountOnce(CountOnceOp op);
  LogicalResult visitTerm(TermValueOp op);
  LogicalResult visitReduce(Operation *op, AxesAttr over);
  LogicalResult visitSlice(SliceValueOp op);
  LogicalResult visitGather(GatherValueOp op);
  LogicalResult visitScatter(ScatterValueOp op);
  LogicalResult visitExchange(ExchangeValueOp op);
  LogicalResult visitSamples(ExchangeValueOp op, const State &state);
  LogicalResult visitStartGather(StartAllGatherOp op);
  LogicalResult gatherOther(StartAllGatherOp op, State state);
  LogicalResult visitAllToAll(AllToAllOp op);
  LogicalResult exchangeOther(AllToAllOp op, State state);
  std::optional<State> exchanged(Value value, const State &state) const;
  LogicalResult visitStrided(StridedOp op);
  LogicalResult visitSend(Operation *op);
  State declared(std::optional<ArrayAttr> cuts) const;
  LogicalResult visitReceived(Operation *op, std::optional<ArrayAttr> cuts,
                              bool isTrained);
  LogicalResult visitSent(Operation *op, std::optional<ArrayAttr> cuts);
  LogicalResult visitStash(StashOp op);
  LogicalResult visitUnstash(UnstashOp op);
  LogicalResult checkGroup(Operation *op, AxesAttr over);
  LogicalResult scaleLayouts(Operation *op, State &state, CutAttr cut,
                             bool isWhole);
  LogicalResult checkCaptured(Operation *op);
  LogicalResult checkAddedUp(Operation *op, const State &state, StringRef does);
  LogicalResult checkReplicas(Operation *op, MutableArrayRef<State> results);
  bool isOver(AxesAttr over) const {
    return llvm::is_contained(over.getNames(), axis.getNames().front());
  }

  /// Whether gradients of parameters are added up over the axis by ZeRO: ranks
  /// have parts of the positions, or samples of their own.
  bool isOfPositions() const { return cutsPositions(axis); }
  bool isOfSamples() const { return cutsExperts(axis); }
  /// Whether ranks may gather values of `state` as their own samples; the value
  /// may also be equal on all ranks.
  bool isOfRanks(const State &state) const {
    return isOfSamples() &&
           (state.kind == State::Own || state.kind == State::Same);
  }

  States statesOf(ValueRange values) const;
  void give(Value value, State state);
  /// Settles that `value`, which may be a term, is one, for all its readers.
  void takeTerm(Value value);

  SymbolTable symbols;
  StepOp step;
  AxesAttr axis;
  bool isModel;
  DenseMap<Value, State> states;
  DenseMap<StringAttr, State> stash; ///< by name
};

inline bool isInFront(const Layout &layout) { return layout.dim == 0; }

/// How far the indices of a dimension are apart, in elements.
inline int64_t strideOf(Value value, unsigned dim) {
  return llvm::product_of(
      cast<RankedTensorType>(value.getType()).getShape().drop_front(dim + 1));
}

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VALUES_H
