//===- NNWindowGradients.cpp - gradients of convolutions and pooling ------===//

#include "zero/Dialect/NN/NN.h"

using namespace mlir;
using namespace mlir::nn;

//===----------------------------------------------------------------------===//
// Convolutions: each operation is linear in both of its operands
//===----------------------------------------------------------------------===//

LogicalResult ConvOp::buildGradient(OpBuilder &builder,
                                    ArrayRef<Value> resultGradients,
                                    ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  if (wanted[0])
    gradients[0] = ConvTransposeOp::create(
        builder, getLoc(), getX().getType(), dy, getW(), getStridesAttr(),
        getPaddingAttr(), getDilationsAttr(), getGroupsAttr());
  if (wanted[1])
    gradients[1] = ConvWeightGradOp::create(
        builder, getLoc(), getW().getType(), dy, getX(), getStridesAttr(),
        getPaddingAttr(), getDilationsAttr(), getGroupsAttr(),
        /*rows=*/DenseI64ArrayAttr());
  return success();
}

LogicalResult ConvTransposeOp::buildGradient(OpBuilder &builder,
                                             ArrayRef<Value> resultGradients,
                                             ArrayRef<bool> wanted,
                                             MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  if (wanted[0])
    gradients[0] = ConvOp::create(builder, getLoc(), getX().getType(), dy,
                                  getW(), getStridesAttr(), getPaddingAttr(),
                                  getDilationsAttr(), getGroupsAttr());
  if (wanted[1])
    gradients[1] = ConvWeightGradOp::create(
        builder, getLoc(), getW().getType(), getX(), dy, getStridesAttr(),
        getPaddingAttr(), getDilationsAttr(), getGroupsAttr(),
        /*rows=*/DenseI64ArrayAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

LogicalResult MaxPoolOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = MaxPoolGradOp::create(builder, getLoc(), getX().getType(),
                                         resultGradients[0], getX(),
                                         getWindowAttr(), getStridesAttr(),
                                         getPaddingAttr(), getDilationsAttr());
  return success();
}

LogicalResult AvgPoolOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = AvgPoolGradOp::create(builder, getLoc(), getX().getType(),
                                         resultGradients[0], getWindowAttr(),
                                         getStridesAttr(), getPaddingAttr(),
                                         getCountPaddingAttr());
  return success();
}

LogicalResult AvgPoolGradOp::buildGradient(OpBuilder &builder,
                                           ArrayRef<Value> resultGradients,
                                           ArrayRef<bool> wanted,
                                           MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] =
        AvgPoolOp::create(builder, getLoc(), getDy().getType(),
                          resultGradients[0], getWindowAttr(), getStridesAttr(),
                          getPaddingAttr(), getCountPaddingAttr());
  return success();
}
