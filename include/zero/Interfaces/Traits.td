//===- Traits.td - properties of operations without methods ---------------===//
#ifndef ZERO_INTERFACES_TRAITS_TD
#define ZERO_INTERFACES_TRAITS_TD

include "mlir/IR/OpBase.td"

/// `zero-set-precision` may leave the operation f32 between the network and the
/// loss: it reduces, repeats, orders, normalises or sends elements, and multiplies no
/// matrices. What is a `MoveOpInterface` or of the dialect `tensor` needs no trait.
def CheapInFloat32 : NativeOpTrait<"CheapInFloat32"> {
  let cppNamespace = "::mlir::zero";
}

/// Each result is a sum or mean of some elements of the operand, although no factor of
/// the operation is summed over. `zero-set-precision` asks.
def AddsUp : NativeOpTrait<"AddsUp"> {
  let cppNamespace = "::mlir::zero";
}

/// The kernel reads element i of every operand that has the shape and element
/// width of a result before it writes element i of that result. The result may
/// therefore take the memory of such an operand, if nothing reads the operand
/// afterwards.
def OverwritesOperands : NativeOpTrait<"OverwritesOperands"> {
  let cppNamespace = "::mlir::zero";
}

#endif // ZERO_INTERFACES_TRAITS_TD
