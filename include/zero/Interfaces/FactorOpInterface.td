//===- FactorOpInterface.td - which dimensions go together ----------------===//
#ifndef ZERO_INTERFACES_FACTOROPINTERFACE_TD
#define ZERO_INTERFACES_FACTOROPINTERFACE_TD

include "mlir/IR/OpBase.td"

def FactorOpInterface : OpInterface<"FactorOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that says by itself which dimensions of its operands and results go
    together, and what becomes of its results where one of these factors is cut
    among ranks.

    Nobody asks the interface directly: `getFactors` (`zero/Interfaces/Factors.h`)
    answers for every operation. Without this interface, the factors are those of
    the row of the kernel; arithmetic on elements is parallel; all other dimensions
    are whole.
  }];
  let methods = [InterfaceMethod<
    "Factors, and the parts of each dimension of each operand and result.",
    "::zrt::Factors", "getFactors">];
}

#endif // ZERO_INTERFACES_FACTOROPINTERFACE_TD
