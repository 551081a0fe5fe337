//===- EpilogueOpInterface.td - joins the kernel before it ----------------===//
#ifndef ZERO_INTERFACES_EPILOGUEOPINTERFACE_TD
#define ZERO_INTERFACES_EPILOGUEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that the kernel of the operation before it can compute as its
    epilogue, on what it holds in registers.

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
      Replaces the operation and the one that produces its operand by one
      operation, at the place of the latter, and erases both, with readers of its
      result that the fused operation computes as well. Those must not have this
      interface. Does nothing where no kernel computes the two together.
    }],
    "void", "fuseIntoProducer">];
}

#endif // ZERO_INTERFACES_EPILOGUEOPINTERFACE_TD
