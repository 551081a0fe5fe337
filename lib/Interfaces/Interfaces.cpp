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

#include "zero/Interfaces/AccumulatingOpInterface.cpp.inc"
#include "zero/Interfaces/BroadcastingOpInterface.cpp.inc"
#include "zero/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "zero/Interfaces/ElementwiseOpInterface.cpp.inc"
#include "zero/Interfaces/EpilogueOpInterface.cpp.inc"
#include "zero/Interfaces/KernelOpInterface.cpp.inc"
#include "zero/Interfaces/RowBlockOpInterface.cpp.inc"
#include "zero/Interfaces/StatisticsOpInterface.cpp.inc"
