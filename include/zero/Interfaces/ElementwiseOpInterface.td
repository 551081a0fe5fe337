//===- ElementwiseOpInterface.td - operations made of scalar arithmetic ---===//
#ifndef ZERO_INTERFACES_ELEMENTWISEOPINTERFACE_TD
#define ZERO_INTERFACES_ELEMENTWISEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that computes each element of its one result from the same
    element of its operands, and can say how in scalar `arith` and `math`
    operations. `zero-outline-elementwise` builds kernels from it. Upstream
    operations with the `Elementwise` trait do not need it.
  }];
  let methods = [InterfaceMethod<
    "Builds the scalar computation on f32 `scalars`, one an operand.",
    "::mlir::Value", "buildScalar",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
         "::mlir::ValueRange":$scalars)>];
}

#endif // ZERO_INTERFACES_ELEMENTWISEOPINTERFACE_TD
