//===- PlaceSharding.h - what an axis cuts of experts' places ---*- C++ -*-===//
//
// Each rank of an axis `expert` has samples of its own and some of the experts.
// Where each expert has as many places for rows, a rank fills those of all
// experts with its own rows, and sends them to the ranks of the experts. What
// is computed place by place is computed there, of the places of all ranks and
// of a rank's part of the experts' matrices, and sent back for all else that
// reads it.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_PLACESHARDING_H
#define ZERO_ANALYSIS_PLACESHARDING_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Factors.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zero {

class PlaceSharding {
public:
  /// The dimensions of a value that has the places of all experts; one
  /// dimension where experts are its outer part and the places of each the
  /// inner one.
  struct Places {
    int64_t expertDim, placeDim;
    int64_t experts, capacity;
    bool isFlat() const { return expertDim == placeDim; }
  };

  /// Decides about `model`, a step before differentiation, on the ranks of
  /// `over`.
  PlaceSharding(StepOp model, AxesAttr over);

  AxesAttr getOver() const { return over; }
  /// Whether no operation gives rows places.
  bool isEmpty() const { return fills.empty(); }
  /// Reports experts that the ranks do not divide, and what cannot be computed
  /// of some of them.
  LogicalResult verify() const;

  /// Whether the ranks of the experts compute an operation, or it is of their
  /// matrices.
  bool isMoved(Operation *op) const { return moved.contains(op); }
  /// The places of `value`; nothing if it has none.
  std::optional<Places> placesOf(Value value) const;
  /// The factors of an operation that is moved, and the size of one on one
  /// rank.
  const zrt::Factors &factorsOf(Operation *op) const {
    return moved.find(op)->second.factors;
  }
  int64_t sizeOf(Operation *op, size_t factor) const;
  /// The type on one rank of what is loaded, of an operand of an operation that
  /// is moved, and of a result.
  RankedTensorType typeOf(LoadOp load) const;
  RankedTensorType typeOfOperand(Operation *op, unsigned operand) const;
  RankedTensorType typeOf(OpResult result) const;
  /// How a parameter is cut; null: every rank has it.
  CutAttr cutOf(ParameterOp parameter) const;

private:
  /// The factors of an operation that are experts and their places, or one that
  /// is both. What is computed of parameters may lack one of them.
  struct PlaceFactors {
    std::optional<size_t> experts, places;
    bool operator==(const PlaceFactors &other) const {
      return experts == other.experts && places == other.places;
    }
  };
  /// The dimensions of experts and places of a value that is computed from
  /// parameters, and whether any of these parameters is cut. The value is the
  /// same for all places.
  struct Matrix {
    std::optional<int64_t> expertDim, placeDim;
    bool isCut = false;
  };
  struct Moved {
    PlaceFactors cut;
    zrt::Factors factors;
  };
  using Matrices = llvm::SmallMapVector<Value, Matrix, 4>;

  void findFills(Operation *op);
  void visit(Operation *op);
  static std::optional<PlaceFactors>
  findFactors(const zrt::Factors &factors, const zrt::FactoredTensor &tensor,
              const Places &places);
  static std::optional<Places> findPlaces(const zrt::FactoredTensor &tensor,
                                          const PlaceFactors &factors,
                                          const Places &places);
  bool computesByPlace(Operation *op, const zrt::Factors &factors,
                       const PlaceFactors &cut, Matrices &matrices) const;
  bool fitsOperand(Value operand, const zrt::FactoredTensor &tensor,
                   const PlaceFactors &cut, Matrices &matrices) const;
  bool findMatrices(Value value, Matrix wanted, Matrices &found) const;
  bool isCut(Value value, const Matrices &found) const;
  void addMatrices(const Matrices &found);
  RankedTensorType typeOf(Operation *op, Value value,
                          const zrt::FactoredTensor &tensor) const;
  LogicalResult verifyMatrices(Operation *op) const;

  StepOp model;
  AxesAttr over;
  DenseSet<Value> ofSamples;
  SmallVector<Operation *> fills;
  /// The places of values, and the operation that has filled them.
  DenseMap<Value, std::pair<Places, Operation *>> placed;
  DenseMap<Value, Matrix> matrices;
  DenseMap<Operation *, Moved> moved;
  DenseMap<StringAttr, int64_t> parameters;
  /// The operations that fill places of rows which are multiplied by such
  /// matrices.
  DenseSet<Operation *> used;
};

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_PLACESHARDING_H
