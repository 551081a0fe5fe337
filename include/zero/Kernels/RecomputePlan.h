//===- RecomputePlan.h - what to keep of a span of the forward --*- C++ -*-===//
#ifndef ZERO_KERNELS_RECOMPUTEPLAN_H
#define ZERO_KERNELS_RECOMPUTEPLAN_H

#include "zero/Config/Config.h"
#include "zero/Dialect/Zero/Zero.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::zero {

/// The most operations per byte, by KernelOpInterface, of an operation that
/// `RecomputePolicy::Cheap` computes a second time. Normalisations, activations
/// and sums have a few operations a byte; products of sizes that fill a machine
/// have hundreds.
constexpr double kCheapFlopsPerByte = 16;

/// Chooses, for a span of the forward of a micro-batch, what to keep until the
/// backward, such that all else that the backward needs of the span can be
/// computed from it, and that the bytes kept are fewest: a minimum cut of the
/// span's dataflow. Among equals, the choice that recomputes least.
///
/// Values that are kept anyway cost nothing: inputs of the step, values made
/// before the span that the backward reads, and values of the span that both
/// the forward after it and the backward read.
class RecomputePlan {
public:
  /// `span`: consecutive operations of the forward. `seed`: the block's
  /// `zero.loss_seed`; the backward is from there on.
  RecomputePlan(ArrayRef<Operation *> span, Operation *seed,
                RecomputePolicy policy);

  /// Whether the value with this root is computed again.
  bool isRecomputed(Value root) const { return recomputed.contains(root); }
  bool empty() const { return recomputed.empty(); }
  /// Whether `op` of the span has no effects and reads tensors, so that a copy
  /// of it computes the same at another place.
  bool mayRecompute(Operation *op) const;

private:
  /// The readers of a value, through all its views.
  struct Readers {
    bool backward = false;
    /// An operation of the forward outside of the span.
    bool forward = false;
  };

  Readers findReaders(Value root) const;
  void collectRecomputed(ArrayRef<Value> needed,
                         const llvm::DenseSet<Value> &kept);

  Operation *seed;
  RecomputePolicy policy;
  DenseSet<Operation *> inside;
  DenseSet<Value> recomputed;
};

/// Kernels, what they compute and what they move, in bytes read and written.
/// `products` are the operations of matrix products and attention alone.
struct KernelWork {
  int64_t kernels = 0, flops = 0, bytes = 0, products = 0;

  KernelWork &operator+=(const KernelWork &other) {
    kernels += other.kernels;
    flops += other.flops;
    bytes += other.bytes;
    products += other.products;
    return *this;
  }
};

/// The kernels of `micro` that depend on a `zero.recompute` and not on the
/// gradient of the loss.
KernelWork measureRecomputation(Block &micro);

/// All kernels of `micro`.
KernelWork measureWork(Block &micro);

} // namespace mlir::zero

#endif // ZERO_KERNELS_RECOMPUTEPLAN_H
