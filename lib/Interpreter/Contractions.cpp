//===- Contractions.cpp - nn.linear and its kin, nn.matmul ----------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

using namespace mlir;
using namespace mlir::zero;

/// y[r, n] = sum over k of x[r, k] w[k, n], plus b[n]; of nn.linear, or of an
/// operation that begins with one.
template <typename OpT>
static void multiply(OpT op, const Array *bias, Evaluation &e) {
  const Array &x = *e.in[0], &w = *e.in[1];
  bool transposed = op.getTransposed();
  int64_t depth = x.shape.back(), columns = w.shape[transposed ? 0 : 1];
  int64_t rows = e.out[0].size() / columns;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t n = 0; n < columns; ++n) {
      double sum = bias ? bias->reals[n] : 0.0;
      for (int64_t k = 0; k < depth; ++k) {
        double weight =
            transposed ? w.reals[n * depth + k] : w.reals[k * columns + n];
        sum += x.reals[r * depth + k] * weight;
      }
      e.out[0].reals[r * columns + n] = sum;
    }
}

static LogicalResult linear(nn::LinearOp op, Evaluation &e) {
  multiply(op, op.getBias() ? e.in[2] : nullptr, e);
  return success();
}

static LogicalResult linearAdd(nn::LinearAddOp op, Evaluation &e) {
  multiply(op, op.getBias() ? e.in[3] : nullptr, e);
  for (int64_t i = 0; i < e.out[0].size(); ++i)
    e.out[0].reals[i] += e.in[2]->reals[i];
  return success();
}

static LogicalResult linearGelu(nn::LinearGeluOp op, Evaluation &e) {
  multiply(op, op.getBias() ? e.in[2] : nullptr, e);
  if (op.getH())
    e.out[1].reals = e.out[0].reals;
  for (double &value : e.out[0].reals)
    value = rules::tanhGelu(value);
  return success();
}

static LogicalResult linearGeluGrad(nn::LinearGeluGradOp op, Evaluation &e) {
  multiply(op, /*bias=*/nullptr, e);
  Array &dh = e.out[0];
  for (int64_t i = 0; i < dh.size(); ++i)
    dh.reals[i] *= rules::tanhGeluDerivative(e.in[2]->reals[i]);
  if (op.getDb())
    for (int64_t i = 0; i < dh.size(); ++i)
      e.out[1].reals[i % e.out[1].size()] += dh.reals[i];
  return success();
}

static LogicalResult linearWeightGrad(nn::LinearWeightGradOp op,
                                      Evaluation &e) {
  const Array &dy = *e.in[0], &x = *e.in[1];
  Array &dw = e.out[0], &db = e.out[1];
  int64_t columns = dy.shape.back(), depth = x.shape.back();
  for (int64_t i = 0; i < dy.size(); ++i) {
    int64_t row = i / columns, n = i % columns;
    db.reals[n] += dy.reals[i];
    for (int64_t k = 0; k < depth; ++k)
      dw.reals[op.getTransposed() ? n * depth + k : k * columns + n] +=
          x.reals[row * depth + k] * dy.reals[i];
  }
  return success();
}

/// c[i, m, n] = sum over k of a[i, m, k] b[i, k, n], i the batch; with `rows`,
/// m begins at their first.
static LogicalResult matmul(nn::MatmulOp op, Evaluation &e) {
  const Array &a = *e.in[0], &b = *e.in[1];
  bool transposeA = op.getTransposeA(), transposeB = op.getTransposeB();
  int64_t rank = a.rank();
  int64_t rows = e.out[0].shape[rank - 2], columns = e.out[0].shape[rank - 1];
  int64_t depth = a.shape[transposeA ? rank - 2 : rank - 1];
  int64_t stored = a.shape[transposeA ? rank - 1 : rank - 2];
  int64_t first = op.getRows() ? (*op.getRows())[0] : 0;
  int64_t batches = 1;
  for (int64_t size : ArrayRef(a.shape).drop_back(2))
    batches *= size;
  for (int64_t i = 0; i < batches; ++i) {
    const double *left = a.reals.data() + i * stored * depth;
    const double *right = b.reals.data() + i * depth * columns;
    double *out = e.out[0].reals.data() + i * rows * columns;
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < columns; ++n)
        for (int64_t k = 0; k < depth; ++k)
          out[m * columns + n] +=
              left[transposeA ? k * stored + first + m
                              : (first + m) * depth + k] *
              right[transposeB ? n * depth + k : k * columns + n];
  }
  return success();
}

void rules::addContractions(EvaluationRules &rules) {
  rules.add<nn::LinearOp>(linear);
  rules.add<nn::LinearAddOp>(linearAdd);
  rules.add<nn::LinearGeluOp>(linearGelu);
  rules.add<nn::LinearGeluGradOp>(linearGeluGrad);
  rules.add<nn::LinearWeightGradOp>(linearWeightGrad);
  rules.add<nn::MatmulOp>(matmul);
}
