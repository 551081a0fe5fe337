//===- UpstreamGradients.cpp - registration of the models -----------------===//

#include "UpstreamGradients.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Interfaces/UpstreamModels.h"

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
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    gradients::attachTensor(*context);
    context->getOrLoadDialect<arith::ArithDialect>();
    context->getOrLoadDialect<nn::NNDialect>();
  });
}
