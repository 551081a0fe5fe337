//===- OptimizerAttrInterface.td - what an optimizer keeps and computes ---===//
#ifndef ZERO_DIALECT_ZERO_OPTIMIZERATTRINTERFACE_TD
#define ZERO_DIALECT_ZERO_OPTIMIZERATTRINTERFACE_TD

include "mlir/IR/Interfaces.td"

def Zero_OptimizerAttrInterface : AttrInterface<"OptimizerAttrInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An optimizer. Layout, memory plan, verification, cost, translation and
    reports know of it what it answers here, and nothing else.
  }];
  let methods = [
    InterfaceMethod<"The name for people: `AdamW`.",
      "::llvm::StringRef", "getTitle">,
    InterfaceMethod<[{
        What it keeps of each element, in the order of the kernel's buffers.
        Names are those of PyTorch's optimizers.
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
        Whether it takes gradients, which the global norm has and clipping scales.
        Otherwise it takes values that it follows: only what they were multiplied
        by, loss scale and number of ranks, is taken out.
      }], "bool", "takesGradients", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return true;">,
  ];
}

#endif // ZERO_DIALECT_ZERO_OPTIMIZERATTRINTERFACE_TD
