//===- AddendOpInterface.td - does an addition beside its own work --------===//
#ifndef ZERO_INTERFACES_ADDENDOPINTERFACE_TD
#define ZERO_INTERFACES_ADDENDOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def AddendOpInterface : OpInterface<"AddendOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation of which a kernel exists that also does the addition before it,
    or the one after it, while the sum is in registers.

    `zero-fuse-additions` asks all of them.
  }];
  let methods = [
    InterfaceMethod<[{
      The value at which the fused kernel adds: an operand, which two addends
      then replace, or the result, to which one addend is added. Each addend has
      the value's type. Null if no kernel exists for these types.
    }],
    "::mlir::Value", "getSummed">,
    InterfaceMethod<[{
      Creates the fused operation. If `getSummed` is an operand, `addends` are
      the two values whose sum it is, and the sum becomes the last result; if it
      is the result, `addends` is the one value to add. The other results keep
      their order.
    }],
    "::mlir::Operation *", "buildWithAddends",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$addends)>,
    InterfaceMethod<[{
      Whether the fused operation is bitwise equal to the two separate ones,
      because its kernel rounds wherever they store a tensor. Operations for
      which it is not add to their result, and are fused only if the target's
      kernels gain from it.
    }],
    "bool", "keepsBits", (ins), /*methodBody=*/"",
    /*defaultImplementation=*/"return true;">];
}

#endif // ZERO_INTERFACES_ADDENDOPINTERFACE_TD
