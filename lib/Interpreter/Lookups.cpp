//===- Lookups.cpp - embeddings and cross entropy -------------------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::zero;

static LogicalResult checkIds(Operation *op, const Array &ids, int64_t size) {
  for (int64_t id : ids.integers)
    if (id < 0 || id >= size)
      return op->emitOpError()
             << "looks up id " << id << " in a table of " << size
             << " rows: ids must be in [0, " << size << ")";
  return success();
}

static LogicalResult embedding(nn::EmbeddingOp op, Evaluation &e) {
  const Array &ids = *e.in[0], &table = *e.in[1];
  int64_t columns = table.shape[1];
  if (failed(checkIds(op, ids,
                      static_cast<int64_t>(
                          op.getNumEmbeddings().value_or(table.shape[0])))))
    return failure();
  for (int64_t i = 0; i < ids.size(); ++i)
    for (int64_t c = 0; c < columns; ++c)
      e.out[0].reals[i * columns + c] =
          table.reals[ids.integers[i] * columns + c];
  return success();
}

static LogicalResult embeddingGrad(nn::EmbeddingGradOp op, Evaluation &e) {
  const Array &dy = *e.in[0], &ids = *e.in[1];
  int64_t columns = e.out[0].shape[1], rows = e.out[0].shape[0];
  int64_t first = op.getRows() ? (*op.getRows())[0] : 0;
  if (!op.getRows() && failed(checkIds(op, ids, rows)))
    return failure();
  if (op.getInit())
    e.out[0].reals = e.in[2]->reals;
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = ids.integers[i] - first;
    for (int64_t c = 0; c < columns && row >= 0 && row < rows; ++c)
      e.out[0].reals[row * columns + c] += dy.reals[i * columns + c];
  }
  return success();
}

/// Rows of other ranges are zeros.
static LogicalResult partialEmbedding(nn::PartialEmbeddingOp op,
                                      Evaluation &e) {
  const Array &ids = *e.in[0], &table = *e.in[1];
  int64_t columns = table.shape[1], first = e.in[2]->integers[0];
  if (failed(checkIds(op, ids, static_cast<int64_t>(op.getNumEmbeddings()))))
    return failure();
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = ids.integers[i] - first;
    for (int64_t c = 0; c < columns && row >= 0 && row < table.shape[0]; ++c)
      e.out[0].reals[i * columns + c] = table.reals[row * columns + c];
  }
  return success();
}

static LogicalResult partialEmbeddingGrad(nn::PartialEmbeddingGradOp op,
                                          Evaluation &e) {
  const Array &dy = *e.in[0], &ids = *e.in[1];
  int64_t columns = e.out[0].shape[1], rows = e.out[0].shape[0];
  int64_t first =
      e.in[2]->integers[0] + (op.getRows() ? (*op.getRows())[0] : 0);
  if (op.getInit())
    e.out[0].reals = e.in[3]->reals;
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = ids.integers[i] - first;
    for (int64_t c = 0; c < columns && row >= 0 && row < rows; ++c)
      e.out[0].reals[row * columns + c] += dy.reals[i * columns + c];
  }
  return success();
}

/// The rows that count, or failure at a target that is no class.
static FailureOr<int64_t> countTargets(Operation *op, const Array &targets,
                                       int64_t classes, int64_t ignored) {
  int64_t count = 0;
  for (int64_t target : targets.integers) {
    if (target == ignored)
      continue;
    if (target < 0 || target >= classes)
      return op->emitOpError() << "has target " << target << ": expected one "
                               << "of " << classes << " classes or " << ignored
                               << ", which is ignored";
    ++count;
  }
  return count;
}

namespace {
/// The logarithm of the sum of a row's exponentials, in two parts: added up,
/// the second is lost where the first is large.
struct LogSumExp {
  double largest, rest;
  LogSumExp(const double *row, int64_t classes)
      : largest(*std::max_element(row, row + classes)), rest(0.0) {
    for (int64_t v = 0; v < classes; ++v)
      rest += std::exp(row[v] - largest);
    rest = std::log(rest);
  }
  double loss(double logit) const { return (largest - logit) + rest; }
  double probability(double logit) const { return std::exp(-loss(logit)); }
};
} // namespace

static LogicalResult crossEntropy(nn::CrossEntropyOp op, Evaluation &e) {
  const Array &logits = *e.in[0], &targets = *e.in[1];
  int64_t width = logits.shape.back();
  auto classes = static_cast<int64_t>(op.getClasses().value_or(width));
  auto ignored = static_cast<int64_t>(op.getIgnoreIndex());
  FailureOr<int64_t> count = countTargets(op, targets, classes, ignored);
  if (failed(count))
    return failure();
  double loss = 0.0;
  for (int64_t row = 0; row < targets.size(); ++row) {
    const double *in = logits.reals.data() + row * width;
    LogSumExp sum(in, classes);
    e.out[1].reals[row] = sum.largest + sum.rest;
    if (targets.integers[row] != ignored)
      loss += sum.loss(in[targets.integers[row]]) / *count;
  }
  e.out[0].reals[0] = loss;
  return success();
}

static LogicalResult crossEntropyGrad(nn::CrossEntropyGradOp op,
                                      Evaluation &e) {
  const Array &logits = *e.in[1], &targets = *e.in[2];
  int64_t width = logits.shape.back();
  auto classes = static_cast<int64_t>(op.getClasses().value_or(width));
  auto ignored = static_cast<int64_t>(op.getIgnoreIndex());
  FailureOr<int64_t> count = countTargets(op, targets, classes, ignored);
  if (failed(count))
    return failure();
  for (int64_t row = 0; row < targets.size(); ++row) {
    if (targets.integers[row] == ignored)
      continue;
    const double *in = logits.reals.data() + row * width;
    LogSumExp sum(in, classes);
    for (int64_t v = 0; v < classes; ++v) {
      double probability = sum.probability(in[v]);
      double target = v == targets.integers[row] ? 1.0 : 0.0;
      e.out[0].reals[row * width + v] =
          e.in[0]->reals[0] / *count * (probability - target);
    }
  }
  return success();
}

namespace {
/// The range of classes that a partial cross entropy is of.
struct ClassRange {
  template <typename OpT>
  ClassRange(OpT op, const Array &targets, const Array &first, int64_t width)
      : first(first.integers[0]),
        width(std::clamp<int64_t>(static_cast<int64_t>(op.getClasses()) -
                                      first.integers[0],
                                  0, width)),
        ignored(static_cast<int64_t>(op.getIgnoreIndex())),
        count(countTargets(op, targets, static_cast<int64_t>(op.getClasses()),
                           ignored)) {}
  /// Where a target is in the range.
  std::optional<int64_t> find(int64_t target) const {
    if (target == ignored || target < first || target >= first + width)
      return std::nullopt;
    return target - first;
  }
  /// Makes a row of logits its gradient.
  void differentiate(double *row, int64_t columns, int64_t target, double lse,
                     double dloss, double dlse) const {
    std::optional<int64_t> own = find(target);
    double scale = own ? dloss / static_cast<double>(*count) : 0.0;
    for (int64_t v = 0; v < columns; ++v)
      row[v] = v < width && dlse + scale != 0.0
                   ? (dlse + scale) * std::exp(row[v] - lse)
                   : 0.0;
    if (own)
      row[*own] -= scale;
  }
  int64_t first, width, ignored;
  FailureOr<int64_t> count;
};
} // namespace

/// Of rows of logits the logarithms of their sums; returns the loss.
static double evaluateRows(const ClassRange &range, const Array &targets,
                           const double *logits, int64_t columns, Array &lse) {
  double loss = 0.0;
  for (int64_t row = 0; row < targets.size(); ++row) {
    const double *in = logits + row * columns;
    lse.reals[row] = -std::numeric_limits<double>::infinity();
    if (range.width == 0)
      continue;
    LogSumExp sum(in, range.width);
    lse.reals[row] = sum.largest + sum.rest;
    if (std::optional<int64_t> own = range.find(targets.integers[row]))
      loss += sum.loss(in[*own]) / static_cast<double>(*range.count);
  }
  return loss;
}

static LogicalResult partialCrossEntropy(nn::PartialCrossEntropyOp op,
                                         Evaluation &e) {
  const Array &logits = *e.in[0], &targets = *e.in[1];
  ClassRange range(op, targets, *e.in[2], logits.shape.back());
  if (failed(range.count))
    return failure();
  e.out[0].reals[0] = evaluateRows(range, targets, logits.reals.data(),
                                   logits.shape.back(), e.out[1]);
  return success();
}

static LogicalResult partialCrossEntropyGrad(nn::PartialCrossEntropyGradOp op,
                                             Evaluation &e) {
  const Array &logits = *e.in[2], &targets = *e.in[3];
  int64_t columns = logits.shape.back();
  ClassRange range(op, targets, *e.in[4], columns);
  if (failed(range.count))
    return failure();
  e.out[0].reals = logits.reals;
  for (int64_t row = 0; row < targets.size(); ++row)
    range.differentiate(e.out[0].reals.data() + row * columns, columns,
                        targets.integers[row], e.in[5]->reals[row],
                        e.in[0]->reals[0], e.in[1]->reals[row]);
  return success();
}

namespace {
/// The product that a loss is of, and its gradient in place. `first` is where x
/// is among the operands, of which a bias is the last.
struct LinearLogits {
  template <typename OpT>
  LinearLogits(OpT op, Evaluation &e, unsigned first)
      : x(e.in[first]->reals), w(e.in[first + 1]->reals),
        bias(op.getBias() ? e.in[op->getNumOperands() - 1] : nullptr),
        count(e.in[first + 2]->size()), depth(e.in[first]->shape.back()),
        columns(e.in[first + 1]->shape[op.getTransposed() ? 0 : 1]),
        transposed(op.getTransposed()), logits(count * columns) {
    for (int64_t row = 0; row < rows(); ++row)
      for (int64_t n = 0; n < columns; ++n) {
        double sum = bias ? bias->reals[n] : 0.0;
        for (int64_t k = 0; k < depth; ++k)
          sum += x[row * depth + k] * w[weight(k, n)];
        logits[row * columns + n] = sum;
      }
  }

  int64_t rows() const { return count; }
  int64_t weight(int64_t k, int64_t n) const {
    return transposed ? n * depth + k : k * columns + n;
  }
  /// Adds the gradients of the operands, where the logits are theirs.
  void addGradients(Array &dx, Array &dw, Array *db) const {
    for (int64_t row = 0; row < rows(); ++row)
      for (int64_t n = 0; n < columns; ++n) {
        double gradient = logits[row * columns + n];
        for (int64_t k = 0; k < depth; ++k) {
          dx.reals[row * depth + k] += gradient * w[weight(k, n)];
          dw.reals[weight(k, n)] += gradient * x[row * depth + k];
        }
        if (db)
          db->reals[n] += gradient;
      }
  }

  const std::vector<double> &x, &w;
  const Array *bias;
  const int64_t count, depth, columns;
  const bool transposed;
  std::vector<double> logits;
};
} // namespace

/// A loss of a product: the logits whole, and their gradient in place.
template <typename OpT> struct LinearLoss : LinearLogits {
  LinearLoss(OpT op, Evaluation &e, unsigned first)
      : LinearLogits(op, e, first), targets(e.in[first + 2]->integers),
        ignored(op.getIgnoreIndex()),
        classes(op.getClasses().value_or(columns)) {}

  /// The loss as a mean over `count` rows.
  double evaluate(int64_t count) {
    double loss = 0.0;
    for (int64_t row = 0; row < rows(); ++row) {
      const double *in = logits.data() + row * columns;
      if (targets[row] != ignored)
        loss += LogSumExp(in, classes).loss(in[targets[row]]) / count;
    }
    return loss;
  }

  /// Makes the logits their gradient, times `scale`.
  void differentiate(double scale) {
    for (int64_t row = 0; row < rows(); ++row) {
      const LogSumExp sum(logits.data() + row * columns, classes);
      for (int64_t v = 0; v < columns; ++v) {
        double &value = logits[row * columns + v];
        value = targets[row] == ignored || v >= classes
                    ? 0.0
                    : scale * (sum.probability(value) -
                               (v == targets[row] ? 1.0 : 0.0));
      }
    }
  }

  const std::vector<int64_t> &targets;
  const int64_t ignored, classes;
};

static LogicalResult linearCrossEntropy(nn::LinearCrossEntropyOp op,
                                        Evaluation &e) {
  LinearLoss<nn::LinearCrossEntropyOp> loss(op, e, 0);
  FailureOr<int64_t> count =
      countTargets(op, *e.in[2], loss.classes, loss.ignored);
  if (failed(count))
    return failure();
  e.out[0].reals[0] = loss.evaluate(*count);
  return success();
}

static LogicalResult linearCrossEntropyGrad(nn::LinearCrossEntropyGradOp op,
                                            Evaluation &e) {
  LinearLoss<nn::LinearCrossEntropyGradOp> loss(op, e, 1);
  FailureOr<int64_t> count =
      countTargets(op, *e.in[3], loss.classes, loss.ignored);
  if (failed(count))
    return failure();
  e.out[0].reals[0] = loss.evaluate(*count);
  loss.differentiate(e.in[0]->reals[0] / *count);
  loss.addGradients(e.out[1], e.out[2], op.getDb() ? &e.out[3] : nullptr);
  return success();
}

static LogicalResult
linearPartialCrossEntropy(nn::LinearPartialCrossEntropyOp op, Evaluation &e) {
  LinearLogits product(op, e, 0);
  ClassRange range(op, *e.in[2], *e.in[3], product.columns);
  if (failed(range.count))
    return failure();
  e.out[0].reals[0] = evaluateRows(range, *e.in[2], product.logits.data(),
                                   product.columns, e.out[1]);
  return success();
}

static LogicalResult
linearPartialCrossEntropyGrad(nn::LinearPartialCrossEntropyGradOp op,
                              Evaluation &e) {
  LinearLogits product(op, e, 2);
  ClassRange range(op, *e.in[4], *e.in[5], product.columns);
  if (failed(range.count))
    return failure();
  for (int64_t row = 0; row < product.rows(); ++row)
    range.differentiate(product.logits.data() + row * product.columns,
                        product.columns, e.in[4]->integers[row],
                        e.in[6]->reals[row], e.in[0]->reals[0],
                        e.in[1]->reals[row]);
  product.addGradients(e.out[0], e.out[1], op.getDb() ? &e.out[2] : nullptr);
  return success();
}

void rules::addLookups(EvaluationRules &rules) {
  rules.add<nn::EmbeddingOp>(embedding);
  rules.add<nn::EmbeddingGradOp>(embeddingGrad);
  rules.add<nn::PartialEmbeddingOp>(partialEmbedding);
  rules.add<nn::PartialEmbeddingGradOp>(partialEmbeddingGrad);
  rules.add<nn::PartialCrossEntropyOp>(partialCrossEntropy);
  rules.add<nn::PartialCrossEntropyGradOp>(partialCrossEntropyGrad);
  rules.add<nn::LinearPartialCrossEntropyOp>(linearPartialCrossEntropy);
  rules.add<nn::LinearPartialCrossEntropyGradOp>(linearPartialCrossEntropyGrad);
  rules.add<nn::CrossEntropyOp>(crossEntropy);
  rules.add<nn::CrossEntropyGradOp>(crossEntropyGrad);
  rules.add<nn::LinearCrossEntropyOp>(linearCrossEntropy);
  rules.add<nn::LinearCrossEntropyGradOp>(linearCrossEntropyGrad);
}
