//===- BatchNorm.cpp - norms of channels over a micro-batch ---------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

/// Calls `body(c, i)` for each element i of each channel c.
template <typename Body>
static void forEachOfChannel(const Array &x, Body body) {
  int64_t plane = x.innerSize(2), channels = x.shape[1];
  for (int64_t i = 0; i < x.size(); ++i)
    body(i / plane % channels, i);
}

static LogicalResult batchNorm(nn::BatchNormOp op, Evaluation &e) {
  const Array &x = *e.in[0], &w = *e.in[1], &b = *e.in[2];
  Array &y = e.out[0], &mean = e.out[1], &variance = e.out[2];
  double count = double(x.size()) / x.shape[1];
  double eps = op.getEps().convertToDouble();
  forEachOfChannel(
      x, [&](int64_t c, int64_t i) { mean.reals[c] += x.reals[i] / count; });
  forEachOfChannel(x, [&](int64_t c, int64_t i) {
    double d = x.reals[i] - mean.reals[c];
    variance.reals[c] += d * d / count;
  });
  forEachOfChannel(x, [&](int64_t c, int64_t i) {
    double rstd = 1.0 / std::sqrt(variance.reals[c] + eps);
    y.reals[i] = (x.reals[i] - mean.reals[c]) * rstd * w.reals[c] + b.reals[c];
  });
  return success();
}

/// With n = (x - mean) rstd: db = sum dy; dw = sum dy n;
/// dx = w rstd (dy - db / count - n dw / count).
static LogicalResult batchNormGrad(nn::BatchNormGradOp op, Evaluation &e) {
  const Array &dy = *e.in[0], &x = *e.in[1], &w = *e.in[2], &mean = *e.in[3],
              &variance = *e.in[4];
  Array &dx = e.out[0], &dw = e.out[1], &db = e.out[2];
  double count = double(x.size()) / x.shape[1];
  double eps = op.getEps().convertToDouble();
  auto rstd = [&](int64_t c) {
    return 1.0 / std::sqrt(variance.reals[c] + eps);
  };
  auto normal = [&](int64_t c, int64_t i) {
    return (x.reals[i] - mean.reals[c]) * rstd(c);
  };
  forEachOfChannel(x, [&](int64_t c, int64_t i) {
    dw.reals[c] += dy.reals[i] * normal(c, i);
    db.reals[c] += dy.reals[i];
  });
  forEachOfChannel(x, [&](int64_t c, int64_t i) {
    dx.reals[i] = w.reals[c] * rstd(c) *
                  (dy.reals[i] - db.reals[c] / count -
                   normal(c, i) * dw.reals[c] / count);
  });
  return success();
}

void rules::addBatchNorm(EvaluationRules &rules) {
  rules.add<nn::BatchNormOp>(batchNorm);
  rules.add<nn::BatchNormGradOp>(batchNormGrad);
}
