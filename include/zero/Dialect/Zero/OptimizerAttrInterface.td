//===- OptimizerAttrInterface.td - what an optimizer keeps and computes ---===//
#ifndef ZERO_DIALECT_ZERO_OPTIMIZERATTRINTERFACE_TD
#define ZERO_DIALECT_ZERO_OPTIMIZERATTRINTERFACE_TD

include "mlir/IR/Interfaces.td"

def Zero_OptimizerAttrInterface : AttrInterface<"OptimizerAttrInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An optimizer. Layout, memory plan, verification, cost, translation and
    reports use only these methods of it.
  }];
  let methods = [
    InterfaceMethod<"The name for people: `AdamW`.",
      "::llvm::StringRef", "getTitle">,
    InterfaceMethod<[{
        The states that the optimizer keeps for each element, in the order of
        the kernel's buffers. Names are those of PyTorch's optimizers.
      }], "::llvm::SmallVector<::mlir::zero::OptimizerState>", "getStates">,
    InterfaceMethod<"The kernel of the update: `zero.adamw`.",
      "::llvm::StringRef", "getKernel">,
    InterfaceMethod<"What the kernel is told besides the learning rate.",
      "::llvm::SmallVector<::mlir::zero::OptimizerSetting>", "getSettings">,
    InterfaceMethod<"Operations of the update on one element.",
      "int64_t", "getOperations">,
    InterfaceMethod<[{
        Whether an element that is 0, and never has another gradient than 0, stays 0.
      }], "bool", "keepsZeros">,
    InterfaceMethod<"The learning rate before any schedule.", "double", "getLr">,
    InterfaceMethod<"The weight decay.", "double", "getWeightDecay">,
    InterfaceMethod<[{
        Whether the optimizer takes gradients, which the global norm includes and
        clipping scales. Otherwise it takes values to follow, which are only
        divided by the loss scale and the number of ranks.
      }], "bool", "takesGradients", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return true;">,
  ];
}

#endif // ZERO_DIALECT_ZERO_OPTIMIZERATTRINTERFACE_TD
