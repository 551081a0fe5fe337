//===- RewriteTensorOps.cpp - tensor operations that have kernels ---------===//

#include "zero/Transforms/Passes.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"
#include "zero/Dialect/Zero/Zero.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::zero {
#define GEN_PASS_DEF_REWRITETENSOROPS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct RewriteTensorOps
    : mlir::zero::impl::RewriteTensorOpsBase<RewriteTensorOps> {
  void runOnOperation() override {
    for (auto step : getOperation().getOps<StepOp>()) {
      if (!step.isModel())
        continue;
      if (failed(nn::rewriteTensorOps(step.getBody().front())))
        return signalPassFailure();
      nn::splitSlices(step.getBody().front());
      nn::simplifyMoves(step.getBody().front());
    }
  }
};

} // namespace
