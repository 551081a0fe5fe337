//===- Interfaces.h - what zero asks of operations ------------------------===//
//
// The interfaces that keep ZeRO and compute apart: passes see parameters,
// uses, gradients and order; what an operation computes is asked through these.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_INTERFACES_INTERFACES_H
#define ZERO_INTERFACES_INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "program/Factors.h"

#include <optional>
#include <string>
#include <utility>

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::zero {

/// The kernel that computes an operation.
struct KernelDescription {
  std::string name;
  SmallVector<std::pair<std::string, SmallVector<int64_t>>> ints;
  SmallVector<std::pair<std::string, double>> floats;
  /// Generated function, for kernels named "launch".
  std::string symbol;
  /// Floating-point operations, and bytes read and written, where the row of
  /// the kernel's name does not say them.
  std::optional<int64_t> flops, bytes;
};

/// The kernel of the name of `op`, with its inherent attributes: booleans and
/// unit attributes as 0 or 1, integers, lists of them, and floats. An attribute
/// of another kind is an error at `op`, and gives a description without a name.
KernelDescription describeByAttributes(Operation *op);

/// The operation may stay f32 between the network and the loss; see Traits.td.
template <typename ConcreteType>
class CheapInFloat32 : public OpTrait::TraitBase<ConcreteType, CheapInFloat32> {
};

/// Results are sums of elements; see Traits.td.
template <typename ConcreteType>
class AddsUp : public OpTrait::TraitBase<ConcreteType, AddsUp> {};

/// A result may lie where an operand was; see Traits.td.
template <typename ConcreteType>
class OverwritesOperands
    : public OpTrait::TraitBase<ConcreteType, OverwritesOperands> {};

/// How a tensor lies in memory, in elements: where its first one is, and how
/// far it is from one index of a dimension to the next.
struct TensorLayout {
  int64_t offset = 0;
  SmallVector<int64_t> strides;
};

/// Row-major, one element after the other.
TensorLayout getDenseLayout(ArrayRef<int64_t> shape);

/// Whether elements of a tensor of that shape lie row-major, one after the
/// other.
bool isDense(const TensorLayout &layout, ArrayRef<int64_t> shape);

/// The layout of the same elements, in the same order, as another shape;
/// nothing where no strides say it.
std::optional<TensorLayout> reshapeLayout(const TensorLayout &layout,
                                          ArrayRef<int64_t> from,
                                          ArrayRef<int64_t> to);

/// A dimension of a value.
struct PaddedDim {
  Value value;
  int64_t dim;
};

/// The dimensions that are padded as well if the operand is padded along `dim`:
/// all that are the factor of that dimension. Nothing if the factor is not
/// parallel, shares a dimension with others, or is in no result.
std::optional<SmallVector<PaddedDim>> findPadded(Operation *op,
                                                 unsigned operand, int64_t dim);

/// Whether factors tell how a block of rows of the result is built: an
/// attribute gives a range of them, or they are parallel, and first wherever
/// they are.
bool tellsRowBlocks(Operation *op, unsigned result);

/// Builds rows [begin, end) of a result for which tellsRowBlocks() holds, by a
/// copy of `op`; `rowsOf` gives the same rows of an operand.
Value buildToldRowBlock(Operation *op, OpBuilder &builder, unsigned result,
                        int64_t begin, int64_t end,
                        llvm::function_ref<Value(unsigned)> rowsOf);

/// The elements of `values`, integers, that are not `ignored`; null: none.
struct CountedElements {
  Value values;
  int64_t ignored = 0;
};

/// The range of a combined factor that one rank of a group computes, and what
/// it can do with the others; see CombinedOpInterface.td.
class RankRange {
public:
  virtual ~RankRange() = default;
  /// Indices in the whole, and in the range of each rank.
  virtual int64_t getWholeSize() const = 0;
  virtual int64_t getSize() const = 0;
  /// The dimension of an operand that the range is of; -1 where it has none.
  virtual int64_t getDim(unsigned operand) const = 0;
  /// The first index of this rank's range, as a tensor<i32>.
  virtual Value getFirst() = 0;
  /// The sum of the terms of all ranks.
  virtual Value sum(Value term) = 0;
  /// The values of the ranks, in their order along a new last dimension.
  virtual Value gather(Value value) = 0;
  /// The values of the ranks along `dim`, of which each rank has one index.
  virtual Value gatherAlong(Value value, int64_t dim) = 0;
};

/// Bytes of all tensor operands and results of `op`.
int64_t tensorBytes(Operation *op);

/// Bytes of a ranked static tensor, dense and row-major; `i1` takes a byte.
int64_t tensorBytes(Type type);

/// Whether `a` and `b` have elements of the same width at the same indices, so
/// that an element of the one lies where that of the other does.
bool haveSameLayout(Type a, Type b);

} // namespace mlir::zero

#include "zero/Interfaces/AccumulatingOpInterface.h.inc"
#include "zero/Interfaces/AddendOpInterface.h.inc"
#include "zero/Interfaces/BroadcastingOpInterface.h.inc"
#include "zero/Interfaces/CombinedOpInterface.h.inc"
#include "zero/Interfaces/CountedMeanOpInterface.h.inc"
#include "zero/Interfaces/DifferentiableOpInterface.h.inc"
#include "zero/Interfaces/ElementwiseOpInterface.h.inc"
#include "zero/Interfaces/EpilogueOpInterface.h.inc"
#include "zero/Interfaces/FactorOpInterface.h.inc"
#include "zero/Interfaces/KernelOpInterface.h.inc"
#include "zero/Interfaces/MoveOpInterface.h.inc"
#include "zero/Interfaces/PaddableOpInterface.h.inc"
#include "zero/Interfaces/RangedOpInterface.h.inc"
#include "zero/Interfaces/RowBlockOpInterface.h.inc"
#include "zero/Interfaces/SharedOpInterface.h.inc"

#endif // ZERO_INTERFACES_INTERFACES_H
