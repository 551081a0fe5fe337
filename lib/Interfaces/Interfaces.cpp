//===- Interfaces.cpp - what zero asks of operations ----------------------===//

#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

int64_t mlir::zero::tensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

int64_t mlir::zero::tensorBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += tensorBytes(type);
  for (Type type : op->getResultTypes())
    bytes += tensorBytes(type);
  return bytes;
}

#include "zero/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "zero/Interfaces/ElementwiseOpInterface.cpp.inc"
#include "zero/Interfaces/KernelOpInterface.cpp.inc"
#include "zero/Interfaces/RowBlockOpInterface.cpp.inc"
#include "zero/Interfaces/StatisticsOpInterface.cpp.inc"
