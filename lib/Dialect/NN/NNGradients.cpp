//===- NNGradients.cpp - gradients of matrix, norm and token operations ---===//
//
// Each gradient is built of nn operations and views; the gradients of
// activations and shape operations are in NNShapeGradients.cpp.
//
//===----------------------------------------------------------------------===//

#include "Types.h"

#include "zero/Dialect/NN/TensorForms.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

/// Statistics serve the gradient operation; nothing flows back through them.
static LogicalResult checkStatistics(Operation *op,
                                     ArrayRef<Value> resultGradients) {
  for (auto [index, gradient] : llvm::enumerate(resultGradients))
    if (index > 0 && gradient)
      return op->emitOpError("result #")
             << index
             << " contributes to the loss, but is a statistic, which has no "
                "gradient; compute it from the operands with separate "
                "operations";
  return success();
}

/// The results of `grad` are the gradients of the first operands, in order.
static void takeResults(Operation *grad, ArrayRef<bool> wanted,
                        MutableArrayRef<Value> gradients) {
  for (OpResult result : grad->getResults())
    if (wanted[result.getResultNumber()])
      gradients[result.getResultNumber()] = result;
}

//===----------------------------------------------------------------------===//
// linear, matmul
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGradients,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  if (wanted[0])
    gradients[0] = LinearOp::create(builder, getLoc(), getX().getType(), dy,
                                    getW(), /*bias=*/Value(),
                                    /*transposed=*/!getTransposed());
  if (wanted[1]) {
    Value rows = buildMatrix(builder, getLoc(), getX());
    Value columns = buildMatrix(builder, getLoc(), dy);
    if (getTransposed())
      std::swap(rows, columns);
    gradients[1] =
        MatmulOp::create(builder, getLoc(), getW().getType(), rows, columns,
                         /*transpose_a=*/true,
                         /*transpose_b=*/false, /*rows=*/DenseI64ArrayAttr());
  }
  if (getBias() && wanted[2]) {
    auto leading =
        llvm::to_vector(llvm::seq<int64_t>(0, typeOf(dy).getRank() - 1));
    gradients[2] = leading.empty() ? dy
                                   : ReduceOp::create(builder, getLoc(),
                                                      getBias().getType(), dy,
                                                      Reduction::Sum, leading);
  }
  return success();
}

LogicalResult MatmulOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGradients,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> gradients) {
  Value dc = resultGradients[0], a = getA(), b = getB();
  if (!dc)
    return success();
  if (getRows())
    return emitOpError("gives a block of rows, whose gradient is not known: "
                       "compute all rows, and take a slice of them");
  bool ta = getTransposeA(), tb = getTransposeB();
  auto multiply = [&](Type type, Value left, Value right, bool transposeLeft,
                      bool transposeRight) -> Value {
    return MatmulOp::create(builder, getLoc(), type, left, right, transposeLeft,
                            transposeRight, /*rows=*/DenseI64ArrayAttr());
  };
  // The gradient of a stored transpose is the transposed product.
  if (wanted[0])
    gradients[0] = ta ? multiply(a.getType(), b, dc, tb, true)
                      : multiply(a.getType(), dc, b, false, !tb);
  if (wanted[1])
    gradients[1] = tb ? multiply(b.getType(), dc, a, true, ta)
                      : multiply(b.getType(), a, dc, !ta, false);
  return success();
}

//===----------------------------------------------------------------------===//
// attention, rotary
//===----------------------------------------------------------------------===//

/// A gradient is made of that of `out`, and the mask gets none.
template <typename OpT>
static LogicalResult checkAttention(OpT op, ArrayRef<Value> resultGradients,
                                    ArrayRef<bool> wanted) {
  if (failed(checkStatistics(op, resultGradients)))
    return failure();
  if (op.getMask() && wanted.back())
    return op.emitOpError(
        "a gradient is wanted for mask, which has none; add a "
        "trained bias to the scores of nn.matmul and nn.softmax");
  return success();
}

LogicalResult AttentionOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGradients,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> gradients) {
  if (failed(checkAttention(*this, resultGradients, wanted)))
    return failure();
  if (!resultGradients[0] || !llvm::is_contained(wanted, true))
    return success();
  auto grad = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(),
      resultGradients[0], getQ(), getK(), getV(), getOut(), getLse(), getMask(),
      getCausalAttr(), getScaleAttr(), getDropoutAttr(), getIdAttr());
  takeResults(grad, wanted, gradients);
  return success();
}

LogicalResult PartialAttentionOp::buildGradient(
    OpBuilder &builder, ArrayRef<Value> resultGradients, ArrayRef<bool> wanted,
    MutableArrayRef<Value> gradients) {
  if (failed(checkAttention(*this, resultGradients, wanted)))
    return failure();
  if (!resultGradients[0] || !llvm::is_contained(wanted, true))
    return success();
  auto grad = PartialAttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(),
      resultGradients[0], getQ(), getK(), getV(), getOut(), getLse(),
      getFirst(), getMask(), getCausalAttr(), getScaleAttr(), getDropoutAttr(),
      getIdAttr());
  takeResults(grad, wanted, gradients);
  return success();
}

LogicalResult RotaryOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGradients,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = RotaryOp::create(builder, getLoc(), resultGradients[0],
                                    getTheta(), getInterleaved(),
                                    /*inverse=*/!getInverse(), getHeadsAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// layer_norm, rms_norm, batch_norm, softmax
//===----------------------------------------------------------------------===//

LogicalResult LayerNormOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGradients,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> gradients) {
  if (failed(checkStatistics(*this, resultGradients)))
    return failure();
  if (!resultGradients[0] || !llvm::is_contained(wanted, true))
    return success();
  auto grad = LayerNormGradOp::create(
      builder, getLoc(), getX().getType(), getW().getType(), getB().getType(),
      resultGradients[0], getX(), getW(), getMean(), getRstd());
  takeResults(grad, wanted, gradients);
  return success();
}

LogicalResult RmsNormOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (failed(checkStatistics(*this, resultGradients)))
    return failure();
  if (!resultGradients[0] || !llvm::is_contained(wanted, true))
    return success();
  auto grad = RmsNormGradOp::create(builder, getLoc(), getX().getType(),
                                    getW().getType(), resultGradients[0],
                                    getX(), getW(), getRstd());
  takeResults(grad, wanted, gradients);
  return success();
}

LogicalResult BatchNormOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGradients,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> gradients) {
  if (failed(checkStatistics(*this, resultGradients)))
    return failure();
  if (!resultGradients[0] || !llvm::is_contained(wanted, true))
    return success();
  auto grad = BatchNormGradOp::create(
      builder, getLoc(), getX().getType(), getW().getType(), getB().getType(),
      resultGradients[0], getX(), getW(), getMean(), getVariance(), getEps());
  takeResults(grad, wanted, gradients);
  return success();
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] =
        SoftmaxGradOp::create(builder, getLoc(), resultGradients[0], getY());
  return success();
}

//===----------------------------------------------------------------------===//
// embedding, cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::buildGradient(OpBuilder &builder,
                                         ArrayRef<Value> resultGradients,
                                         ArrayRef<bool> wanted,
                                         MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[1])
    gradients[1] = EmbeddingGradOp::create(
        builder, getLoc(), getTable().getType(), resultGradients[0], getIds(),
        /*init=*/Value(), /*rows=*/DenseI64ArrayAttr());
  return success();
}

LogicalResult CrossEntropyOp::buildGradient(OpBuilder &builder,
                                            ArrayRef<Value> resultGradients,
                                            ArrayRef<bool> wanted,
                                            MutableArrayRef<Value> gradients) {
  if (failed(checkStatistics(*this, resultGradients)))
    return failure();
  if (resultGradients[0] && wanted[0])
    gradients[0] = CrossEntropyGradOp::create(
        builder, getLoc(), getLogits().getType(), resultGradients[0],
        getLogits(), getTargets(), getLse(), getSum(), getIgnoreIndex(),
        getClassesAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// silu_mul
//===----------------------------------------------------------------------===//

LogicalResult SiluMulOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (!resultGradients[0] || !llvm::is_contained(wanted, true))
    return success();
  Type type = getY().getType();
  auto grad = SiluMulGradOp::create(builder, getLoc(), TypeRange{type, type},
                                    resultGradients[0], getGate(), getUp());
  takeResults(grad, wanted, gradients);
  return success();
}
