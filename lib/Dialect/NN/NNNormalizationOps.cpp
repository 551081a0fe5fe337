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

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor op,
                                            SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.minimumRank("x", op.getX(), 1)) ||         // C1
      failed(checkScale(check, "w", op.getW(), op.getX())) || // C2, C3
      failed(checkScale(check, "b", op.getB(), op.getX())) ||
      failed(checkEps(check, op.getEps()))) // C4
    return failure();
  RankedTensorType statistic = rowStatistics(typeOf(op.getX()));
  results.append({op.getX().getType(), statistic, statistic}); // C5
  return success();
}

LogicalResult
LayerNormGradOp::inferReturnTypes(MLIRContext *,
                                  std::optional<Location> location, Adaptor op,
                                  SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.minimumRank("x", op.getX(), 1))) // C1
    return failure();
  RankedTensorType x = typeOf(op.getX()), statistic = rowStatistics(x);
  if (failed(check.type("dy", op.getDy(), x)) || // C2
      failed(checkScale(check, "w", op.getW(), op.getX())) ||
      failed(check.type("mean", op.getMean(), statistic)) || // C3
      failed(check.type("rstd", op.getRstd(), statistic)))
    return failure();
  Type w = op.getW().getType();
  results.append({x, w, w}); // C4
  return success();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor op,
                                          SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.minimumRank("x", op.getX(), 1)) ||         // C1
      failed(checkScale(check, "w", op.getW(), op.getX())) || // C2, C3
      failed(checkEps(check, op.getEps())))                   // C4
    return failure();
  RankedTensorType x = typeOf(op.getX());
  results.append({x, rowStatistics(x)}); // C5
  return success();
}

LogicalResult RmsNormGradOp::inferReturnTypes(MLIRContext *,
                                              std::optional<Location> location,
                                              Adaptor op,
                                              SmallVectorImpl<Type> &results) {
  Checker check(getOperationName(), location);
  if (failed(check.minimumRank("x", op.getX(), 1))) // C1
    return failure();
  RankedTensorType x = typeOf(op.getX());
  if (failed(check.type("dy", op.getDy(), x)) || // C2
      failed(checkScale(check, "w", op.getW(), op.getX())) ||
      failed(check.type("rstd", op.getRstd(), rowStatistics(x)))) // C3
    return failure();
  results.append({x, op.getW().getType()}); // C4
  return success();
}

LogicalResult SoftmaxOp::verify() {
  return Checker(getOperationName(), getLoc()).minimumRank("x", getX(), 1);
}

LogicalResult SoftmaxGradOp::verify() {
  return Checker(getOperationName(), getLoc()).minimumRank("y", getY(), 1);
}

LogicalResult DropoutOp::verify() {
  Checker check(getOperationName(), getLoc());
  if (failed(check.minimumRank("x", getX(), 1))) // C1
    return failure();
  double p = getP().convertToDouble();
  if (!(p >= 0 && p < 1)) // C2
    return check.error("p is " + std::to_string(p) +
                       ", wanted 0 or more and less than 1");
  if (getId() < 0) // C3
    return check.error("id is " + Twine(getId()) + ", wanted 0 or more");
  return success();
}
