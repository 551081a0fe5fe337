//===- DifferentiableOpInterface.td - how an operation differentiates -----===//
#ifndef ZERO_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define ZERO_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that can build its reverse-mode gradient.

    `zero-differentiate` visits operations in reverse order and asks each one
    for the gradients of its operands, given those of its results. An operation
    without this interface, on the way from a parameter to the loss, is an
    error at that operation: never a silent zero.
  }];
  let methods = [InterfaceMethod<[{
      Builds the gradients of the operands.

      `resultGradients` has one entry a result, of the result's type; null
      stands for zero. `wanted` has one entry an operand: where it is false no
      gradient is needed and none should be built. The method writes the wanted
      gradients, each of its operand's type, to `operandGradients`; null stays
      for zero. It may use the operation's operands and results, and builds at
      the builder's insertion point.
    }],
    "::llvm::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::ArrayRef<::mlir::Value>":$resultGradients,
         "::llvm::ArrayRef<bool>":$wanted,
         "::llvm::MutableArrayRef<::mlir::Value>":$operandGradients)>];
}

#endif // ZERO_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
