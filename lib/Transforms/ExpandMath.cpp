//===- ExpandMath.cpp - math and conversions as plain arithmetic ----------===//

#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

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

/// sin and cos of f32. The argument is reduced to [-pi/4, pi/4] in f64, so
/// that arguments in the thousands (angles of positions) keep all their bits;
/// the polynomials are those of the Cephes library.
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
    Value rest = math::FmaOp::create(b, turns, f.constant(f64, -M_PI_2), wide);
    Value r = arith::TruncFOp::create(b, f32, rest);
    // The conversion to an integer is undefined out of range; such arguments
    // (and NaN) have no meaningful quadrant.
    constexpr double kLimit = 1 << 30;
    turns = arith::MaxNumFOp::create(b, turns, f.constant(f64, -kLimit));
    turns = arith::MinNumFOp::create(b, turns, f.constant(f64, kLimit));
    Value n = arith::FPToSIOp::create(b, i32, turns);
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

/// Whether upstream's polynomial for `name` is within 1e-6. Those of atan,
/// asin, acos (3e-6) and of sin and cos of large arguments are not. The
/// logarithms take subnormal arguments for the smallest normal number.
bool hasAccuratePolynomial(StringRef name) {
  return llvm::is_contained({"math.erf", "math.erfc", "math.exp", "math.expm1",
                             "math.log", "math.log1p", "math.log2",
                             "math.tanh"},
                            name);
}

struct ExpandMath : mlir::zero::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandSinCos<math::SinOp, 0>, ExpandSinCos<math::CosOp, 1>>(
        &getContext());
    // Powers with constant exponents, and functions made of others. What the
    // target has as an instruction (fma, floor, ceil, roundeven) stays.
    populateMathAlgebraicSimplificationPatterns(patterns);
    math::populateExpansionPatterns(patterns, {"cosh", "rsqrt", "sinh"});
    populateMathPolynomialApproximationPatterns(patterns,
                                                hasAccuratePolynomial);
    arith::populateExpandBFloat16Patterns(patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
