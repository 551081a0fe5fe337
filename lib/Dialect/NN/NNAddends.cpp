//===- NNAddends.cpp - what does the addition beside it -------------------===//

#include "zero/Dialect/NN/NN.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nn;

//===----------------------------------------------------------------------===//
// The norm of a sum
//===----------------------------------------------------------------------===//

Value LayerNormOp::getSummed() { return getX(); }

Operation *LayerNormOp::buildWithAddends(OpBuilder &builder,
                                         ValueRange addends) {
  return AddLayerNormOp::create(builder, getLoc(), getY().getType(),
                                getMean().getType(), getRstd().getType(),
                                getX().getType(), addends[0], addends[1],
                                getW(), getB(), getEpsAttr());
}

Value RmsNormOp::getSummed() { return getX(); }

Operation *RmsNormOp::buildWithAddends(OpBuilder &builder, ValueRange addends) {
  return AddRmsNormOp::create(builder, getLoc(), getY().getType(),
                              getRstd().getType(), getX().getType(), addends[0],
                              addends[1], getW(), getEpsAttr());
}

//===----------------------------------------------------------------------===//
// A sum with the gradient of a norm
//===----------------------------------------------------------------------===//

Value LayerNormGradOp::getSummed() { return getDx(); }

Operation *LayerNormGradOp::buildWithAddends(OpBuilder &builder,
                                             ValueRange addends) {
  return AddLayerNormGradOp::create(builder, getLoc(), getDx().getType(),
                                    getDw().getType(), getDb().getType(),
                                    getDy(), addends[0], getX(), getW(),
                                    getMean(), getRstd());
}

Value RmsNormGradOp::getSummed() { return getDx(); }

Operation *RmsNormGradOp::buildWithAddends(OpBuilder &builder,
                                           ValueRange addends) {
  return AddRmsNormGradOp::create(builder, getLoc(), getDx().getType(),
                                  getDw().getType(), getDy(), addends[0],
                                  getX(), getW(), getRstd());
}

//===----------------------------------------------------------------------===//
// A sum with a product
//===----------------------------------------------------------------------===//

/// A bias of zeros is none.
OpFoldResult LinearOp::fold(FoldAdaptor) {
  if (!getBias() || !matchPattern(getBias(), m_AnyZeroFloat()))
    return {};
  getBiasMutable().clear();
  return getY();
}

/// Products of nothing have no kernel that adds.
Value LinearOp::getSummed() {
  return getX().getType().getNumElements() && getY().getType().getNumElements()
             ? getY()
             : Value();
}

bool LinearOp::keepsBits() { return false; }

Operation *LinearOp::buildWithAddends(OpBuilder &builder, ValueRange addends) {
  return LinearAddOp::create(builder, getLoc(), getY().getType(), getX(),
                             getW(), addends[0], getBias(), getTransposed());
}
