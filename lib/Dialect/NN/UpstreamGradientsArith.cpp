//===- UpstreamGradientsArith.cpp - gradients of arith operations ---------===//

#include "UpstreamGradients.h"

using namespace mlir;
using namespace mlir::zero::gradients;

static LogicalResult addf(arith::AddFOp, ImplicitLocOpBuilder &, Value g,
                          OperandGradients operands) {
  operands.set(0, [&] { return g; });
  operands.set(1, [&] { return g; });
  return success();
}

static LogicalResult subf(arith::SubFOp, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  operands.set(0, [&] { return g; });
  operands.set(1, [&] { return arith::NegFOp::create(b, g); });
  return success();
}

static LogicalResult mulf(arith::MulFOp op, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  operands.set(0, [&] { return arith::MulFOp::create(b, g, op.getRhs()); });
  operands.set(1, [&] { return arith::MulFOp::create(b, g, op.getLhs()); });
  return success();
}

/// z = x / y: dx = g / y, dy = -(g / y) z.
static LogicalResult divf(arith::DivFOp op, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  Value quotient = arith::DivFOp::create(b, g, op.getRhs());
  operands.set(0, [&] { return quotient; });
  operands.set(1, [&] {
    Value product = arith::MulFOp::create(b, quotient, op.getResult());
    return arith::NegFOp::create(b, product);
  });
  return success();
}

/// z = x - n y with an integer n, which is piecewise constant: n = (x - z) / y.
static LogicalResult remf(arith::RemFOp op, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  operands.set(0, [&] { return g; });
  operands.set(1, [&] {
    Value whole = arith::SubFOp::create(b, op.getLhs(), op.getResult());
    Value count = arith::DivFOp::create(b, whole, op.getRhs());
    return arith::NegFOp::create(b, arith::MulFOp::create(b, g, count));
  });
  return success();
}

static LogicalResult negf(arith::NegFOp, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  operands.set(0, [&] { return arith::NegFOp::create(b, g); });
  return success();
}

/// The gradient goes to the operand that is the result, to the first at a tie.
/// Comparing with the result is also right where one operand is NaN.
template <typename OpT>
static LogicalResult extremum(OpT op, ImplicitLocOpBuilder &b, Value g,
                              OperandGradients operands) {
  Value zero = constant(b, g.getType(), 0.0);
  Value first = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                      op.getResult(), op.getLhs());
  operands.set(0, [&] { return arith::SelectOp::create(b, first, g, zero); });
  operands.set(1, [&] { return arith::SelectOp::create(b, first, zero, g); });
  return success();
}

static LogicalResult select(arith::SelectOp op, ImplicitLocOpBuilder &b,
                            Value g, OperandGradients operands) {
  Value zero = constant(b, g.getType(), 0.0);
  Value condition = op.getCondition();
  operands.set(1,
               [&] { return arith::SelectOp::create(b, condition, g, zero); });
  operands.set(2,
               [&] { return arith::SelectOp::create(b, condition, zero, g); });
  return success();
}

static LogicalResult extf(arith::ExtFOp op, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  operands.set(
      0, [&] { return arith::TruncFOp::create(b, op.getIn().getType(), g); });
  return success();
}

static LogicalResult truncf(arith::TruncFOp op, ImplicitLocOpBuilder &b,
                            Value g, OperandGradients operands) {
  operands.set(
      0, [&] { return arith::ExtFOp::create(b, op.getIn().getType(), g); });
  return success();
}

void mlir::zero::gradients::attachArith(MLIRContext &context) {
  using namespace arith;
  attachRule<AddFOp, addf>(context);
  attachRule<SubFOp, subf>(context);
  attachRule<MulFOp, mulf>(context);
  attachRule<DivFOp, divf>(context);
  attachRule<RemFOp, remf>(context);
  attachRule<NegFOp, negf>(context);
  attachRule<MaximumFOp, extremum<MaximumFOp>>(context);
  attachRule<MinimumFOp, extremum<MinimumFOp>>(context);
  attachRule<MaxNumFOp, extremum<MaxNumFOp>>(context);
  attachRule<MinNumFOp, extremum<MinNumFOp>>(context);
  attachRule<SelectOp, select>(context);
  attachRule<ExtFOp, extf>(context);
  attachRule<TruncFOp, truncf>(context);
  attachNoGradient<ConstantOp, CmpFOp, CmpIOp, SIToFPOp, UIToFPOp, FPToSIOp,
                   FPToUIOp>(context);
}
