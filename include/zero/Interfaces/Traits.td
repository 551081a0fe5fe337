//===- Traits.td - properties of operations without methods ---------------===//
#ifndef ZERO_INTERFACES_TRAITS_TD
#define ZERO_INTERFACES_TRAITS_TD

include "mlir/IR/OpBase.td"

/// `zero-set-precision` may leave the operation f32 between the network and the
/// loss: it reduces, repeats or normalises elements, and multiplies no matrices.
def CheapInFloat32 : NativeOpTrait<"CheapInFloat32"> {
  let cppNamespace = "::mlir::zero";
}

/// The kernel has read an element of the operands of a result's shape and element
/// width when it writes the result's at the same index: the result may take the
/// memory of such an operand that nothing reads afterwards.
def OverwritesOperands : NativeOpTrait<"OverwritesOperands"> {
  let cppNamespace = "::mlir::zero";
}

#endif // ZERO_INTERFACES_TRAITS_TD
