//===- LowerKernels.cpp - kernel functions to the LLVM dialect ------------===//

#include "LowerKernels.h"

#include "zero/Transforms/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

LogicalResult mlir::zero::lowerKernels(ModuleOp module, int64_t vectorWidth) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  passes.addPass(createVectorizeKernels(VectorizeKernelsOptions{vectorWidth}));
  passes.addPass(createExpandMath());
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  // What has an LLVM intrinsic first; the C library is for the rest.
  passes.addPass(createConvertMathToLLVMPass());
  passes.addPass(createConvertMathToLibmPass());
  // The default builds index vectors in 32 bits.
  ConvertVectorToLLVMPassOptions vectors;
  vectors.force32BitVectorIndices = false;
  passes.addPass(createConvertVectorToLLVMPass(vectors));
  passes.addPass(createArithToLLVMConversionPass());
  passes.addPass(createConvertControlFlowToLLVMPass());
  passes.addPass(createConvertFuncToLLVMPass());
  passes.addPass(createUBToLLVMConversionPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  if (failed(passes.run(module)))
    return failure();

  // Anything that the conversions left has no code; name it here rather than
  // in the translator, which knows no source.
  WalkResult result = module.walk([&](Operation *op) {
    if (isa<ModuleOp>(op) ||
        isa_and_present<LLVM::LLVMDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError("has no code for the host inside a kernel; rewrite it "
                    "with operations of arith and math that have");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
