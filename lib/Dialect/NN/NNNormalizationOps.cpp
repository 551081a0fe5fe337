//===- NNNormalizationOps.cpp - constraints of normalisations, dropout ----===//

#include "Verification.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

static LogicalResult checkEps(const Checker &check, const APFloat &eps) {
  if (!eps.isNaN() && (!eps.isNegative() || eps.isZero()))
    return success();
  return check.error("eps is " + std::to_string(eps.convertToDouble()) +
                     ", wanted 0 or more");
}

/// `value` is a vector of the last dimension of `x`.
static LogicalResult checkScale(const Checker &check, StringRef name,
                                Value value, Value x) {
  RankedTensorType type = typeOf(x);
  return success(
      succeeded(check.shape(name, value, type.getShape().take_back())) &&
      succeeded(check.element(name, value, type.getElementType())));
}

LogicalResult LayerNormOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("x", getX(), 1)) ||      // C1
      failed(checkScale(check, "w", getW(), getX())) || // C2, C3
      failed(checkScale(check, "b", getB(), getX())) ||
      failed(checkEps(check, getEps()))) // C4
    return failure();
  RankedTensorType statistic = rowStatistics(typeOf(getX()));
  if (failed(check.type("y", getY(), typeOf(getX()))) || // C5
      failed(check.type("mean", getMean(), statistic)))
    return failure();
  return check.type("rstd", getRstd(), statistic);
}

LogicalResult LayerNormGradOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("x", getX(), 1))) // C1
    return failure();
  RankedTensorType x = typeOf(getX()), statistic = rowStatistics(x);
  if (failed(check.type("dy", getDy(), x)) || // C2
      failed(checkScale(check, "w", getW(), getX())) ||
      failed(check.type("mean", getMean(), statistic)) || // C3
      failed(check.type("rstd", getRstd(), statistic)))
    return failure();
  if (failed(check.type("dx", getDx(), x)) || // C4
      failed(check.type("dw", getDw(), typeOf(getW()))))
    return failure();
  return check.type("db", getDb(), typeOf(getW()));
}

LogicalResult RmsNormOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("x", getX(), 1)) ||      // C1
      failed(checkScale(check, "w", getW(), getX())) || // C2, C3
      failed(checkEps(check, getEps())))                // C4
    return failure();
  RankedTensorType x = typeOf(getX());
  if (failed(check.type("y", getY(), x))) // C5
    return failure();
  return check.type("rstd", getRstd(), rowStatistics(x));
}

LogicalResult RmsNormGradOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("x", getX(), 1))) // C1
    return failure();
  RankedTensorType x = typeOf(getX());
  if (failed(check.type("dy", getDy(), x)) || // C2
      failed(checkScale(check, "w", getW(), getX())) ||
      failed(check.type("rstd", getRstd(), rowStatistics(x)))) // C3
    return failure();
  if (failed(check.type("dx", getDx(), x))) // C4
    return failure();
  return check.type("dw", getDw(), typeOf(getW()));
}

/// C1 to C4 of batch norm, whose scale is along dimension 1.
static LogicalResult checkBatchNorm(const Checker &check, Value x,
                                    ArrayRef<std::pair<StringRef, Value>> scale,
                                    const APFloat &eps) {
  if (failed(check.minimumRank("x", x, 2))) // C1
    return failure();
  RankedTensorType type = typeOf(x);
  for (auto [name, value] : scale)
    if (failed(check.shape(name, value, {type.getDimSize(1)})) ||  // C2
        failed(check.element(name, value, type.getElementType()))) // C3
      return failure();
  return checkEps(check, eps); // C4
}

LogicalResult BatchNormOp::verify() {
  Checker check(*this);
  if (failed(checkBatchNorm(check, getX(), {{"w", getW()}, {"b", getB()}},
                            getEps())))
    return failure();
  RankedTensorType x = typeOf(getX());
  RankedTensorType statistic = statistics(x, {x.getDimSize(1)});
  if (failed(check.type("y", getY(), x)) || // C5
      failed(check.type("mean", getMean(), statistic)))
    return failure();
  return check.type("variance", getVariance(), statistic);
}

LogicalResult BatchNormGradOp::verify() {
  Checker check(*this);
  if (failed(checkBatchNorm(check, getX(), {{"w", getW()}}, getEps())) ||
      failed(check.type("dy", getDy(), typeOf(getX())))) // C2
    return failure();
  RankedTensorType x = typeOf(getX());
  RankedTensorType statistic = statistics(x, {x.getDimSize(1)});
  if (failed(check.type("mean", getMean(), statistic)) || // C3
      failed(check.type("variance", getVariance(), statistic)))
    return failure();
  if (failed(check.type("dx", getDx(), x)) || // C5
      failed(check.type("dw", getDw(), typeOf(getW()))))
    return failure();
  return check.type("db", getDb(), typeOf(getW()));
}

LogicalResult SoftmaxOp::verify() {
  return Checker(*this).minimumRank("x", getX(), 1);
}

LogicalResult SoftmaxGradOp::verify() {
  return Checker(*this).minimumRank("y", getY(), 1);
}

LogicalResult DropoutOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("x", getX(), 1))) // C1
    return failure();
  double p = getP().convertToDouble();
  if (!(p >= 0 && p < 1)) // C2
    return check.error("p is " + std::to_string(p) +
                       ", wanted 0 or more and less than 1");
  int64_t id = getIdAttr().getInt();
  if (id < 0) // C3
    return check.error("id is " + Twine(id) + ", wanted 0 or more");
  return success();
}
