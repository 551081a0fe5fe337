//===- SharedOpInterface.td - operands of which many share few ------------===//
#ifndef ZERO_INTERFACES_SHAREDOPINTERFACE_TD
#define ZERO_INTERFACES_SHAREDOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def SharedOpInterface : OpInterface<"SharedOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation of which equally many indices share each index of some operands, as
    query heads share a key head. Where there are more ranks than shared indices,
    `zero-shard-model` has these repeated, so that each rank reads one.
  }];
  let methods = [InterfaceMethod<[{
    How many indices are shared.
  }], "int64_t", "getShared">, InterfaceMethod<[{
    How many share them: a multiple.
  }], "int64_t", "getSharing">, InterfaceMethod<[{
    Makes the operation read the shared indices repeated, each as often as the
    others, so that there are `count`: a multiple of `getShared`, and a divisor of
    `getSharing`. Returns what it reads then.
  }], "::llvm::SmallVector<::mlir::Value>", "repeatShared",
    (ins "::mlir::OpBuilder &":$builder, "int64_t":$count)>];
}

#endif // ZERO_INTERFACES_SHAREDOPINTERFACE_TD
