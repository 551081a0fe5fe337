//===- LowerDeviceKernels.cpp - kernel functions to the NVVM dialect ------===//

#include "LowerKernels.h"

#include "zero/Transforms/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Intrinsics that NVPTX has as instructions; others become calls of a C
/// library, which a GPU has not.
static bool isInstruction(Operation *op) {
  return isa<LLVM::FMAOp, LLVM::SqrtOp, LLVM::FAbsOp, LLVM::FFloorOp,
             LLVM::FCeilOp, LLVM::RoundEvenOp, LLVM::RintOp, LLVM::FTruncOp,
             LLVM::CopySignOp, LLVM::MinNumOp, LLVM::MaxNumOp, LLVM::MinimumOp,
             LLVM::MaximumOp, LLVM::AbsOp, LLVM::SMaxOp, LLVM::SMinOp,
             LLVM::UMaxOp, LLVM::UMinOp, LLVM::CountLeadingZerosOp>(op);
}

static bool isIntrinsic(Operation *op) {
  return op->getName().getStringRef().starts_with("llvm.intr.");
}

LogicalResult mlir::zero::lowerDeviceKernels(ModuleOp module) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.addPass(createThreadKernels());
  passes.addPass(createExpandMath());
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(module)))
    return failure();

  auto *nvvm = module.getContext()->getLoadedDialect<NVVM::NVVMDialect>();
  WalkResult result = module.walk([&](Operation *op) {
    if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
      function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                        UnitAttr::get(op->getContext()));
    const bool known = isa<ModuleOp>(op) || op->getDialect() == nvvm ||
                       isa_and_present<LLVM::LLVMDialect>(op->getDialect());
    if (known && (!isIntrinsic(op) || isInstruction(op)))
      return WalkResult::advance();
    op->emitOpError("has no code for a GPU inside a kernel; rewrite it with "
                    "operations of arith and math that have");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
