//===- Registration.cpp - everything that zero's tools know ---------------===//

#include "zero/Registration/Registration.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/UpstreamModels.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/LaunchRows.h"
#include "zero/Transforms/Passes.h"
#include "zero/Transforms/Pipeline.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mlir::zero::registerDialects(DialectRegistry &registry) {
  registry.insert<nn::NNDialect, ZeroDialect, affine::AffineDialect,
                  arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, vector::VectorDialect>();
  registerUpstreamGradientModels(registry);
  nn::registerUpstreamKernelModels(registry);
  nn::registerUpstreamFactorModels(registry);
  nn::registerUpstreamMoveModels(registry);
  nn::registerUpstreamPaddingModels(registry);
  registerLaunchRowBlocks(registry);
}

void mlir::zero::registerPasses() {
  registerTransformsPasses();
  registerZeroTransformsPasses();
  registerZeroPipelines();
}
