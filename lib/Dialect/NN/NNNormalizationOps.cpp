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

/// The constraints of layer norms, whatever they do besides.
template <typename Op> static LogicalResult checkLayerNorm(Op op) {
  Checker check(op);
  if (failed(check.minimumRank("x", op.getX(), 1)) ||         // C1
      failed(checkScale(check, "w", op.getW(), op.getX())) || // C2, C3
      failed(checkScale(check, "b", op.getB(), op.getX())) ||
      failed(checkEps(check, op.getEps()))) // C4
    return failure();
  RankedTensorType x = typeOf(op.getX()), statistic = rowStatistics(x);
  if (failed(check.type("y", op.getY(), x)) || // C5
      failed(check.type("mean", op.getMean(), statistic)))
    return failure();
  return check.type("rstd", op.getRstd(), statistic);
}

template <typename Op> static LogicalResult checkLayerNormGrad(Op op) {
  Checker check(op);
  if (failed(check.minimumRank("x", op.getX(), 1))) // C1
    return failure();
  RankedTensorType x = typeOf(op.getX()), statistic = rowStatistics(x);
  if (failed(check.type("dy", op.getDy(), x)) || // C2
      failed(checkScale(check, "w", op.getW(), op.getX())) ||
      failed(check.type("mean", op.getMean(), statistic)) || // C3
      failed(check.type("rstd", op.getRstd(), statistic)))
    return failure();
  if (failed(check.type("dx", op.getDx(), x)) || // C4
      failed(check.type("dw", op.getDw(), typeOf(op.getW()))))
    return failure();
  return check.type("db", op.getDb(), typeOf(op.getW()));
}

template <typename Op> static LogicalResult checkRmsNorm(Op op) {
  Checker check(op);
  if (failed(check.minimumRank("x", op.getX(), 1)) ||         // C1
      failed(checkScale(check, "w", op.getW(), op.getX())) || // C2, C3
      failed(checkEps(check, op.getEps())))                   // C4
    return failure();
  RankedTensorType x = typeOf(op.getX());
  if (failed(check.type("y", op.getY(), x))) // C5
    return failure();
  return check.type("rstd", op.getRstd(), rowStatistics(x));
}

template <typename Op> static LogicalResult checkRmsNormGrad(Op op) {
  Checker check(op);
  if (failed(check.minimumRank("x", op.getX(), 1))) // C1
    return failure();
  RankedTensorType x = typeOf(op.getX());
  if (failed(check.type("dy", op.getDy(), x)) || // C2
      failed(checkScale(check, "w", op.getW(), op.getX())) ||
      failed(check.type("rstd", op.getRstd(), rowStatistics(x)))) // C3
    return failure();
  if (failed(check.type("dx", op.getDx(), x))) // C4
    return failure();
  return check.type("dw", op.getDw(), typeOf(op.getW()));
}

/// C6 of norms of sums.
template <typename Op> static LogicalResult checkSum(Op op) {
  Checker check(op);
  if (failed(check.type("residual", op.getResidual(), typeOf(op.getX()))))
    return failure();
  return check.type("sum", op.getSum(), typeOf(op.getX()));
}

LogicalResult LayerNormOp::verify() { return checkLayerNorm(*this); }

LogicalResult LayerNormGradOp::verify() { return checkLayerNormGrad(*this); }

LogicalResult RmsNormOp::verify() { return checkRmsNorm(*this); }

LogicalResult RmsNormGradOp::verify() { return checkRmsNormGrad(*this); }

LogicalResult AddLayerNormOp::verify() {
  return failed(checkLayerNorm(*this)) ? failure() : checkSum(*this);
}

LogicalResult AddLayerNormGradOp::verify() {
  if (failed(checkLayerNormGrad(*this)))
    return failure();
  return Checker(*this).type("dsum", getDsum(), typeOf(getX())); // C5
}

LogicalResult AddRmsNormOp::verify() {
  return failed(checkRmsNorm(*this)) ? failure() : checkSum(*this);
}

LogicalResult AddRmsNormGradOp::verify() {
  if (failed(checkRmsNormGrad(*this)))
    return failure();
  return Checker(*this).type("dsum", getDsum(), typeOf(getX())); // C5
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
