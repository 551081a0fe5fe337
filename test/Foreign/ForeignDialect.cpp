//===- ForeignDialect.cpp - a plugin with a dialect of its own ------------===//
//
// What the tools load: operations that say how they differentiate. Their
// kernels bear their names; the rows of those are in ForeignSchemas.cpp.
//
//===----------------------------------------------------------------------===//

#include "zero/Interfaces/Interfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"

#include "ForeignDialect.h.inc"

#define GET_OP_CLASSES
#include "Foreign.h.inc"

using namespace mlir;

#include "ForeignDialect.cpp.inc"

#define GET_OP_CLASSES
#include "Foreign.cpp.inc"

void foreign::ForeignDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Foreign.cpp.inc"
      >();
}

LogicalResult foreign::CubeOp::buildGradient(OpBuilder &builder,
                                             ArrayRef<Value> resultGradients,
                                             ArrayRef<bool> wanted,
                                             MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] =
        CubeGradOp::create(builder, getLoc(), getX().getType(),
                           resultGradients[0], getX(), getOffsetAttr());
  return success();
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Foreign", LLVM_VERSION_STRING,
          [](DialectRegistry *registry) {
            registry->insert<foreign::ForeignDialect>();
          }};
}
