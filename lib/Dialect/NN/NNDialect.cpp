//===- NNDialect.cpp - the nn dialect -------------------------------------===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Interfaces/KernelSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::nn;

#include "zero/Dialect/NN/NNDialect.cpp.inc"
#include "zero/Dialect/NN/NNEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "zero/Dialect/NN/NNAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "zero/Dialect/NN/NNOps.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "zero/Dialect/NN/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "zero/Dialect/NN/NNOps.cpp.inc"
      >();
}

Type mlir::nn::getStatisticType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}
