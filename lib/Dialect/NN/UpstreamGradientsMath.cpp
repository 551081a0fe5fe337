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

static Value onePlusSquare(ImplicitLocOpBuilder &b, Value x) {
  Value one = constant(b, x.getType(), 1.0);
  return arith::AddFOp::create(b, one, mul(b, x, x));
}
/// 1 - x^2 as a product, which keeps its precision near |x| = 1.
static Value oneMinusSquare(ImplicitLocOpBuilder &b, Value x) {
  Value one = constant(b, x.getType(), 1.0);
  return mul(b, arith::SubFOp::create(b, one, x),
             arith::AddFOp::create(b, one, x));
}
static Value divideByRoot(ImplicitLocOpBuilder &b, Value g, Value square) {
  return arith::DivFOp::create(b, g, math::SqrtOp::create(b, square));
}
static Value tanGradient(ImplicitLocOpBuilder &b, Value g, Value, Value y) {
  return mul(b, g, onePlusSquare(b, y));
}
static Value atanGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return arith::DivFOp::create(b, g, onePlusSquare(b, x));
}
static Value asinGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return divideByRoot(b, g, oneMinusSquare(b, x));
}
static Value acosGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return arith::NegFOp::create(b, divideByRoot(b, g, oneMinusSquare(b, x)));
}
static Value sinhGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return mul(b, g, math::CoshOp::create(b, x));
}
static Value coshGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return mul(b, g, math::SinhOp::create(b, x));
}
static Value asinhGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return divideByRoot(b, g, onePlusSquare(b, x));
}
static Value acoshGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  Value one = constant(b, x.getType(), 1.0);
  Value square = mul(b, arith::SubFOp::create(b, x, one),
                     arith::AddFOp::create(b, x, one));
  return divideByRoot(b, g, square);
}
static Value atanhGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return arith::DivFOp::create(b, g, oneMinusSquare(b, x));
}
static Value erfcGradient(ImplicitLocOpBuilder &b, Value g, Value x, Value y) {
  return arith::NegFOp::create(b, erfGradient(b, g, x, y));
}
static Value log10Gradient(ImplicitLocOpBuilder &b, Value g, Value x, Value) {
  return arith::DivFOp::create(b, g, scale(b, x, std::log(10.0)));
}
static Value cbrtGradient(ImplicitLocOpBuilder &b, Value g, Value, Value y) {
  return arith::DivFOp::create(b, g, scale(b, mul(b, y, y), 3.0));
}

/// z = atan2(y, x): dy = g x / (x^2 + y^2), dx = -g y / (x^2 + y^2).
static LogicalResult atan2Rule(math::Atan2Op op, ImplicitLocOpBuilder &b,
                               Value g, OperandGradients operands) {
  Value y = op.getLhs(), x = op.getRhs();
  Value square = arith::AddFOp::create(b, mul(b, x, x), mul(b, y, y));
  Value part = arith::DivFOp::create(b, g, square);
  operands.set(0, [&] { return mul(b, part, x); });
  operands.set(1, [&] { return arith::NegFOp::create(b, mul(b, part, y)); });
  return success();
}

/// z = |x| with the sign of y: the gradient of x changes its sign where z has
/// another one than x; the sign of y is piecewise constant.
static LogicalResult copysignRule(math::CopySignOp op, ImplicitLocOpBuilder &b,
                                  Value g, OperandGradients operands) {
  operands.set(0, [&] {
    Value one = constant(b, g.getType(), 1.0);
    Value from = math::CopySignOp::create(b, one, op.getLhs());
    Value to = math::CopySignOp::create(b, one, op.getRhs());
    return mul(b, g, mul(b, from, to));
  });
  return success();
}

/// z = x^n for an integer n: dx = g n x^(n-1), and 0 where n is 0, also at
/// x = 0.
static LogicalResult fpowiRule(math::FPowIOp op, ImplicitLocOpBuilder &b,
                               Value g, OperandGradients operands) {
  operands.set(0, [&] {
    Value n = op.getRhs();
    auto integer = [&](int64_t value) -> Value {
      TypedAttr attr =
          b.getIntegerAttr(getElementTypeOrSelf(n.getType()), value);
      if (auto shaped = dyn_cast<ShapedType>(n.getType()))
        attr = DenseElementsAttr::get(shaped, attr);
      return arith::ConstantOp::create(b, attr);
    };
    Value less = arith::SubIOp::create(b, n, integer(1));
    Value power = math::FPowIOp::create(b, op.getLhs(), less);
    Value factor = arith::SIToFPOp::create(b, g.getType(), n);
    Value isZero =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, n, integer(0));
    return arith::SelectOp::create(b, isZero, constant(b, g.getType(), 0.0),
                                   mul(b, mul(b, g, factor), power));
  });
  return success();
}

/// The gradient passes between the bounds and at them, and beyond a bound goes
/// to it. Where the bounds cross, the result is the upper one.
static LogicalResult clampfRule(math::ClampFOp op, ImplicitLocOpBuilder &b,
                                Value g, OperandGradients operands) {
  using P = arith::CmpFPredicate;
  Value x = op.getValue(), low = op.getMin(), high = op.getMax();
  Value zero = constant(b, g.getType(), 0.0);
  Value above = arith::CmpFOp::create(b, P::OGT, x, high);
  Value below = arith::CmpFOp::create(b, P::OLT, x, low);
  auto where = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, condition, yes, no);
  };
  operands.set(0, [&] { return where(above, zero, where(below, zero, g)); });
  operands.set(1, [&] { return where(above, zero, where(below, g, zero)); });
  operands.set(2, [&] { return where(above, g, zero); });
  return success();
}

/// Whether `value` is a constant without a zero.
static bool isNotZero(Value value) {
  DenseFPElementsAttr numbers;
  return matchPattern(value, m_Constant(&numbers)) &&
         llvm::none_of(numbers, [](const APFloat &x) { return x.isZero(); });
}

/// z = x^y: dx = g y x^(y-1), 0 where y = 0; dy = g z log(x), 0 where x = 0
/// (its limit for y > 0). A negative base has a gradient for the base only.
static LogicalResult powf(math::PowFOp op, ImplicitLocOpBuilder &b, Value g,
                          OperandGradients operands) {
  Value x = op.getLhs(), y = op.getRhs();
  operands.set(0, [&] {
    Value one = constant(b, y.getType(), 1.0);
    Value less = arith::SubFOp::create(b, y, one);
    Value slope = mul(b, mul(b, g, y), math::PowFOp::create(b, x, less));
    if (isNotZero(y))
      return slope;
    // Where x is 0 as well, the power is infinite.
    Value zero = constant(b, y.getType(), 0.0);
    Value isOne = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, y, zero);
    return Value(arith::SelectOp::create(b, isOne, zero, slope));
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
  attachRule<TanOp, unary<TanOp, tanGradient>>(context);
  attachRule<AtanOp, unary<AtanOp, atanGradient>>(context);
  attachRule<AsinOp, unary<AsinOp, asinGradient>>(context);
  attachRule<AcosOp, unary<AcosOp, acosGradient>>(context);
  attachRule<SinhOp, unary<SinhOp, sinhGradient>>(context);
  attachRule<CoshOp, unary<CoshOp, coshGradient>>(context);
  attachRule<AsinhOp, unary<AsinhOp, asinhGradient>>(context);
  attachRule<AcoshOp, unary<AcoshOp, acoshGradient>>(context);
  attachRule<AtanhOp, unary<AtanhOp, atanhGradient>>(context);
  attachRule<ErfcOp, unary<ErfcOp, erfcGradient>>(context);
  attachRule<Log10Op, unary<Log10Op, log10Gradient>>(context);
  attachRule<CbrtOp, unary<CbrtOp, cbrtGradient>>(context);
  attachRule<AbsFOp, unary<AbsFOp, absGradient>>(context);
  attachRule<PowFOp, powf>(context);
  attachRule<FmaOp, fma>(context);
  attachRule<Atan2Op, atan2Rule>(context);
  attachRule<CopySignOp, copysignRule>(context);
  attachRule<FPowIOp, fpowiRule>(context);
  attachRule<ClampFOp, clampfRule>(context);
  // Piecewise constant: the gradient is zero wherever there is one.
  attachNoGradient<FloorOp, CeilOp, RoundOp, RoundEvenOp, TruncOp>(context);
  attachNoGradient<IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp>(context);
}
