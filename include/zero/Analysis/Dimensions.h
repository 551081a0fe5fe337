//===- Dimensions.h - which dimensions of a program go together -*- C++ -*-===//
//
// A dimension is a product of parts, outer to inner; a part is an atom, or
// dimensions one behind the other. Operations say through `getFactors` which
// dimensions are the same, so `[b*t, w]`, a joint projection `[q | k | v]` and
// heads `[h, d]` are refined until both sides of a reshape, split or
// concatenation agree. Atoms are unified by what operations say, never by size.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_DIMENSIONS_H
#define ZERO_ANALYSIS_DIMENSIONS_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Factors.h"

#include <deque>

namespace mlir::zero {

/// A dimension of one value or one factor: an index of `Dimensions`.
using DimensionId = unsigned;

/// The dimensions of all values of a block, refined.
class Dimensions {
public:
  /// An operation's factors, each with its dimension.
  struct Factored {
    zrt::Factors factors;
    SmallVector<DimensionId> dimensions;
    /// Dimensions of values that differ from those of the operation's factors,
    /// and those of the factors: the operation needs all of their indices.
    SmallVector<DimensionId> apart;
    /// Whether its values have the dimensions that the factors are of.
    bool agrees = true;
  };

  /// Finds the dimensions of a model that is cut over `ranks`: those of its
  /// values, and of the parameters that it loads. Dimensions that cannot be
  /// made one, such as a product and a concatenation, are left apart. So are a
  /// dimension that the ranks divide and segments of it that they do not, such
  /// as all positions but the last.
  Dimensions(StepOp model, int64_t ranks);

  /// Whether `op` was in the model when it was read.
  bool contains(Operation *op) const { return operations.contains(op); }
  const Factored &of(Operation *op) const {
    return operations.find(op)->second;
  }
  ArrayRef<DimensionId> of(Value value) const;
  /// The dimensions of a parameter, as its loads have them.
  ArrayRef<DimensionId> of(StringAttr parameter) const;

  /// The atom that stands for a class of dimensions: two are the same class
  /// where they have the same representative.
  DimensionId find(DimensionId id) const;
  int64_t sizeOf(DimensionId id) const { return nodes[find(id)].size; }
  /// The atoms that `id` consists of, each once.
  SmallVector<DimensionId> atomsOf(DimensionId id) const;
  bool contains(DimensionId id, DimensionId atom) const;
  /// Whether all of `id` is divided where `atom` is cut: each of its segments.
  bool isCutBy(DimensionId id, DimensionId atom) const;
  /// The part of `id` that one of `ranks` ranks has if `atom`, which cuts `id`,
  /// is cut: the pieces, one behind the other, `repeats` times.
  struct Pieces {
    int64_t repeats = 1;
    SmallVector<int64_t> sizes;
  };
  Pieces piecesOf(DimensionId id, DimensionId atom) const;

private:
  enum class Kind { Atom, Product, Concatenation };
  struct Node {
    Kind kind = Kind::Atom;
    int64_t size = 0;
    SmallVector<DimensionId> children;
    std::optional<DimensionId> parent;
  };

  DimensionId make(Kind kind, int64_t size,
                   ArrayRef<DimensionId> children = {});
  DimensionId multiply(ArrayRef<DimensionId> parts);
  DimensionId concatenate(ArrayRef<DimensionId> segments);
  DimensionId convert(const zrt::FactoredDim &dim,
                      ArrayRef<DimensionId> factors);
  void flatten(DimensionId id, Kind kind,
               std::deque<DimensionId> &children) const;
  void add(Operation *op);
  void addTensors(ValueRange values, ArrayRef<zrt::FactoredTensor> tensors,
                  Factored &factored);
  bool dividesSegments(DimensionId whole, ArrayRef<DimensionId> segments) const;
  bool unify(DimensionId a, DimensionId b);
  bool refine(DimensionId larger, DimensionId smaller, Kind kind,
              std::deque<DimensionId> &rest);
  SmallVector<DimensionId> makeAtoms(Type type);

  int64_t ranks;
  SmallVector<Node> nodes;
  DenseMap<Value, SmallVector<DimensionId>> values;
  DenseMap<StringAttr, SmallVector<DimensionId>> parameters;
  DenseMap<Operation *, Factored> operations;
};

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_DIMENSIONS_H
