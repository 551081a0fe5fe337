//===- CountedMeanOpInterface.td - means over what counts -----------------===//
#ifndef ZERO_INTERFACES_COUNTEDMEANOPINTERFACE_TD
#define ZERO_INTERFACES_COUNTEDMEANOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def CountedMeanOpInterface : OpInterface<"CountedMeanOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation whose first result is a mean over elements of which the data decide
    how many count, such as a cross entropy that leaves ignored targets out. The means
    of two micro-batches then stand for different numbers of elements, and
    `zero-weigh-micro-batches` asks for how many. Where ranks have parts of the
    elements, `zero-shard-model` divides the sum of theirs by the number of all.
  }];
  let methods = [InterfaceMethod<[{
    The integers that decide which elements count, one for each element, and the
    value that marks an element as not counted.
  }], "::mlir::zero::CountedElements", "getCounted">, InterfaceMethod<[{
    Whether the first result is the sum over the elements instead of the mean.
  }], "bool", "isSum">, InterfaceMethod<[{
    Makes the result the sum.
  }], "void", "makeSum">];
}

#endif // ZERO_INTERFACES_COUNTEDMEANOPINTERFACE_TD
