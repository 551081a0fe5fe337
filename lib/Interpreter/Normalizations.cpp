//===- Normalizations.cpp - norms and softmax of the last dimension -------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

template <typename Op> static LogicalResult layerNorm(Op op, Evaluation &e) {
  const Array &x = *e.in[0], &w = *e.in[1], &b = *e.in[2];
  int64_t columns = x.shape.back();
  double eps = op.getEps().convertToDouble();
  for (int64_t row = 0; row * columns < x.size(); ++row) {
    const double *in = x.reals.data() + row * columns;
    double mean = 0.0, variance = 0.0;
    for (int64_t c = 0; c < columns; ++c)
      mean += in[c] / columns;
    for (int64_t c = 0; c < columns; ++c)
      variance += (in[c] - mean) * (in[c] - mean) / columns;
    double rstd = 1.0 / std::sqrt(variance + eps);
    for (int64_t c = 0; c < columns; ++c)
      e.out[0].reals[row * columns + c] =
          (in[c] - mean) * rstd * w.reals[c] + b.reals[c];
    e.out[1].reals[row] = mean;
    e.out[2].reals[row] = rstd;
  }
  return success();
}

/// With n = (x - mean) rstd and g = dy w:
/// dx = rstd (g - mean of g - n mean of g n); dw = sum dy n; db = sum dy.
template <typename Op> static LogicalResult layerNormGrad(Op, Evaluation &e) {
  const Array &dy = *e.in[0], &x = *e.in[1], &w = *e.in[2];
  int64_t columns = x.shape.back();
  for (int64_t row = 0; row * columns < x.size(); ++row) {
    double mean = e.in[3]->reals[row], rstd = e.in[4]->reals[row];
    double meanG = 0.0, meanGN = 0.0;
    for (int64_t c = 0; c < columns; ++c) {
      int64_t i = row * columns + c;
      double normal = (x.reals[i] - mean) * rstd;
      meanG += dy.reals[i] * w.reals[c] / columns;
      meanGN += dy.reals[i] * w.reals[c] * normal / columns;
      e.out[1].reals[c] += dy.reals[i] * normal;
      e.out[2].reals[c] += dy.reals[i];
    }
    for (int64_t c = 0; c < columns; ++c) {
      int64_t i = row * columns + c;
      double normal = (x.reals[i] - mean) * rstd;
      e.out[0].reals[i] =
          rstd * (dy.reals[i] * w.reals[c] - meanG - normal * meanGN);
    }
  }
  return success();
}

template <typename Op> static LogicalResult rmsNorm(Op op, Evaluation &e) {
  const Array &x = *e.in[0], &w = *e.in[1];
  int64_t columns = x.shape.back();
  double eps = op.getEps().convertToDouble();
  for (int64_t row = 0; row * columns < x.size(); ++row) {
    double square = 0.0;
    for (int64_t c = 0; c < columns; ++c)
      square += x.reals[row * columns + c] * x.reals[row * columns + c];
    double rstd = 1.0 / std::sqrt(square / columns + eps);
    for (int64_t c = 0; c < columns; ++c)
      e.out[0].reals[row * columns + c] =
          x.reals[row * columns + c] * rstd * w.reals[c];
    e.out[1].reals[row] = rstd;
  }
  return success();
}

/// With n = x rstd and g = dy w: dx = rstd (g - n mean of g n); dw = sum dy n.
template <typename Op> static LogicalResult rmsNormGrad(Op, Evaluation &e) {
  const Array &dy = *e.in[0], &x = *e.in[1], &w = *e.in[2];
  int64_t columns = x.shape.back();
  for (int64_t row = 0; row * columns < x.size(); ++row) {
    double rstd = e.in[3]->reals[row], meanGN = 0.0;
    for (int64_t c = 0; c < columns; ++c) {
      int64_t i = row * columns + c;
      double normal = x.reals[i] * rstd;
      meanGN += dy.reals[i] * w.reals[c] * normal / columns;
      e.out[1].reals[c] += dy.reals[i] * normal;
    }
    for (int64_t c = 0; c < columns; ++c) {
      int64_t i = row * columns + c;
      e.out[0].reals[i] =
          rstd * (dy.reals[i] * w.reals[c] - x.reals[i] * rstd * meanGN);
    }
  }
  return success();
}

/// What `norm` computes of the sum of the first two operands, and the sum.
template <typename Op, LogicalResult (*norm)(Op, Evaluation &)>
static LogicalResult ofSum(Op op, Evaluation &e) {
  Array &sum = e.out.back();
  for (int64_t i = 0; i < sum.size(); ++i)
    sum.reals[i] = e.in[0]->reals[i] + e.in[1]->reals[i];
  SmallVector<const Array *> in(e.in.drop_front());
  in[0] = &sum;
  Evaluation inner{e.context, in, e.out.drop_back()};
  return norm(op, inner);
}

/// What `norm` computes without the second operand, which is then added to the
/// first result.
template <typename Op, LogicalResult (*norm)(Op, Evaluation &)>
static LogicalResult plusAddend(Op op, Evaluation &e) {
  SmallVector<const Array *> in(e.in.drop_front());
  in[0] = e.in[0];
  Evaluation inner{e.context, in, e.out};
  if (failed(norm(op, inner)))
    return failure();
  for (int64_t i = 0; i < e.out[0].size(); ++i)
    e.out[0].reals[i] += e.in[1]->reals[i];
  return success();
}

static LogicalResult softmax(nn::SoftmaxOp, Evaluation &e) {
  const Array &x = *e.in[0];
  int64_t columns = x.shape.back();
  for (int64_t begin = 0; begin < x.size(); begin += columns) {
    double largest = x.reals[begin], sum = 0.0;
    for (int64_t c = 0; c < columns; ++c)
      largest = std::fmax(largest, x.reals[begin + c]);
    for (int64_t c = 0; c < columns; ++c)
      sum += std::exp(x.reals[begin + c] - largest);
    for (int64_t c = 0; c < columns; ++c)
      e.out[0].reals[begin + c] = std::exp(x.reals[begin + c] - largest) / sum;
  }
  return success();
}

static LogicalResult softmaxGrad(nn::SoftmaxGradOp, Evaluation &e) {
  const Array &dy = *e.in[0], &y = *e.in[1];
  int64_t columns = y.shape.back();
  for (int64_t begin = 0; begin < y.size(); begin += columns) {
    double dot = 0.0;
    for (int64_t c = 0; c < columns; ++c)
      dot += dy.reals[begin + c] * y.reals[begin + c];
    for (int64_t c = 0; c < columns; ++c)
      e.out[0].reals[begin + c] =
          y.reals[begin + c] * (dy.reals[begin + c] - dot);
  }
  return success();
}

void rules::addNormalizations(EvaluationRules &rules) {
  using namespace nn;
  rules.add<LayerNormOp>(layerNorm<LayerNormOp>);
  rules.add<LayerNormGradOp>(layerNormGrad<LayerNormGradOp>);
  rules.add<RmsNormOp>(rmsNorm<RmsNormOp>);
  rules.add<RmsNormGradOp>(rmsNormGrad<RmsNormGradOp>);
  rules.add<AddLayerNormOp>(ofSum<AddLayerNormOp, layerNorm>);
  rules.add<AddLayerNormGradOp>(plusAddend<AddLayerNormGradOp, layerNormGrad>);
  rules.add<AddRmsNormOp>(ofSum<AddRmsNormOp, rmsNorm>);
  rules.add<AddRmsNormGradOp>(plusAddend<AddRmsNormGradOp, rmsNormGrad>);
  rules.add<nn::SoftmaxOp>(softmax);
  rules.add<nn::SoftmaxGradOp>(softmaxGrad);
}
