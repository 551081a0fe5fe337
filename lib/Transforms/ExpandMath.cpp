//===- ExpandMath.cpp - math and conversions as plain arithmetic ----------===//

#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace mlir::zero {
#define GEN_PASS_DEF_EXPANDMATH
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;

namespace {

/// Writes formulas on values of one type, scalar or vector.
struct Formula {
  ImplicitLocOpBuilder &b;

  Type like(Type type, Type element) const {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped ? Type(shaped.clone(element)) : element;
  }
  Value constant(Type type, double value) const {
    TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attr = DenseElementsAttr::get(shaped, attr);
    return arith::ConstantOp::create(b, attr);
  }
  Value constant(Type type, int64_t value) const {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto shaped = dyn_cast<ShapedType>(type))
      attr = DenseElementsAttr::get(shaped, attr);
    return arith::ConstantOp::create(b, attr);
  }
  /// ((c0 x + c1) x + c2) ...
  Value polynomial(Value x, ArrayRef<double> coefficients) const {
    Value sum = constant(x.getType(), coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = math::FmaOp::create(b, sum, x, constant(x.getType(), coefficient));
    return sum;
  }
};

/// sin and cos of f32. The argument is reduced to [-pi/4, pi/4] in f64: the
/// product of a whole number of turns and the nearest f64 of pi/2 cancels
/// exactly, and what that f64 lacks of pi/2 is subtracted behind it. Beyond
/// 2^52 turns their number is not exact, and the result is NaN. The polynomials
/// are those of the Cephes library.
template <typename Op, int Quadrant>
struct ExpandSinCos : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    Type f32 = x.getType();
    if (!getElementTypeOrSelf(f32).isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Formula f{b};
    Type f64 = f.like(f32, b.getF64Type()), i32 = f.like(f32, b.getI32Type());

    Value wide = arith::ExtFOp::create(b, f64, x);
    Value turns = arith::MulFOp::create(b, wide, f.constant(f64, M_2_PI));
    turns = math::RoundEvenOp::create(b, turns);
    constexpr double kPi2Rest = 6.123233995736766e-17;
    constexpr double kMostTurns = 0x1p52;
    Value known = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE,
                                        math::AbsFOp::create(b, turns),
                                        f.constant(f64, kMostTurns));
    // What has no meaningful quadrant (NaN as well) has no conversion to an
    // integer either.
    turns = arith::SelectOp::create(b, known, turns, f.constant(f64, 0.0));
    Value rest = math::FmaOp::create(b, turns, f.constant(f64, -M_PI_2), wide);
    // Of many turns the rounded product may be one off.
    Value further = math::RoundEvenOp::create(
        b, arith::MulFOp::create(b, rest, f.constant(f64, M_2_PI)));
    turns = arith::AddFOp::create(b, turns, further);
    rest = math::FmaOp::create(b, further, f.constant(f64, -M_PI_2), rest);
    rest = math::FmaOp::create(b, turns, f.constant(f64, -kPi2Rest), rest);
    Value r = arith::TruncFOp::create(b, f32, rest);
    r = arith::SelectOp::create(
        b, known, r, f.constant(f32, std::numeric_limits<double>::quiet_NaN()));
    Value whole = math::FloorOp::create(
        b, arith::MulFOp::create(b, turns, f.constant(f64, 0.25)));
    Value quarter = math::FmaOp::create(b, whole, f.constant(f64, -4.0), turns);
    Value n = arith::FPToSIOp::create(b, i32, quarter);
    n = arith::AddIOp::create(b, n, f.constant(i32, int64_t{Quadrant}));

    Value z = arith::MulFOp::create(b, r, r);
    Value sine =
        f.polynomial(z, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    sine = math::FmaOp::create(b, arith::MulFOp::create(b, sine, z), r, r);
    Value cosine = f.polynomial(z, {2.443315711809948e-5, -1.388731625493765e-3,
                                    4.166664568298827e-2, -0.5, 1.0});

    Value zero = f.constant(i32, int64_t{0});
    auto hasBit = [&](int64_t bit) -> Value {
      Value masked = arith::AndIOp::create(b, n, f.constant(i32, bit));
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, zero);
    };
    Value result = arith::SelectOp::create(b, hasBit(1), cosine, sine);
    Value negated = arith::NegFOp::create(b, result);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, hasBit(2), negated,
                                                 result);
    return success();
  }
};

/// A formula for an operation of one operand in f32.
template <typename Op, Value (*build)(const Formula &f, Value x)>
struct ExpandFloat32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, build(Formula{b}, op.getOperand()));
    return success();
  }
};

Value compare(ImplicitLocOpBuilder &b, arith::CmpFPredicate predicate, Value x,
              Value y) {
  return arith::CmpFOp::create(b, predicate, x, y);
}

Value buildTan(const Formula &f, Value x) {
  return arith::DivFOp::create(f.b, math::SinOp::create(f.b, x),
                               math::CosOp::create(f.b, x));
}

/// Cephes: the argument is reduced to [0, tan(pi/8)].
Value buildAtan(const Formula &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  auto number = [&](double value) { return f.constant(x.getType(), value); };
  auto select = [&](Value condition, Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, condition, yes, no);
  };
  Value one = number(1.0), size = math::AbsFOp::create(b, x);
  Value steep = compare(b, arith::CmpFPredicate::OGT, size, number(2.41421356));
  Value middle =
      compare(b, arith::CmpFPredicate::OGT, size, number(0.41421356));
  Value inverse = arith::NegFOp::create(b, arith::DivFOp::create(b, one, size));
  Value turned = arith::DivFOp::create(b, arith::SubFOp::create(b, size, one),
                                       arith::AddFOp::create(b, size, one));
  Value r = select(steep, inverse, select(middle, turned, size));
  Value base = select(steep, number(M_PI_2),
                      select(middle, number(M_PI_4), number(0.0)));
  Value z = arith::MulFOp::create(b, r, r);
  Value p = f.polynomial(z, {8.05374449538e-2, -1.38776856032e-1,
                             1.99777106478e-1, -3.33329491539e-1});
  p = math::FmaOp::create(b, arith::MulFOp::create(b, p, z), r, r);
  return math::CopySignOp::create(b, arith::AddFOp::create(b, base, p), x);
}

/// asin(x) for 0 <= x <= 1/2, as Cephes has it.
Value buildSmallAsin(const Formula &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  Value z = arith::MulFOp::create(b, x, x);
  Value p = f.polynomial(z, {4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2,
                             7.4953002686e-2, 1.6666752422e-1});
  return math::FmaOp::create(b, arith::MulFOp::create(b, p, z), x, x);
}

/// asin(|x|) or acos(|x|): above 1/2, both are of sqrt((1 - |x|) / 2).
Value buildArc(const Formula &f, Value x, bool isCosine) {
  ImplicitLocOpBuilder &b = f.b;
  auto number = [&](double value) { return f.constant(x.getType(), value); };
  Value size = math::AbsFOp::create(b, x);
  Value large = compare(b, arith::CmpFPredicate::OGT, size, number(0.5));
  Value half = arith::MulFOp::create(
      b, arith::SubFOp::create(b, number(1.0), size), number(0.5));
  Value r =
      arith::SelectOp::create(b, large, math::SqrtOp::create(b, half), size);
  Value arc = buildSmallAsin(f, r);
  Value twice = arith::MulFOp::create(b, arc, number(2.0));
  Value rest = arith::SubFOp::create(b, number(M_PI_2), isCosine ? arc : twice);
  return isCosine ? arith::SelectOp::create(b, large, twice, rest)
                  : arith::SelectOp::create(b, large, rest, arc);
}

Value buildAsin(const Formula &f, Value x) {
  return math::CopySignOp::create(f.b, buildArc(f, x, /*isCosine=*/false), x);
}

Value buildAcos(const Formula &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  Value arc = buildArc(f, x, /*isCosine=*/true);
  Value negative =
      compare(b, arith::CmpFPredicate::OLT, x, f.constant(x.getType(), 0.0));
  Value mirrored = arith::SubFOp::create(b, f.constant(x.getType(), M_PI), arc);
  return arith::SelectOp::create(b, negative, mirrored, arc);
}

/// (u + u / (u + 1)) / 2 with u = exp(|x|) - 1 keeps its precision near 0,
/// which the difference of two exponentials loses.
Value buildSinh(const Formula &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  auto number = [&](double value) { return f.constant(x.getType(), value); };
  Value u = math::ExpM1Op::create(b, math::AbsFOp::create(b, x));
  Value rest =
      arith::DivFOp::create(b, u, arith::AddFOp::create(b, u, number(1.0)));
  // An infinite u has no quotient.
  Value huge = compare(b, arith::CmpFPredicate::OGT, u, number(1e10));
  rest = arith::SelectOp::create(b, huge, number(1.0), rest);
  Value sum =
      arith::MulFOp::create(b, arith::AddFOp::create(b, u, rest), number(0.5));
  return math::CopySignOp::create(b, sum, x);
}

/// e^x for 0 <= x <= 20, bitwise equal to the runtime's `exponential`: adding
/// 1.5 * 2^23 rounds x / ln 2 to an integer, whose bits are the exponent.
Value buildExponential(const Formula &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  Type f32 = x.getType(), i32 = f.like(f32, b.getI32Type());
  Value shift = f.constant(f32, 0x1.8p23);
  Value shifted =
      math::FmaOp::create(b, x, f.constant(f32, 1.44269504088896341), shift);
  Value n = arith::SubFOp::create(b, shifted, shift);
  Value r = math::FmaOp::create(b, n, f.constant(f32, -0.693145751953125), x);
  r = math::FmaOp::create(b, n, f.constant(f32, -1.42860682030941723e-6), r);
  Value p = f.polynomial(r, {1.9841270e-4, 1.3888889e-3, 8.3333333e-3,
                             4.1666667e-2, 1.6666667e-1, 0.5});
  p = math::FmaOp::create(b, p, arith::MulFOp::create(b, r, r), r);
  p = arith::AddFOp::create(b, p, f.constant(f32, 1.0));
  Value exponent = arith::BitcastOp::create(b, i32, shifted);
  exponent = arith::AddIOp::create(b, exponent,
                                   f.constant(i32, int64_t{127 - 0x4b400000}));
  exponent = arith::ShLIOp::create(b, exponent, f.constant(i32, int64_t{23}));
  return arith::MulFOp::create(b, p,
                               arith::BitcastOp::create(b, f32, exponent));
}

/// Cephes: 1 - 2 / (e^2|x| + 1), and a polynomial where the difference would
/// lose bits. Within 1.3 units in the last place; upstream's quotient is off by
/// up to 4.3 and is 1 from 8 on.
Value buildTanh(const Formula &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  auto number = [&](double value) { return f.constant(x.getType(), value); };
  Value one = number(1.0), size = math::AbsFOp::create(b, x);
  Value large = compare(b, arith::CmpFPredicate::OGT, size, number(10.0));
  Value bounded = arith::SelectOp::create(b, large, number(10.0), size);
  Value power = buildExponential(f, arith::AddFOp::create(b, bounded, bounded));
  Value rest = arith::DivFOp::create(b, number(2.0),
                                     arith::AddFOp::create(b, power, one));
  rest = arith::SubFOp::create(b, one, rest);
  Value z = arith::MulFOp::create(b, size, size);
  Value p =
      f.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                       1.33314422036e-1, -3.33332819422e-1});
  p = math::FmaOp::create(b, arith::MulFOp::create(b, p, z), size, size);
  Value small = compare(b, arith::CmpFPredicate::OLT, size, number(0.625));
  return math::CopySignOp::create(b, arith::SelectOp::create(b, small, p, rest),
                                  x);
}

/// The upper bound wins where the bounds cross; NaN stays NaN.
struct ExpandClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value raised = arith::MaximumFOp::create(rewriter, op.getLoc(),
                                             op.getValue(), op.getMin());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, raised, op.getMax());
    return success();
  }
};

/// Questions about a float as comparisons, which every target has.
template <typename Op> struct ExpandClassification : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    using P = arith::CmpFPredicate;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getOperand();
    const llvm::fltSemantics &semantics =
        cast<FloatType>(getElementTypeOrSelf(x.getType())).getFloatSemantics();
    Value size = math::AbsFOp::create(b, x);
    auto is = [&](P predicate, const APFloat &bound) {
      TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(x.getType()), bound);
      if (auto shaped = dyn_cast<ShapedType>(x.getType()))
        attr = DenseElementsAttr::get(shaped, attr);
      return compare(b, predicate, size, arith::ConstantOp::create(b, attr));
    };
    Value result;
    if constexpr (std::is_same_v<Op, math::IsNaNOp>)
      result = compare(b, P::UNO, x, x);
    else if constexpr (std::is_same_v<Op, math::IsInfOp>)
      result = is(P::OEQ, APFloat::getInf(semantics));
    else
      result = is(P::OLT, APFloat::getInf(semantics));
    if constexpr (std::is_same_v<Op, math::IsNormalOp>)
      result = arith::AndIOp::create(
          b, result, is(P::OGE, APFloat::getSmallestNormalized(semantics)));
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// A power with an integer exponent: products for a small constant one, powf
/// of the exponent as a float for others.
struct ExpandIntegerPower : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value x = op.getLhs();
    APInt exponent;
    if (!matchPattern(op.getRhs(), m_ConstantInt(&exponent)) ||
        exponent.sgt(kProducts) || exponent.slt(-kProducts)) {
      Value power = arith::SIToFPOp::create(b, x.getType(), op.getRhs());
      rewriter.replaceOpWithNewOp<math::PowFOp>(op, x, power);
      return success();
    }
    Value one = Formula{b}.constant(x.getType(), 1.0);
    Value product = one;
    for (uint64_t rest = exponent.abs().getZExtValue(); rest; rest >>= 1) {
      if (rest & 1)
        product = product == one ? x : arith::MulFOp::create(b, product, x);
      if (rest > 1)
        x = arith::MulFOp::create(b, x, x);
    }
    if (exponent.isNegative())
      product = arith::DivFOp::create(b, one, product);
    rewriter.replaceOp(op, product);
    return success();
  }

private:
  static constexpr int64_t kProducts = 64;
};

/// Whether upstream's polynomial for `name` is within 1e-6. Those of atan,
/// asin, acos (3e-6), tanh and of sin and cos of large arguments are not. The
/// logarithms take subnormal arguments for the smallest normal number.
bool hasAccuratePolynomial(StringRef name) {
  return llvm::is_contained({"math.erf", "math.erfc", "math.exp", "math.expm1",
                             "math.log", "math.log1p", "math.log2"},
                            name);
}

struct ExpandMath : mlir::zero::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandSinCos<math::SinOp, 0>, ExpandSinCos<math::CosOp, 1>>(
        &getContext());
    patterns.add<ExpandFloat32<math::TanOp, buildTan>,
                 ExpandFloat32<math::AtanOp, buildAtan>,
                 ExpandFloat32<math::AsinOp, buildAsin>,
                 ExpandFloat32<math::AcosOp, buildAcos>,
                 ExpandFloat32<math::SinhOp, buildSinh>,
                 ExpandFloat32<math::TanhOp, buildTanh>, ExpandClamp,
                 ExpandIntegerPower, ExpandClassification<math::IsNaNOp>,
                 ExpandClassification<math::IsInfOp>,
                 ExpandClassification<math::IsFiniteOp>,
                 ExpandClassification<math::IsNormalOp>>(&getContext());
    // Powers with constant exponents, and functions made of others. What the
    // target has as an instruction (fma, floor, ceil, roundeven) stays.
    populateMathAlgebraicSimplificationPatterns(patterns);
    math::populateExpansionPatterns(patterns, {"cosh", "rsqrt"});
    populateMathPolynomialApproximationPatterns(patterns,
                                                hasAccuratePolynomial);
    arith::populateExpandBFloat16Patterns(patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
