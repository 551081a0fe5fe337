//===- SharedOpInterface.td - operands of which many share few ------------===//
#ifndef ZERO_INTERFACES_SHAREDOPINTERFACE_TD
#define ZERO_INTERFACES_SHAREDOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def SharedOpInterface : OpInterface<"SharedOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation in which groups of equally many indices read one index of some
    operands, as several query heads read one key head. If there are more ranks than
    such shared indices, `zero-shard-model` repeats them, so that each rank reads
    one.
  }];
  let methods = [InterfaceMethod<[{
    The number of shared indices.
  }], "int64_t", "getShared">, InterfaceMethod<[{
    The number of indices that read the shared ones; a multiple of `getShared`.
  }], "int64_t", "getSharing">, InterfaceMethod<[{
    Repeats each shared index equally often, so that the operation reads `count`
    of them: a multiple of `getShared`, and a divisor of `getSharing`. Returns the
    operands that it reads then.
  }], "::llvm::SmallVector<::mlir::Value>", "repeatShared",
    (ins "::mlir::OpBuilder &":$builder, "int64_t":$count)>];
}

#endif // ZERO_INTERFACES_SHAREDOPINTERFACE_TD
