//===- StatisticsOpInterface.td - operations with f32 statistics ----------===//
#ifndef ZERO_INTERFACES_STATISTICSOPINTERFACE_TD
#define ZERO_INTERFACES_STATISTICSOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def StatisticsOpInterface : OpInterface<"StatisticsOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation with operands or results that stay f32 when it computes on
    16-bit tensors: means, logarithms of sums of exponentials, the loss, masks.
    `zero-set-precision` asks for them. Operations without this interface have
    none.
  }];
  let methods = [
    InterfaceMethod<"Whether operand `index` stays f32.", "bool",
                    "isStatisticOperand", (ins "unsigned":$index)>,
    InterfaceMethod<"Whether result `index` stays f32.", "bool",
                    "isStatisticResult", (ins "unsigned":$index)>];
}

#endif // ZERO_INTERFACES_STATISTICSOPINTERFACE_TD
