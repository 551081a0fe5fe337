//===- AccumulatingOpInterface.td - sums that start from a tensor ---------===//
#ifndef ZERO_INTERFACES_ACCUMULATINGOPINTERFACE_TD
#define ZERO_INTERFACES_ACCUMULATINGOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def AccumulatingOpInterface : OpInterface<"AccumulatingOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that adds up into its first result and can start from a tensor
    of that type instead of zero. `zero-differentiate` lets such a contribution
    start from the sum of the earlier ones, which saves a tensor and a pass.
  }];
  let methods = [InterfaceMethod<
    "The optional operand to start from; empty where the sum starts at zero.",
    "::mlir::MutableOperandRange", "getInitMutable">];
}

#endif // ZERO_INTERFACES_ACCUMULATINGOPINTERFACE_TD
