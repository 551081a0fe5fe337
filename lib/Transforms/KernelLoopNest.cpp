//===- KernelLoopNest.cpp - the loops and buffers of a kernel -------------===//

#include "KernelLoopNest.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;

void LoopNest::collapse() {
  SmallVector<int64_t> sizes;
  SmallVector<SmallVector<unsigned>> kept(buffers.size());
  std::optional<unsigned> previous;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] == 1)
      continue;
    bool merges = previous && llvm::all_of(buffers, [&](const Buffer &buffer) {
                    return llvm::is_contained(buffer.dims, dim) ==
                           llvm::is_contained(buffer.dims, *previous);
                  });
    previous = dim;
    if (merges) {
      sizes.back() *= shape[dim];
      continue;
    }
    for (auto [buffer, dims] : llvm::zip(buffers, kept))
      if (llvm::is_contained(buffer.dims, dim))
        dims.push_back(sizes.size());
    sizes.push_back(shape[dim]);
  }
  shape = sizes;
  for (auto [buffer, dims] : llvm::zip(buffers, kept))
    buffer.dims = dims;
}

Type mlir::zero::memoryType(Type type) {
  if (type.isInteger(1))
    return IntegerType::get(type.getContext(), 8);
  if (type.isBF16() || type.isF16())
    return IntegerType::get(type.getContext(), 16);
  return type;
}

unsigned mlir::zero::memoryBytes(Type type) {
  return memoryType(type).getIntOrFloatBitWidth() / 8;
}

FailureOr<linalg::GenericOp>
mlir::zero::findKernelGeneric(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("kernel wants one block");
  linalg::GenericOp generic;
  for (Operation &op : kernel.getBody().front()) {
    if (isa<tensor::EmptyOp, func::ReturnOp>(op))
      continue;
    if (generic || !isa<linalg::GenericOp>(op))
      return op.emitOpError("kernel wants one linalg.generic and no more");
    generic = cast<linalg::GenericOp>(op);
  }
  auto last = cast<func::ReturnOp>(kernel.getBody().front().getTerminator());
  if (!generic || !llvm::equal(last.getOperands(), generic.getResults()) ||
      !llvm::equal(kernel.getArguments(), generic.getDpsInputs()))
    return kernel.emitOpError("kernel wants one linalg.generic that takes the "
                              "arguments and gives the results, in order");
  return generic;
}

static bool isSupported(Type type) {
  return type.isBF16() || type.isF16() || type.isF32() || type.isF64() ||
         type.isInteger(1) || type.isInteger(8) || type.isInteger(16) ||
         type.isInteger(32) || type.isInteger(64);
}

FailureOr<LoopNest> mlir::zero::readLoopNest(linalg::GenericOp generic) {
  LoopNest nest;
  nest.shape = generic.getStaticLoopRanges();
  if (llvm::any_of(nest.shape, ShapedType::isDynamic) ||
      generic.getNumParallelLoops() != generic.getNumLoops())
    return generic.emitOpError("kernel wants static, parallel loops only");
  unsigned inputs = generic.getNumDpsInputs();
  for (OpOperand &operand : generic->getOpOperands()) {
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    Buffer buffer{getElementTypeOrSelf(operand.get()), {}, nullptr};
    if (!isSupported(buffer.elementType))
      return generic.emitOpError("kernel has no code for elements of type ")
             << buffer.elementType << "; wanted f32, f16, bf16, f64 or an "
             << "integer of 1, 8, 16, 32 or 64 bits";
    bool increasing = map.isProjectedPermutation();
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      increasing &= dim && (buffer.dims.empty() ||
                            buffer.dims.back() < dim.getPosition());
      if (dim)
        buffer.dims.push_back(dim.getPosition());
    }
    bool isResult = operand.getOperandNumber() >= inputs;
    if (!increasing || (isResult && !map.isIdentity()))
      return generic.emitOpError("kernel buffer ")
             << operand.getOperandNumber() << " is accessed by "
             << AffineMapAttr::get(map) << "; wanted "
             << (isResult ? "the identity" : "increasing dims");
    nest.buffers.push_back(buffer);
  }
  nest.collapse();
  return nest;
}
