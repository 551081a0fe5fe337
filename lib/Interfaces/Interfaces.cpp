//===- Interfaces.cpp - what zero asks of operations ----------------------===//

#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::zero;

int64_t mlir::zero::tensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

bool mlir::zero::haveSameLayout(Type a, Type b) {
  auto left = dyn_cast<RankedTensorType>(a);
  auto right = dyn_cast<RankedTensorType>(b);
  return left && right && left.getShape() == right.getShape() &&
         tensorBytes(a) == tensorBytes(b);
}

int64_t mlir::zero::tensorBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += tensorBytes(type);
  for (Type type : op->getResultTypes())
    bytes += tensorBytes(type);
  return bytes;
}

/// The integers that `attribute` stands for, or nothing.
static std::optional<SmallVector<int64_t>> toInts(Attribute attribute) {
  if (isa<UnitAttr>(attribute))
    return SmallVector<int64_t>{1};
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return SmallVector<int64_t>{flag.getValue()};
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return SmallVector<int64_t>{integer.getValue().getSExtValue()};
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return SmallVector<int64_t>(list.asArrayRef());
  return std::nullopt;
}

KernelDescription mlir::zero::describeByAttributes(Operation *op) {
  KernelDescription kernel;
  for (StringAttr name : op->getName().getAttributeNames()) {
    std::optional<Attribute> attribute = op->getInherentAttr(name);
    // How operands divide is known from the kernel's row.
    if (!attribute || !*attribute || name.getValue().ends_with("SegmentSizes"))
      continue;
    if (auto real = dyn_cast<FloatAttr>(*attribute)) {
      kernel.floats.emplace_back(name.str(), real.getValueAsDouble());
    } else if (auto ints = toInts(*attribute)) {
      kernel.ints.emplace_back(name.str(), *ints);
    } else {
      op->emitOpError("has the attribute '")
          << name.getValue() << "' of a kind that kernels do not take; "
          << "implement describeKernel of KernelOpInterface for it";
      return KernelDescription();
    }
  }
  kernel.name = op->getName().getStringRef().str();
  return kernel;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

TensorLayout mlir::zero::getDenseLayout(ArrayRef<int64_t> shape) {
  TensorLayout layout;
  layout.strides.assign(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    layout.strides[dim] = layout.strides[dim + 1] * shape[dim + 1];
  return layout;
}

bool mlir::zero::isDense(const TensorLayout &layout, ArrayRef<int64_t> shape) {
  TensorLayout dense = getDenseLayout(shape);
  for (auto [size, stride, wanted] :
       llvm::zip_equal(shape, layout.strides, dense.strides))
    if (size != 1 && stride != wanted)
      return false;
  return true;
}

namespace {
/// Neighbouring dimensions that one stride walks through.
struct Run {
  int64_t size, stride;
};
} // namespace

/// The fewest runs, without dimensions of one element.
static SmallVector<Run> toRuns(const TensorLayout &layout,
                               ArrayRef<int64_t> shape) {
  SmallVector<Run> runs;
  for (auto [size, stride] : llvm::zip_equal(shape, layout.strides)) {
    if (size == 1)
      continue;
    if (!runs.empty() && runs.back().stride == size * stride)
      runs.back() = {runs.back().size * size, stride};
    else
      runs.push_back({size, stride});
  }
  return runs;
}

std::optional<TensorLayout>
mlir::zero::reshapeLayout(const TensorLayout &layout, ArrayRef<int64_t> from,
                          ArrayRef<int64_t> to) {
  if (llvm::is_contained(from, 0) || llvm::is_contained(to, 0))
    return std::nullopt;
  SmallVector<Run> runs = toRuns(layout, from);
  TensorLayout result = getDenseLayout(to);
  result.offset = layout.offset;
  // From the last dimension on, each takes its part of a run.
  int64_t taken = 1;
  for (int64_t dim = static_cast<int64_t>(to.size()) - 1; dim >= 0; --dim) {
    if (to[dim] == 1)
      continue;
    if (runs.empty() || runs.back().size % (taken * to[dim]) != 0)
      return std::nullopt;
    result.strides[dim] = runs.back().stride * taken;
    taken *= to[dim];
    if (taken == runs.back().size) {
      runs.pop_back();
      taken = 1;
    }
  }
  if (!runs.empty())
    return std::nullopt;
  return result;
}

#include "zero/Interfaces/AccumulatingOpInterface.cpp.inc"
#include "zero/Interfaces/AddendOpInterface.cpp.inc"
#include "zero/Interfaces/BroadcastingOpInterface.cpp.inc"
#include "zero/Interfaces/CombinedOpInterface.cpp.inc"
#include "zero/Interfaces/CountedMeanOpInterface.cpp.inc"
#include "zero/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "zero/Interfaces/ElementwiseOpInterface.cpp.inc"
#include "zero/Interfaces/EpilogueOpInterface.cpp.inc"
#include "zero/Interfaces/FactorOpInterface.cpp.inc"
#include "zero/Interfaces/KernelOpInterface.cpp.inc"
#include "zero/Interfaces/MoveOpInterface.cpp.inc"
#include "zero/Interfaces/PaddableOpInterface.cpp.inc"
#include "zero/Interfaces/RangedOpInterface.cpp.inc"
#include "zero/Interfaces/RowBlockOpInterface.cpp.inc"
#include "zero/Interfaces/SharedOpInterface.cpp.inc"
