//===- NNIndexGradients.cpp - gradients of gathers, sorts, running sums ---===//

#include "Constants.h"
#include "Types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

static Value gathered(OpBuilder &builder, Location loc, Value like, Value from,
                      Value ids, int64_t dim) {
  return GatherOp::create(builder, loc, like.getType(), from, ids, dim);
}

static Value added(OpBuilder &builder, Location loc, RankedTensorType type,
                   Value x, Value ids, Value init, int64_t dim) {
  return ScatterAddOp::create(builder, loc, type, x, ids, init, dim,
                              /*rows=*/DenseI64ArrayAttr());
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGradients,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = added(builder, getLoc(), typeOf(getX()), resultGradients[0],
                         getIds(), /*init=*/Value(), getDim());
  return success();
}

LogicalResult ScatterAddOp::buildGradient(OpBuilder &builder,
                                          ArrayRef<Value> resultGradients,
                                          ArrayRef<bool> wanted,
                                          MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  if (getRows())
    return emitOpError("gives a block of rows, whose gradient is not known: "
                       "compute all rows, and take a slice of them");
  if (wanted[0])
    gradients[0] = gathered(builder, getLoc(), getX(), dy, getIds(), getDim());
  if (getInit() && wanted[2])
    gradients[2] = dy;
  return success();
}

namespace {

/// The gradients of `nn.scatter max`: each element's is divided evenly among
/// those that are the largest, of `x` and of `into`.
struct MaximumGradients {
  OpBuilder &builder;
  ScatterOp op;
  Value equalX, equalInto, share;

  MaximumGradients(OpBuilder &builder, ScatterOp op, Value dy)
      : builder(builder), op(op) {
    Location loc = op.getLoc();
    RankedTensorType type = typeOf(dy);
    Value largest =
        gathered(builder, loc, op.getX(), op.getY(), op.getIds(), op.getDim());
    equalX = equal(op.getX(), largest);
    equalInto = equal(op.getInto(), op.getY());
    Value count = added(builder, loc, type, ones(equalX, typeOf(op.getX())),
                        op.getIds(), ones(equalInto, type), op.getDim());
    share = arith::DivFOp::create(builder, loc, dy, count);
  }

  Value equal(Value left, Value right) {
    return arith::CmpFOp::create(builder, op.getLoc(),
                                 arith::CmpFPredicate::OEQ, left, right);
  }
  Value choose(Value condition, Value value) {
    Value zeros = splat(builder, op.getLoc(), typeOf(value), 0.0);
    return arith::SelectOp::create(builder, op.getLoc(), condition, value,
                                   zeros);
  }
  Value ones(Value condition, RankedTensorType type) {
    return choose(condition, splat(builder, op.getLoc(), type, 1.0));
  }
};

} // namespace

LogicalResult ScatterOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy || !(wanted[0] || wanted[2]))
    return success();
  Location loc = getLoc();
  if (getKind() == Scatter::Max) {
    MaximumGradients maximum(builder, *this, dy);
    if (wanted[0])
      gradients[0] = maximum.choose(
          maximum.equalX,
          gathered(builder, loc, getX(), maximum.share, getIds(), getDim()));
    if (wanted[2])
      gradients[2] = maximum.choose(maximum.equalInto, maximum.share);
    return success();
  }
  if (wanted[0])
    gradients[0] = gathered(builder, loc, getX(), dy, getIds(), getDim());
  if (wanted[2])
    gradients[2] = ScatterOp::create(builder, loc, dy.getType(),
                                     splat(builder, loc, typeOf(getX()), 0.0),
                                     getIds(), dy, Scatter::Set, getDim());
  return success();
}

//===----------------------------------------------------------------------===//
// argsort, cumsum, what is drawn
//===----------------------------------------------------------------------===//

/// Positions do not change with what is ordered, but where they jump.
LogicalResult ArgsortOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                       ArrayRef<bool>, MutableArrayRef<Value>) {
  return success();
}

LogicalResult CumsumOp::buildGradient(OpBuilder &builder,
                                      ArrayRef<Value> resultGradients,
                                      ArrayRef<bool> wanted,
                                      MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = CumsumOp::create(builder, getLoc(), getX().getType(),
                                    resultGradients[0], getDim(),
                                    /*reverse=*/!getReverse());
  return success();
}

LogicalResult RandomNormalOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                            ArrayRef<bool>,
                                            MutableArrayRef<Value>) {
  return success();
}

LogicalResult RandomUniformOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                             ArrayRef<bool>,
                                             MutableArrayRef<Value>) {
  return success();
}

LogicalResult RandomIntegersOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                              ArrayRef<bool>,
                                              MutableArrayRef<Value>) {
  return success();
}
