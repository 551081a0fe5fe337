//===- ParameterLife.h - what a region does with a parameter --------------===//
#ifndef ZERO_PLAN_PARAMETERLIFE_H
#define ZERO_PLAN_PARAMETERLIFE_H

#include "Table.h"

#include "zero/Analysis/Handles.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Plan/PlanSummary.h"

namespace mlir::zero {

/// Finds the operations of one region that load, gather, use, free, reduce,
/// update or refresh a parameter, or make its gradient.
class ParameterLife {
public:
  ParameterLife(const Handles &handles, PartitionOp partition,
                MemberAttr member)
      : handles(handles), partition(partition), member(member),
        symbol(member.getParameter()),
        partitionName(partition.getSymNameAttr()) {}

  /// Prints a line for each in program order; nothing where there is none.
  void print(Operation &region);

private:
  void findGradient(Block &block);
  void visit(Operation &op);
  void visitWait(WaitOp wait);
  void visitReduction(Operation &op);
  void visitAccumulate(AccumulateOp accumulate);
  void visitUses(Operation &op);
  void visitApply(Operation &op);
  /// Adds a line: what happens, by which operation, where.
  void add(const Twine &what, Operation &op);

  bool isAbout(FlatSymbolRefAttr of) const {
    return of.getAttr() == partitionName;
  }
  /// The parameter's index among what `start` gathers, or -1.
  int64_t indexInGather(Operation *start) const;
  /// Whether `start` reduces the parameter's gradient.
  bool isReduced(Operation *start) const;
  bool overlaps(int64_t begin, int64_t end) const {
    return begin < member.getOffset() + member.getSize() &&
           end > member.getOffset();
  }
  /// The parameter's index in a list of symbols, or -1.
  int64_t indexIn(ArrayAttr symbols) const;

  const Handles &handles;
  PartitionOp partition;
  MemberAttr member;
  FlatSymbolRefAttr symbol;
  StringAttr partitionName;

  int64_t position = 0;
  Table lines;
  bool hasLines = false;
  /// The parameter's values and gradients.
  DenseMap<Value, StringRef> values;
  /// What makes the gradient, by operation.
  llvm::DenseSet<Operation *> makers;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_PARAMETERLIFE_H
