//===- EpilogueOpInterface.td - becomes part of a product's kernel ---------===//
#ifndef ZERO_INTERFACES_EPILOGUEOPINTERFACE_TD
#define ZERO_INTERFACES_EPILOGUEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that the kernel of a matrix product can compute as its epilogue,
    on what it holds in registers: the product makes its operand, or reads the
    same one.

    `zero-fuse-epilogues` fuses every such operation, those of the forward pass
    first, where the target has these kernels.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether the operation belongs to a gradient. One of the forward pass may
      have to be recomputed, and then is cheaper by itself.
    }],
    "bool", "isOfGradient">,
    InterfaceMethod<[{
      Replaces the operation and the product by one operation, at the place of
      the product, with readers of its result that the fused operation computes
      as well. Does nothing where no kernel computes the two together.
    }],
    "void", "fuseIntoProduct", (ins "::mlir::RewriterBase &":$rewriter)>];
}

#endif // ZERO_INTERFACES_EPILOGUEOPINTERFACE_TD
