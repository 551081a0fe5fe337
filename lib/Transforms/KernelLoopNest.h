//===- KernelLoopNest.h - the loops and buffers of a kernel ---------------===//
#ifndef ZERO_LIB_TRANSFORMS_KERNELLOOPNEST_H
#define ZERO_LIB_TRANSFORMS_KERNELLOOPNEST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::zero {

/// One buffer of the kernel: an input or a result of the generic.
struct Buffer {
  Type elementType;
  /// Loop dimensions that the buffer has, increasing; of the collapsed space
  /// once `LoopNest::collapse` ran.
  SmallVector<unsigned> dims;
  Value pointer;
};

/// The loop space of a kernel, with neighbouring dimensions merged wherever
/// every buffer has both or neither: [4, 256, 8] with a buffer over dimension
/// 2 becomes [1024, 8]; with full buffers only, [8192].
struct LoopNest {
  SmallVector<int64_t> shape;
  SmallVector<Buffer> buffers;

  int64_t elements() const {
    int64_t product = 1;
    for (int64_t size : shape)
      product *= size;
    return product;
  }
  int64_t inner() const { return shape.empty() ? 1 : shape.back(); }
  bool isFull(const Buffer &buffer) const {
    return buffer.dims.size() == shape.size();
  }
  /// Whether consecutive elements of the innermost loop lie side by side.
  bool isContiguous(const Buffer &buffer) const {
    return !shape.empty() && llvm::is_contained(buffer.dims, shape.size() - 1);
  }

  void collapse();
};

/// The generic that `kernel` is made of: returned as it is, nothing else there.
FailureOr<linalg::GenericOp> findKernelGeneric(func::FuncOp kernel);

/// Reads the loop space of `generic`, or says why it has no vector form.
FailureOr<LoopNest> readLoopNest(linalg::GenericOp generic);

/// The type that an element has in memory: 16-bit floats travel as integers,
/// since masked moves of them are native where those of bf16 are not; a truth
/// value takes a byte.
Type memoryType(Type type);
unsigned memoryBytes(Type type);

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_KERNELLOOPNEST_H
