//===- Elementwise.cpp - arith and math -----------------------------------===//

#include "Rules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zero;

namespace {
using Real1 = double (*)(double);
using Real2 = double (*)(double, double);
using Integer2 = int64_t (*)(int64_t, int64_t);
} // namespace

template <typename OpT> static void real(EvaluationRules &rules, Real1 f) {
  rules.add<OpT>([f](OpT, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] = f(e.in[0]->reals[i]);
    return success();
  });
}

template <typename OpT> static void real(EvaluationRules &rules, Real2 f) {
  rules.add<OpT>([f](OpT, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] = f(e.in[0]->reals[i], e.in[1]->reals[i]);
    return success();
  });
}

template <typename OpT>
static void classify(EvaluationRules &rules, bool (*f)(double)) {
  rules.add<OpT>([f](OpT, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].integers[i] = f(e.in[0]->reals[i]);
    return success();
  });
}

template <typename OpT>
static void integer(EvaluationRules &rules, Integer2 f) {
  rules.add<OpT>([f](OpT, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].integers[i] = f(e.in[0]->integers[i], e.in[1]->integers[i]);
    return success();
  });
}

/// Conversions between types of one kind change nothing: all floats are f64.
template <typename OpT> static void identity(EvaluationRules &rules) {
  rules.add<OpT>([](OpT, Evaluation &e) {
    e.out[0] = *e.in[0];
    return success();
  });
}

template <typename OpT> static void toReal(EvaluationRules &rules) {
  rules.add<OpT>([](OpT, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] = static_cast<double>(e.in[0]->integers[i]);
    return success();
  });
}

template <typename OpT> static void toInteger(EvaluationRules &rules) {
  rules.add<OpT>([](OpT, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].integers[i] = static_cast<int64_t>(e.in[0]->reals[i]);
    return success();
  });
}

static LogicalResult constant(arith::ConstantOp op, Evaluation &e) {
  Array &out = e.out[0];
  if (auto real = dyn_cast<FloatAttr>(op.getValue())) {
    out.reals[0] = real.getValueAsDouble();
    return success();
  }
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    out.integers[0] = op.getType().isInteger(1)
                          ? integer.getValue().getBoolValue()
                          : integer.getInt();
    return success();
  }
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return op.emitOpError("holds a value that the interpreter cannot read: "
                          "expected a number or dense elements");
  bool isBoolean = getElementTypeOrSelf(op.getType()).isInteger(1);
  if (out.isFloat)
    for (auto [i, value] : llvm::enumerate(elements.getValues<FloatAttr>()))
      out.reals[i] = value.getValueAsDouble();
  else
    for (auto [i, value] : llvm::enumerate(elements.getValues<APInt>()))
      out.integers[i] = isBoolean ? value.getBoolValue() : value.getSExtValue();
  return success();
}

/// The predicates that no NaN decides: ordered and unordered ones differ only
/// there.
static bool compareNumbers(arith::CmpFPredicate predicate, double x, double y) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
  case P::UNO:
    return false;
  case P::AlwaysTrue:
  case P::ORD:
    return true;
  case P::OEQ:
  case P::UEQ:
    return x == y;
  case P::OGT:
  case P::UGT:
    return x > y;
  case P::OGE:
  case P::UGE:
    return x >= y;
  case P::OLT:
  case P::ULT:
    return x < y;
  case P::OLE:
  case P::ULE:
    return x <= y;
  case P::ONE:
  case P::UNE:
    return x != y;
  }
  llvm_unreachable("every predicate is handled");
}

/// What `predicate` says where an operand is NaN.
static bool isTrueOfNaN(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  return predicate == P::AlwaysTrue || predicate == P::UNO ||
         predicate == P::UEQ || predicate == P::UGT || predicate == P::UGE ||
         predicate == P::ULT || predicate == P::ULE || predicate == P::UNE;
}

static LogicalResult cmpf(arith::CmpFOp op, Evaluation &e) {
  arith::CmpFPredicate predicate = op.getPredicate();
  for (int64_t i = 0; i < e.out[0].size(); ++i) {
    double x = e.in[0]->reals[i], y = e.in[1]->reals[i];
    bool unordered = std::isnan(x) || std::isnan(y);
    e.out[0].integers[i] =
        unordered ? isTrueOfNaN(predicate) : compareNumbers(predicate, x, y);
  }
  return success();
}

static LogicalResult cmpi(arith::CmpIOp op, Evaluation &e) {
  using P = arith::CmpIPredicate;
  for (int64_t i = 0; i < e.out[0].size(); ++i) {
    int64_t x = e.in[0]->integers[i], y = e.in[1]->integers[i];
    auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
    bool result = false;
    switch (op.getPredicate()) {
    case P::eq:
      result = x == y;
      break;
    case P::ne:
      result = x != y;
      break;
    case P::slt:
      result = x < y;
      break;
    case P::sle:
      result = x <= y;
      break;
    case P::sgt:
      result = x > y;
      break;
    case P::sge:
      result = x >= y;
      break;
    case P::ult:
      result = ux < uy;
      break;
    case P::ule:
      result = ux <= uy;
      break;
    case P::ugt:
      result = ux > uy;
      break;
    case P::uge:
      result = ux >= uy;
      break;
    }
    e.out[0].integers[i] = result;
  }
  return success();
}

/// The condition may be one boolean for the whole tensor.
static LogicalResult selectElements(arith::SelectOp, Evaluation &e) {
  bool scalar = e.in[0]->rank() == 0;
  for (int64_t i = 0; i < e.out[0].size(); ++i) {
    bool condition = e.in[0]->integers[scalar ? 0 : i] != 0;
    e.out[0].copyElement(i, *e.in[condition ? 1 : 2], i);
  }
  return success();
}

static double propagateNaN(double x, double y, double result) {
  bool unordered = std::isnan(x) || std::isnan(y);
  return unordered ? std::numeric_limits<double>::quiet_NaN() : result;
}

static void addArith(EvaluationRules &rules) {
  using namespace arith;
  rules.add<ConstantOp>(constant);
  rules.add<CmpFOp>(cmpf);
  rules.add<CmpIOp>(cmpi);
  rules.add<SelectOp>(selectElements);
  real<AddFOp>(rules, [](double x, double y) { return x + y; });
  real<SubFOp>(rules, [](double x, double y) { return x - y; });
  real<MulFOp>(rules, [](double x, double y) { return x * y; });
  real<DivFOp>(rules, [](double x, double y) { return x / y; });
  real<RemFOp>(rules, [](double x, double y) { return std::fmod(x, y); });
  real<NegFOp>(rules, [](double x) { return -x; });
  real<MaximumFOp>(rules, [](double x, double y) {
    return propagateNaN(x, y, std::fmax(x, y));
  });
  real<MinimumFOp>(rules, [](double x, double y) {
    return propagateNaN(x, y, std::fmin(x, y));
  });
  real<MaxNumFOp>(rules, [](double x, double y) { return std::fmax(x, y); });
  real<MinNumFOp>(rules, [](double x, double y) { return std::fmin(x, y); });
  integer<AddIOp>(rules, [](int64_t x, int64_t y) { return x + y; });
  integer<SubIOp>(rules, [](int64_t x, int64_t y) { return x - y; });
  integer<MulIOp>(rules, [](int64_t x, int64_t y) { return x * y; });
  integer<DivSIOp>(rules,
                   [](int64_t x, int64_t y) { return y == 0 ? 0 : x / y; });
  integer<RemSIOp>(rules,
                   [](int64_t x, int64_t y) { return y == 0 ? 0 : x % y; });
  integer<AndIOp>(rules, [](int64_t x, int64_t y) { return x & y; });
  integer<OrIOp>(rules, [](int64_t x, int64_t y) { return x | y; });
  integer<XOrIOp>(rules, [](int64_t x, int64_t y) { return x ^ y; });
  identity<ExtFOp>(rules);
  identity<TruncFOp>(rules);
  identity<ExtSIOp>(rules);
  identity<ExtUIOp>(rules);
  identity<TruncIOp>(rules);
  identity<IndexCastOp>(rules);
  toReal<SIToFPOp>(rules);
  toReal<UIToFPOp>(rules);
  toInteger<FPToSIOp>(rules);
  toInteger<FPToUIOp>(rules);
}

static void addMath(EvaluationRules &rules) {
  using namespace math;
  real<ExpOp>(rules, [](double x) { return std::exp(x); });
  real<Exp2Op>(rules, [](double x) { return std::exp2(x); });
  real<ExpM1Op>(rules, [](double x) { return std::expm1(x); });
  real<LogOp>(rules, [](double x) { return std::log(x); });
  real<Log2Op>(rules, [](double x) { return std::log2(x); });
  real<Log1pOp>(rules, [](double x) { return std::log1p(x); });
  real<SqrtOp>(rules, [](double x) { return std::sqrt(x); });
  real<RsqrtOp>(rules, [](double x) { return 1.0 / std::sqrt(x); });
  real<TanhOp>(rules, [](double x) { return std::tanh(x); });
  real<ErfOp>(rules, [](double x) { return std::erf(x); });
  real<SinOp>(rules, [](double x) { return std::sin(x); });
  real<CosOp>(rules, [](double x) { return std::cos(x); });
  real<TanOp>(rules, [](double x) { return std::tan(x); });
  real<AtanOp>(rules, [](double x) { return std::atan(x); });
  real<AsinOp>(rules, [](double x) { return std::asin(x); });
  real<AcosOp>(rules, [](double x) { return std::acos(x); });
  real<SinhOp>(rules, [](double x) { return std::sinh(x); });
  real<CoshOp>(rules, [](double x) { return std::cosh(x); });
  real<AsinhOp>(rules, [](double x) { return std::asinh(x); });
  real<AcoshOp>(rules, [](double x) { return std::acosh(x); });
  real<AtanhOp>(rules, [](double x) { return std::atanh(x); });
  real<ErfcOp>(rules, [](double x) { return std::erfc(x); });
  real<Log10Op>(rules, [](double x) { return std::log10(x); });
  real<CbrtOp>(rules, [](double x) { return std::cbrt(x); });
  real<AbsFOp>(rules, [](double x) { return std::fabs(x); });
  real<FloorOp>(rules, [](double x) { return std::floor(x); });
  real<CeilOp>(rules, [](double x) { return std::ceil(x); });
  real<RoundOp>(rules, [](double x) { return std::round(x); });
  real<RoundEvenOp>(rules, [](double x) { return std::nearbyint(x); });
  real<TruncOp>(rules, [](double x) { return std::trunc(x); });
  real<PowFOp>(rules, [](double x, double y) { return std::pow(x, y); });
  real<Atan2Op>(rules, [](double y, double x) { return std::atan2(y, x); });
  real<CopySignOp>(rules,
                   [](double x, double y) { return std::copysign(x, y); });
  rules.add<FPowIOp>([](FPowIOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] = std::pow(e.in[0]->reals[i],
                                   static_cast<double>(e.in[1]->integers[i]));
    return success();
  });
  rules.add<ClampFOp>([](ClampFOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i) {
      double x = e.in[0]->reals[i], low = e.in[1]->reals[i];
      double high = e.in[2]->reals[i];
      double value = std::fmin(std::fmax(x, low), high);
      e.out[0].reals[i] = std::isnan(x) ? x : propagateNaN(low, high, value);
    }
    return success();
  });
  classify<IsFiniteOp>(rules, [](double x) { return std::isfinite(x); });
  classify<IsInfOp>(rules, [](double x) { return std::isinf(x); });
  classify<IsNaNOp>(rules, [](double x) { return std::isnan(x); });
  classify<IsNormalOp>(rules, [](double x) { return std::isnormal(x); });
  rules.add<FmaOp>([](FmaOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] =
          std::fma(e.in[0]->reals[i], e.in[1]->reals[i], e.in[2]->reals[i]);
    return success();
  });
}

void rules::addElementwise(EvaluationRules &rules) {
  addArith(rules);
  addMath(rules);
}
