//===- PaddableOpInterface.td - takes operands with padding ---------------===//
#ifndef ZERO_INTERFACES_PADDABLEOPINTERFACE_TD
#define ZERO_INTERFACES_PADDABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PaddableOpInterface : OpInterface<"PaddableOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that computes the same of an operand that has more indices along a
    dimension than the model gives it. What is at the indices behind the model's own
    is padding: finite, and of no consequence to elements that are not.

    `zero-pad-vocabulary` asks every operation that padding would reach, and pads
    nothing that reaches one without this interface.
  }];
  let methods = [
    InterfaceMethod<[{
      The results, and the other operands, that are padded as well, and along which
      dimension, where the operand `operand` is padded along `dim`. None, where the
      operation can be told how many indices count; nothing, where it cannot be
      computed of padding. If not implemented: all that have the factor of that
      dimension, where it is parallel.
    }],
    "std::optional<::llvm::SmallVector<::mlir::zero::PaddedDim>>", "getPadded",
    (ins "unsigned":$operand, "int64_t":$dim), /*methodBody=*/"",
    "return ::mlir::zero::findPadded($_op.getOperation(), operand, dim);">,
    InterfaceMethod<[{
      Whether it may be faster where padded dimensions are a multiple.
    }], "bool", "gainsFromPadding", (ins), /*methodBody=*/"", "return false;">,
    InterfaceMethod<[{
      Called once an operand has become larger along `dim`, and results have their new
      types: changes the attributes that depend on it. `size` indices count.
    }],
    "void", "setPadded", (ins "unsigned":$operand, "int64_t":$dim, "int64_t":$size),
    /*methodBody=*/"", "return;">];
}

#endif // ZERO_INTERFACES_PADDABLEOPINTERFACE_TD
