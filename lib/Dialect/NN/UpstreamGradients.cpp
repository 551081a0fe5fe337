//===- UpstreamGradients.cpp - registration of the models -----------------===//

#include "UpstreamGradients.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/UpstreamModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

void mlir::zero::registerUpstreamGradientModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    gradients::attachArith(*context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    gradients::attachMath(*context);
    context->getOrLoadDialect<arith::ArithDialect>();
  });
  // The gradients of tensor operations are also made of nn operations.
  registry.addExtension(
      +[](MLIRContext *context, tensor::TensorDialect *, nn::NNDialect *) {
        gradients::attachTensor(*context);
      });
}
