//===- ExpertSharding.h - what an axis cuts of experts ----------*- C++ -*-===//
//
// Each rank of an axis `expert` has samples of its own and some of the experts.
// Where rows are sorted by experts, a rank sorts those of all ranks, of which
// it keeps the ones that its experts are to compute; what follows is computed
// of these and of its part of the experts' matrices, until rows come back: then
// the ranks' results are terms, and each rank gets the sum of those of its
// rows.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_EXPERTSHARDING_H
#define ZERO_ANALYSIS_EXPERTSHARDING_H

#include "zero/Analysis/Dimensions.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::zero {

class ExpertSharding {
public:
  /// The role of an operation on the ranks of the experts.
  enum class Role {
    Own,     ///< each rank computes it, of its own samples
    Sorts,   ///< each rank sorts the rows of all, for its range of experts
    Between, ///< it computes of such rows, or of a rank's matrices
    Returns, ///< it brings rows back, and the ranks' results are terms
  };

  /// Decides about `model`, a step before differentiation, on the ranks of
  /// `over`.
  ExpertSharding(StepOp model, AxesAttr over);

  AxesAttr getOver() const { return over; }
  /// Reports experts that the ranks do not divide, and what cannot be computed
  /// of some of them; and, where experts `isNeeded`, that there are none.
  LogicalResult verify(bool isNeeded) const;

  Role roleOf(Operation *op) const { return roles.lookup(op); }
  const zrt::Factors &factorsOf(Operation *op) const {
    return dimensions.of(op).factors;
  }
  /// How many experts an operation that sorts has.
  int64_t countExperts(Operation *op) const;
  /// The size of a factor of an operation between: of all ranks' rows, and of a
  /// rank's experts.
  int64_t sizeOf(Operation *op, size_t factor) const;
  /// The type that a value between has on one rank.
  RankedTensorType typeOf(Value value) const;
  /// How a parameter is cut; null: every rank has it.
  CutAttr cutOf(ParameterOp parameter) const;
  /// Whether a value follows from a rank's samples.
  bool isOfSamples(Value value) const { return ofSamples.contains(value); }
  /// Whether a gradient of `value` is wanted.
  bool isTrained(Value value) const { return trained.contains(value); }

private:
  void findSorts();
  void findRoles();
  bool hasRows(DimensionId dim) const;
  bool hasExperts(DimensionId dim) const;
  bool isInside(ValueRange values) const;
  int64_t scaled(DimensionId dim) const;
  LogicalResult verifySort(Operation *op) const;
  bool returnsByPlaces(Operation *op) const;
  LogicalResult verifyFactors(Operation *op) const;
  LogicalResult verifyOperands(Operation *op) const;
  LogicalResult verifyParameters() const;

  StepOp model;
  Block *body;
  AxesAttr over;
  Dimensions dimensions;
  llvm::SetVector<DimensionId> rows, experts;
  DenseMap<Operation *, Role> roles;
  DenseSet<Value> ofSamples, trained;
};

/// Reports that the ranks of `over` do not divide the experts of `op`.
LogicalResult verifyExperts(Operation *op, int64_t experts, AxesAttr over);
/// Reports `op`, of which a rank cannot compute some experts.
LogicalResult reportNeedsAll(Operation *op, AxesAttr over);
/// Reports a parameter that cannot be cut over `over`, though it has experts.
LogicalResult verifyHasCut(ParameterOp parameter, AxesAttr over,
                           bool isCutTwice = false);

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_EXPERTSHARDING_H
