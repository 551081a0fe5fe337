//===- FusedMoves.h - moves that kernels make unnecessary -------*- C++ -*-===//
#ifndef ZERO_KERNELS_FUSEDMOVES_H
#define ZERO_KERNELS_FUSEDMOVES_H

#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/SymbolTable.h"

#include "program/Program.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <vector>

namespace mlir::zero {

/// A kernel that reads parts of tensors, or writes its results as parts of
/// larger ones.
struct FusedKernel {
  Operation *op = nullptr;
  /// For each operand the tensor that it is a part of, or itself.
  SmallVector<Value> sources;
  /// The moves from these to the operands, and from results to `outputs`; in
  /// the order of the block.
  SmallVector<Operation *> before, after;
  /// The values that the fused kernel gives: results, or the tensors that they
  /// are parts of.
  SmallVector<Value> outputs;
};

/// A move that stays, and what keeps it from being fused: a kernel that does
/// not take strides, or a second one that makes a part of the result.
struct KeptMove {
  Operation *move = nullptr, *because = nullptr;
  bool isShared = false;
};

/// The moves of a block (`MoveOpInterface`) that need not happen, since the
/// kernels that read their results, or the one that makes their operands, take
/// strides: all readers, and of all operands.
class FusedMoves {
public:
  explicit FusedMoves(Block &block);

  /// In the order of the block.
  ArrayRef<FusedKernel> getKernels() const { return kernels; }
  /// Moves that some kernel that takes strides reads or makes operands of.
  ArrayRef<KeptMove> getKept() const { return kept; }

private:
  bool isRead(Value value, const TensorLayout &layout);
  bool isReadBy(OpOperand &use, const TensorLayout &layout);
  bool isMade(Value value, const TensorLayout &layout, Operation *&kernel);
  bool takes(Operation *op, size_t tensor, Value value,
             const TensorLayout &layout);
  void fuseReads(MoveOpInterface move);
  void fuseWrites(MoveOpInterface move);
  void markRead(Operation *move, Value source);
  void markMade(Value value);
  void note(Operation *move);
  void collect(Operation *op);
  const std::optional<zrt::KernelSpec> &specOf(Operation *op);

  SymbolTableCollection symbols;
  DenseMap<Operation *, std::optional<zrt::KernelSpec>> specs;
  DenseSet<Operation *> fused;
  /// The tensors of which results of fused moves, and views of them, are parts.
  DenseMap<Value, Value> sources;
  /// The tensors of which results of kernels are parts.
  DenseMap<Value, Value> targets;
  /// State of the question that is being answered: the operation that refused,
  /// and whether any operation agreed.
  Operation *refusing = nullptr;
  bool isTaken = false, isShared = false;
  std::vector<FusedKernel> kernels;
  SmallVector<KeptMove> kept;
};

} // namespace mlir::zero

#endif // ZERO_KERNELS_FUSEDMOVES_H
