//===- NNElementwise.cpp - activations in scalar arithmetic ---------------===//

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::nn;

namespace {

/// Writes scalar formulas as formulas.
struct Scalar {
  OpBuilder &builder;
  Location loc;
  Type type;

  Value constant(double value) const {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  }
  Value add(Value a, Value b) const {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) const {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) const {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value mul(double a, Value b) const { return mul(constant(a), b); }
  Value div(Value a, Value b) const {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value exp(Value a) const { return math::ExpOp::create(builder, loc, a); }

  /// 1 + exp(-x): infinite for very negative x, so that 1 over it is 0.
  Value sigmoidDenominator(Value x) const {
    Value negated = arith::NegFOp::create(builder, loc, x);
    return add(constant(1.0), exp(negated));
  }
};

constexpr double kCubic = 0.044715;
const double kSqrtTwoOverPi = std::sqrt(2.0 / M_PI);

} // namespace

/// tanh(sqrt(2/pi) (x + 0.044715 x^3)) or erf(x / sqrt(2)): twice the
/// probability, minus 1.
static Value geluCore(const Scalar &s, GeluForm form, Value x) {
  if (form == GeluForm::Exact)
    return math::ErfOp::create(s.builder, s.loc, s.mul(M_SQRT1_2, x));
  Value cube = s.mul(s.mul(x, x), x);
  Value argument = s.mul(kSqrtTwoOverPi, s.add(x, s.mul(kCubic, cube)));
  return math::TanhOp::create(s.builder, s.loc, argument);
}

/// The derivative of `core`, halved.
static Value geluSlope(const Scalar &s, GeluForm form, Value x, Value core) {
  Value square = s.mul(x, x);
  if (form == GeluForm::Exact) {
    double density = 1.0 / std::sqrt(2.0 * M_PI);
    return s.mul(density, s.exp(s.mul(-0.5, square)));
  }
  Value one = s.constant(1.0);
  Value inner = s.mul(kSqrtTwoOverPi, s.add(one, s.mul(3 * kCubic, square)));
  return s.mul(s.mul(0.5, s.sub(one, s.mul(core, core))), inner);
}

Value GeluOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange scalars) {
  Value x = scalars[0];
  Scalar s{builder, loc, x.getType()};
  Value core = geluCore(s, getForm(), x);
  return s.mul(s.mul(0.5, x), s.add(s.constant(1.0), core));
}

Value GeluGradOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange scalars) {
  Value dy = scalars[0], x = scalars[1];
  Scalar s{builder, loc, x.getType()};
  Value core = geluCore(s, getForm(), x);
  Value probability = s.mul(0.5, s.add(s.constant(1.0), core));
  Value slope = s.mul(x, geluSlope(s, getForm(), x, core));
  return s.mul(dy, s.add(probability, slope));
}

Value SiluOp::buildScalar(OpBuilder &builder, Location loc,
                          ValueRange scalars) {
  Value x = scalars[0];
  Scalar s{builder, loc, x.getType()};
  return s.div(x, s.sigmoidDenominator(x));
}

Value SiluGradOp::buildScalar(OpBuilder &builder, Location loc,
                              ValueRange scalars) {
  Value dy = scalars[0], x = scalars[1];
  Scalar s{builder, loc, x.getType()};
  Value one = s.constant(1.0);
  Value sigmoid = s.div(one, s.sigmoidDenominator(x));
  Value slope = s.add(one, s.mul(x, s.sub(one, sigmoid)));
  return s.mul(dy, s.mul(sigmoid, slope));
}

Value StopGradientOp::buildScalar(OpBuilder &, Location, ValueRange scalars) {
  return scalars[0];
}
