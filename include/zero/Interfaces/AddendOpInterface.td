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
      What may be a sum: the operand in whose place the kernel takes two
      addends, or the result to which it adds one. Addends have its type. Null
      where the kernel is not there for these.
    }],
    "::mlir::Value", "getSummed">,
    InterfaceMethod<[{
      Creates the operation that does the addition as well, with as many addends
      as stand in the place of `getSummed`: two, where that is an operand, of
      which the sum is the last result after those of this operation; or one,
      which is added to the result. All other results are in their order.
    }],
    "::mlir::Operation *", "buildWithAddends",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$addends)>,
    InterfaceMethod<[{
      Whether what is computed has the bits of the two apart, since the kernel
      rounds where either stores a tensor. Others add to their result, and are
      fused only where the target's kernels are meant to be faster than that.
    }],
    "bool", "keepsBits", (ins), /*methodBody=*/"",
    /*defaultImplementation=*/"return true;">];
}

#endif // ZERO_INTERFACES_ADDENDOPINTERFACE_TD
