//===- BroadcastingOpInterface.td - repeats along new dimensions ----------===//
#ifndef ZERO_INTERFACES_BROADCASTINGOPINTERFACE_TD
#define ZERO_INTERFACES_BROADCASTINGOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def BroadcastingOpInterface : OpInterface<"BroadcastingOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that only repeats its first operand along new dimensions of its
    first result. `zero-outline-elementwise` reads through it, so that a kernel
    indexes the operand and the repeated tensor is never made.
  }];
  let methods = [InterfaceMethod<
    "The dimension of the result that each dimension of the operand becomes.",
    "::llvm::ArrayRef<int64_t>", "getDims">];
}

#endif // ZERO_INTERFACES_BROADCASTINGOPINTERFACE_TD
