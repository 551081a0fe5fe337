//===- MoveOpInterface.td - elements in another place ---------------------===//
#ifndef ZERO_INTERFACES_MOVEOPINTERFACE_TD
#define ZERO_INTERFACES_MOVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def MoveOpInterface : OpInterface<"MoveOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that computes nothing: each element of its results is an element
    of its operands. Where a kernel takes strides, nothing needs to move: the kernel
    reads the results where the operand is, or writes the operands where the result
    is. `zero-fuse-moves` asks for that.
  }];
  let methods = [
    InterfaceMethod<[{
      How a result lies in the memory of the one operand, which has the layout
      `operand`; nothing where it is no part of it.
    }],
    "std::optional<::mlir::zero::TensorLayout>", "getResultLayout",
    (ins "unsigned":$result, "const ::mlir::zero::TensorLayout &":$operand)>,
    InterfaceMethod<[{
      How an operand lies in the memory of the one result, which has the layout
      `result` and no element that is in no operand; nothing where it is no part
      of it.
    }],
    "std::optional<::mlir::zero::TensorLayout>", "getOperandLayout",
    (ins "unsigned":$operand, "const ::mlir::zero::TensorLayout &":$result)>];
}

#endif // ZERO_INTERFACES_MOVEOPINTERFACE_TD
