//===- KernelOpInterface.td - which runtime kernel an operation is --------===//
#ifndef ZERO_INTERFACES_KERNELOPINTERFACE_TD
#define ZERO_INTERFACES_KERNELOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that one runtime kernel computes. The kernel's buffers are the
    operation's tensor operands in order, then its results. What it takes and
    what it costs is a row of the kernels' table (`program/KernelSchema.h`) under
    its name; a dialect that is not ours adds its rows as it is linked in.
  }];
  let methods = [InterfaceMethod<
    [{Name and attributes of the kernel. If not implemented: the operation's
      name, and its own attributes under their names.}],
    "::mlir::zero::KernelDescription", "describeKernel", (ins), "",
    "return ::mlir::zero::describeByAttributes($_op.getOperation());">];
}

#endif // ZERO_INTERFACES_KERNELOPINTERFACE_TD
