//===- PaddableOpInterface.td - takes operands with padding ---------------===//
#ifndef ZERO_INTERFACES_PADDABLEOPINTERFACE_TD
#define ZERO_INTERFACES_PADDABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PaddableOpInterface : OpInterface<"PaddableOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that may read operands padded along a dimension, that is, with more
    indices than the model gives them. Elements of padding are finite and do not
    influence the others.

    `zero-pad-vocabulary` asks every operation that padding would reach, and pads
    nothing that reaches one without this interface.
  }];
  let methods = [
    InterfaceMethod<[{
      The results and the other operands that are padded as well if the operand
      `operand` is padded along `dim`, and along which dimension. An empty list if
      the operation can be told how many indices count; nothing if it cannot be
      computed with padding. If not implemented: all that have the factor of that
      dimension, if it is parallel.
    }],
    "std::optional<::llvm::SmallVector<::mlir::zero::PaddedDim>>", "getPadded",
    (ins "unsigned":$operand, "int64_t":$dim), /*methodBody=*/"",
    "return ::mlir::zero::findPadded($_op.getOperation(), operand, dim);">,
    InterfaceMethod<[{
      Whether the operation may be faster if padded dimensions are multiples of
      some size.
    }], "bool", "gainsFromPadding", (ins), /*methodBody=*/"", "return false;">,
    InterfaceMethod<[{
      Called once an operand has become larger along `dim`, and results have their new
      types: changes the attributes that depend on it. `size` indices count.
    }],
    "void", "setPadded", (ins "unsigned":$operand, "int64_t":$dim, "int64_t":$size),
    /*methodBody=*/"", "return;">];
}

#endif // ZERO_INTERFACES_PADDABLEOPINTERFACE_TD
