//===- NN.h - the nn dialect ----------------------------------------------===//
#ifndef ZERO_DIALECT_NN_NN_H
#define ZERO_DIALECT_NN_NN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "zero/Interfaces/Interfaces.h"

#include "zero/Dialect/NN/NNDialect.h.inc"
#include "zero/Dialect/NN/NNEnums.h.inc"

#include "program/Enums.h"

namespace mlir::nn {
// `toRuntime` and `fromRuntime`: the only casts between the dialect's
// enumerations and those of programs.
#include "zero/Dialect/NN/RuntimeEnums.h.inc"
} // namespace mlir::nn

#define GET_ATTRDEF_CLASSES
#include "zero/Dialect/NN/NNAttrs.h.inc"

#define GET_OP_CLASSES
#include "zero/Dialect/NN/NNOps.h.inc"

namespace mlir::nn {

/// The element type of statistics (mean, rstd, lse, loss) of a computation on
/// `element`s: f64 for f64, else f32.
Type getStatisticType(Type element);

/// Gives the `tensor` operations that move data (concat, extract_slice,
/// insert_slice, pad, splat) their KernelOpInterface. Their offsets, sizes and
/// padding value must be constants; where they are not, describeKernel returns
/// a description with an empty name.
void registerUpstreamKernelModels(DialectRegistry &registry);

/// Gives reshapes, concatenations and slices of `tensor` their MoveOpInterface.
void registerUpstreamMoveModels(DialectRegistry &registry);

/// Gives operations of `tensor` that move elements, and those of `arith`
/// through which sums may be taken, their FactorOpInterface.
void registerUpstreamFactorModels(DialectRegistry &registry);

/// Gives reshapes and slices of `tensor`, and conversions of `arith`, their
/// PaddableOpInterface.
void registerUpstreamPaddingModels(DialectRegistry &registry);

} // namespace mlir::nn

#endif // ZERO_DIALECT_NN_NN_H
