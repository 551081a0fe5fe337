//===- Sharding.h - what an axis cuts of a model ----------------*- C++ -*-===//
//
// Which classes of dimensions the ranks of an axis share, so that each of them
// computes a part of the model. It follows from what operations say of their
// factors. Over `tensor` a class of parameters is cut where its work is worth
// what must be sent for it. Over `sequence` the positions of the input are, and
// operations that need all of them are cut along another class. The answer
// depends on the model and on the size of the axis, and on no machine.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_SHARDING_H
#define ZERO_ANALYSIS_SHARDING_H

#include "zero/Analysis/Dimensions.h"
#include "zero/Analysis/Mesh.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::zero {

/// The values of `model` of which a gradient is wanted: floats that follow from
/// what is trained.
DenseSet<Value> findTrainedValues(StepOp model);

/// The input of `model` whose second dimension are the positions: `input_ids`,
/// or the first one of integers that has two dimensions.
std::optional<unsigned> findInputOfPositions(StepOp model);

/// The gain and the costs of cutting a class of dimensions over an axis, in the
/// forward and backward pass of a micro-batch.
struct CutCost {
  DimensionId atom = 0;
  int64_t size = 0;
  /// Operations that each rank is spared.
  double savedFlops = 0;
  /// Bytes of parameters, gradients and optimizer states that each rank is
  /// spared.
  double savedState = 0;
  /// Bytes that each rank sends.
  double bytes = 0;
  /// Whether the model says that it is cut, whatever it is worth.
  bool isForced = false;
};

class Sharding {
public:
  /// Decides about `model`, a step before differentiation, on the ranks of
  /// `over`. With `cutsRows` ranks have parts of the rows of values between cut
  /// operations, instead of all rows. `copies` are values that repeat shared
  /// indices, of which there are fewer than ranks.
  Sharding(StepOp model, AxesAttr over, bool cutsRows = false,
           ArrayRef<Value> copies = {});

  AxesAttr getOver() const { return over; }
  /// Whether positions are cut, and no parameters.
  bool isOfSequence() const { return cutsPositions(over); }
  /// Reports a class that is to be cut, and that the axis does not divide.
  LogicalResult verify() const;

  /// How `op`, which is cut, reads or gives `value`; null: whole.
  CutAttr cutOf(Value value, Operation *op) const;
  /// How a parameter is cut; null: every rank of the axis has it.
  CutAttr cutOf(ParameterOp parameter) const;
  /// Why an axis `tensor` leaves a parameter whole.
  enum class WholeReason {
    Said,     ///< the model says so
    Needed,   ///< it cannot be cut, or operations need all of what it has
    Cheap,    ///< what would be sent is worth more than what it spares
    Excluded, ///< another class is cut where it is
  };
  /// The reason why `parameter`, which is not cut, is whole.
  WholeReason whyWhole(ParameterOp parameter) const;
  /// Whether ranks compute parts of `op`: each of its results is cut, the same
  /// on all of them, or where `isSum` the term of a sum.
  bool isCut(Operation *op) const { return cutOperations.contains(op); }
  bool isSum(Operation *op) const { return cutOperations.lookup(op).isSum; }
  /// Whether each rank has a range of a combined factor of `op`, and how many
  /// indices all of it has.
  bool isCombined(Operation *op) const {
    return cutOperations.lookup(op).isCombined;
  }
  int64_t wholeSizeOf(Operation *op) const;
  /// The size of a factor on one rank.
  int64_t partOf(Operation *op, size_t factor) const;
  /// Whether the model had `op`; the others are what it was rewritten to.
  bool isOfModel(Operation *op) const { return dimensions.contains(op); }
  const zrt::Factors &factorsOf(Operation *op) const {
    return dimensions.of(op).factors;
  }
  /// Whether ranks compute parts of the rows of `op`, which nothing else cuts.
  bool isOfRows(Operation *op) const { return rowOperations.contains(op); }
  size_t countOfRows() const { return rowOperations.size(); }
  /// How the rows of `value` are cut; null: it has none, or none are cut.
  CutAttr rowsOf(Value value) const {
    return rows ? makeCut(dimensions.of(value), *rows) : CutAttr();
  }
  /// Operations on positions that each rank computes whole, because they can
  /// be cut along nothing.
  ArrayRef<Operation *> getWhole() const { return whole; }
  /// A dimension of an operand, and how many indices that stay together.
  struct OtherDim {
    unsigned operand = 0, dim = 0;
    int64_t size = 0;
    /// Whether each rank would need exactly one of them, because another axis
    /// has parts of parameters.
    bool isOneEach = false;
  };
  /// The dimension along which an operation that stays whole could be cut if
  /// there were fewer ranks; nothing if there is none.
  std::optional<OtherDim> findIndivisible(Operation *op) const;
  /// Whether a gradient of `value` is wanted.
  bool isTrained(Value value) const { return trained.contains(value); }

private:
  struct OperationCut {
    DimensionId atom = 0;
    bool isSum = false;
    bool isCombined = false;
  };
  std::optional<OperationCut> findCut(Operation *op, DimensionId atom) const;
  std::optional<zrt::FactorKind> findKind(Operation *op,
                                          DimensionId atom) const;
  bool canCombine(Operation *op, DimensionId dim, DimensionId atom) const;
  bool fitsOperands(Operation *op, DimensionId atom) const;
  bool fitsResults(Operation *op, const OperationCut &cut) const;
  bool isOfResults(Operation *op, DimensionId atom) const;
  SmallVector<DimensionId> findRefused() const;
  bool mayCut(ParameterOp parameter, DimensionId atom) const;
  std::optional<unsigned> findDimension(ArrayRef<DimensionId> dims,
                                        DimensionId atom) const;
  CutAttr makeCut(ArrayRef<DimensionId> dims, DimensionId atom) const;
  ArrayRef<Operation *> usesOf(DimensionId atom) const {
    auto found = uses.find(atom);
    return found == uses.end() ? ArrayRef<Operation *>()
                               : ArrayRef<Operation *>(found->second);
  }

  ArrayRef<ParameterOp> ownersOf(DimensionId atom) const {
    auto found = owners.find(atom);
    return found == owners.end() ? ArrayRef<ParameterOp>()
                                 : ArrayRef<ParameterOp>(found->second);
  }
  llvm::SetVector<DimensionId> atomsOf(ParameterOp parameter) const;

  void collect();
  bool isOneEachAndGathered(DimensionId atom) const;
  bool isOfInput(DimensionId atom) const;
  SmallVector<CutCost> findCandidates() const;
  std::optional<CutCost> findForced(ParameterOp parameter) const;
  LogicalResult verifyForced() const;
  CutCost price(DimensionId atom) const;
  bool excludes(DimensionId atom) const;
  void takeBest(ArrayRef<CutCost> candidates);
  void choose();
  void moveData();
  void take(const CutCost &cost);

  void cutRows();
  SmallVector<Operation *> findRowOperations(DimensionId atom) const;
  bool sparesRows(Operation *op, DimensionId atom, double share) const;
  bool isGathered(Operation *op, const DenseSet<Operation *> &found) const;
  void addFeeding(DimensionId atom, llvm::SetVector<Operation *> &found) const;

  LogicalResult verifyPositions() const;
  std::optional<DimensionId> findPositions();
  void cutPositions();
  bool hasPositions(ValueRange values) const;
  bool canGo(Operation *op, DimensionId atom) const;
  bool hasParts(Operation *op, DimensionId atom) const;
  bool fitsRanks(DimensionId atom) const;
  std::optional<DimensionId> findStay(Operation *op) const;
  std::optional<DimensionId> findOther(Operation *op) const;
  std::optional<OperationCut> findBest(Operation *op) const;
  void cutAlong(Operation *op, const OperationCut &cut);
  void cutRepeated(Operation *op);

  StepOp model;
  Block *body;
  AxesAttr over;
  Dimensions dimensions;
  SmallVector<ParameterOp> parameters;
  DenseSet<Value> trained;
  /// The operations that a class occurs in, in program order.
  DenseMap<DimensionId, SmallVector<Operation *>> uses;
  /// The parameters that have a class, in their order.
  DenseMap<DimensionId, SmallVector<ParameterOp>> owners;
  DenseMap<StringAttr, SmallVector<LoadOp, 1>> loads;
  SmallVector<CutCost> taken;
  /// The place of a class in `taken`.
  DenseMap<DimensionId, size_t> takenAs;
  DenseSet<DimensionId> refused, candidates;
  DenseSet<Operation *> copying;
  /// The classes in `taken` that occur in an operation.
  DenseMap<Operation *, SmallVector<DimensionId, 2>> takenAt;
  DenseMap<Operation *, OperationCut> cutOperations;

  /// The class of the rows between cut operations, and the operations that
  /// compute parts of them.
  std::optional<DimensionId> rows;
  DenseSet<Operation *> rowOperations;

  /// Over `sequence`: the class of the positions, the classes of the samples,
  /// and along which class the parts of values are.
  std::optional<DimensionId> positions;
  /// Whether another axis has parts of parameters.
  bool isBesideParts = false;
  SmallVector<DimensionId> samples;
  DenseMap<Value, DimensionId> along;
  SmallVector<Operation *> whole;
};

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_SHARDING_H
