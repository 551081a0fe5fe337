//===- UpstreamGradientsMath.cpp - gradients of math operations -----------===//

#include "UpstreamGradients.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero::gradients;

static Value mul(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}
static Value scale(ImplicitLocOpBuilder &b, Value x, double factor) {
  return mul(b, x, constant(b, x.getType(), factor));
}

/// Makes a rule of the gradient as a function of (builder, g, x, y), y = f(x).
template <typename OpT,
          Value (*derivative)(ImplicitLocOpBuilder &, Value, Value, Value)>
static LogicalResult unary(OpT op, ImplicitLocOpBuilder &b, Value g,
                           OperandGradients operands) {
  operands.set(
      0, [&] { return derivative(b, g, op.getOperand(), op.getResult()); });
  return success();
}

static Value expGradient(ImplicitLocOpBuilder &b, Value g, Value, Value y) {
  return mul(b, g, y);
}
static Value exp2Gradient(ImplicitLocOpBuilder &b, Value g, Value, Value y) {
  return mul(b, g, scale(b, y, std::log(2.0)));
}
/// y + 1 is exp(x) also where y rounds to -1.
static Value expm1Gradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return mul(b, g, math::ExpOp::create(b, x));
}
static Value logGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return arith::DivFOp::create(b, g, x);
}
static Value log2Gradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return arith::DivFOp::create(b, g, scale(b, x, std::log(2.0)));
}
static Value log1pGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  Value one = constant(b, x.getType(), 1.0);
  return arith::DivFOp::create(b, g, arith::AddFOp::create(b, one, x));
}
static Value sqrtGradient(ImplicitLocOpBuilder &b, Value g, Value, Value y) {
  return arith::DivFOp::create(b, scale(b, g, 0.5), y);
}
static Value rsqrtGradient(ImplicitLocOpBuilder &b, Value g, Value, Value y) {
  return mul(b, scale(b, g, -0.5), mul(b, y, mul(b, y, y)));
}
static Value tanhGradient(ImplicitLocOpBuilder &b, Value g, Value, Value y) {
  Value one = constant(b, y.getType(), 1.0);
  return mul(b, g, arith::SubFOp::create(b, one, mul(b, y, y)));
}
static Value erfGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  Value square = arith::NegFOp::create(b, mul(b, x, x));
  Value bell = math::ExpOp::create(b, square);
  return mul(b, g, scale(b, bell, 2.0 / std::sqrt(M_PI)));
}
static Value sinGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return mul(b, g, math::CosOp::create(b, x));
}
static Value cosGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return arith::NegFOp::create(b, mul(b, g, math::SinOp::create(b, x)));
}
static Value absGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  Value zero = constant(b, x.getType(), 0.0);
  Value positive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, zero);
  Value negative = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, zero);
  Value minus = arith::NegFOp::create(b, g);
  Value rest = arith::SelectOp::create(b, negative, minus, zero);
  return arith::SelectOp::create(b, positive, g, rest);
}

/// z = x^y: dx = g y x^(y-1); dy = g z log(x), 0 where x = 0 (its limit for
/// y > 0). A negative base has a gradient for the base only.
static LogicalResult powf(math::PowFOp op, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  Value x = op.getLhs(), y = op.getRhs();
  operands.set(0, [&] {
    Value one = constant(b, y.getType(), 1.0);
    Value less = arith::SubFOp::create(b, y, one);
    return mul(b, mul(b, g, y), math::PowFOp::create(b, x, less));
  });
  operands.set(1, [&] {
    Value zero = constant(b, x.getType(), 0.0);
    Value atZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, zero);
    Value product =
        mul(b, mul(b, g, op.getResult()), math::LogOp::create(b, x));
    return arith::SelectOp::create(b, atZero, zero, product);
  });
  return success();
}

static LogicalResult fma(math::FmaOp op, ImplicitLocOpBuilder &b, Value g,
                         OperandGradients operands) {
  operands.set(0, [&] { return mul(b, g, op.getB()); });
  operands.set(1, [&] { return mul(b, g, op.getA()); });
  operands.set(2, [&] { return g; });
  return success();
}

void mlir::zero::gradients::attachMath(MLIRContext &context) {
  using namespace math;
  attachRule<ExpOp, unary<ExpOp, expGradient>>(context);
  attachRule<Exp2Op, unary<Exp2Op, exp2Gradient>>(context);
  attachRule<ExpM1Op, unary<ExpM1Op, expm1Gradient>>(context);
  attachRule<LogOp, unary<LogOp, logGradient>>(context);
  attachRule<Log2Op, unary<Log2Op, log2Gradient>>(context);
  attachRule<Log1pOp, unary<Log1pOp, log1pGradient>>(context);
  attachRule<SqrtOp, unary<SqrtOp, sqrtGradient>>(context);
  attachRule<RsqrtOp, unary<RsqrtOp, rsqrtGradient>>(context);
  attachRule<TanhOp, unary<TanhOp, tanhGradient>>(context);
  attachRule<ErfOp, unary<ErfOp, erfGradient>>(context);
  attachRule<SinOp, unary<SinOp, sinGradient>>(context);
  attachRule<CosOp, unary<CosOp, cosGradient>>(context);
  attachRule<AbsFOp, unary<AbsFOp, absGradient>>(context);
  attachRule<PowFOp, powf>(context);
  attachRule<FmaOp, fma>(context);
  // Piecewise constant: the gradient is zero wherever there is one.
  attachNoGradient<FloorOp, CeilOp, RoundOp, RoundEvenOp, TruncOp>(context);
}
