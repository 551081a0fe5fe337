//===- KernelOpInterface.td - which runtime kernel an operation is --------===//
#ifndef ZERO_INTERFACES_KERNELOPINTERFACE_TD
#define ZERO_INTERFACES_KERNELOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that one runtime kernel computes. The kernel's buffers are the
    operation's operands in order, then its results. The description serves the
    lowering (name and attributes), the memory plan (workspace) and the cost
    model (floating-point operations, bytes moved).
  }];
  let methods = [InterfaceMethod<
    "Name, attributes and cost of the kernel.",
    "::mlir::zero::KernelDescription", "describeKernel">];
}

#endif // ZERO_INTERFACES_KERNELOPINTERFACE_TD
