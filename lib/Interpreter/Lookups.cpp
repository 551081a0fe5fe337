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

/// Rows of `table`, the first of which has the id `first`; zeros for others.
static void lookUp(const Array &ids, const Array &table, int64_t first,
                   Array &out) {
  int64_t columns = table.shape[1];
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = ids.integers[i] - first;
    for (int64_t c = 0; c < columns && row >= 0 && row < table.shape[0]; ++c)
      out.reals[i * columns + c] = table.reals[row * columns + c];
  }
}

/// Adds rows to those of a table that `lookUp` takes them from.
static void addRows(const Array &dy, const Array &ids, int64_t first,
                    Array &table) {
  int64_t columns = table.shape[1];
  for (int64_t i = 0; i < ids.size(); ++i) {
    int64_t row = ids.integers[i] - first;
    for (int64_t c = 0; c < columns && row >= 0 && row < table.shape[0]; ++c)
      table.reals[row * columns + c] += dy.reals[i * columns + c];
  }
}

static LogicalResult embedding(nn::EmbeddingOp op, Evaluation &e) {
  const Array &ids = *e.in[0], &table = *e.in[1];
  if (failed(checkIds(op, ids,
                      static_cast<int64_t>(
                          op.getNumEmbeddings().value_or(table.shape[0])))))
    return failure();
  lookUp(ids, table, /*first=*/0, e.out[0]);
  return success();
}

static LogicalResult embeddingGrad(nn::EmbeddingGradOp op, Evaluation &e) {
  const Array &ids = *e.in[1];
  if (!op.getRows() && failed(checkIds(op, ids, e.out[0].shape[0])))
    return failure();
  if (op.getInit())
    e.out[0].reals = e.in[2]->reals;
  addRows(*e.in[0], ids, op.getRows() ? (*op.getRows())[0] : 0, e.out[0]);
  return success();
}

static LogicalResult partialEmbedding(nn::PartialEmbeddingOp op,
                                      Evaluation &e) {
  const Array &ids = *e.in[0];
  if (failed(checkIds(op, ids, static_cast<int64_t>(op.getNumEmbeddings()))))
    return failure();
  lookUp(ids, *e.in[1], e.in[2]->integers[0], e.out[0]);
  return success();
}

static LogicalResult partialEmbeddingGrad(nn::PartialEmbeddingGradOp op,
                                          Evaluation &e) {
  if (op.getInit())
    e.out[0].reals = e.in[3]->reals;
  addRows(*e.in[0], *e.in[1],
          e.in[2]->integers[0] + (op.getRows() ? (*op.getRows())[0] : 0),
          e.out[0]);
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

namespace {
/// The classes that a cross entropy has logits of.
struct ClassRange {
  ClassRange(Operation *op, const Array &targets, int64_t first, int64_t width,
             int64_t classes, int64_t ignored, bool isSum)
      : first(first), width(std::clamp<int64_t>(classes - first, 0, width)),
        ignored(ignored), count(countTargets(op, targets, classes, ignored)) {
    if (isSum && succeeded(count))
      count = 1;
  }
  /// Where a target is in the range.
  std::optional<int64_t> find(int64_t target) const {
    if (target == ignored || target < first || target >= first + width)
      return std::nullopt;
    return target - first;
  }
  /// What the gradient of a row's loss is times; 0 of a row of another range.
  double scaleOf(int64_t target, double dloss) const {
    return find(target) ? dloss / static_cast<double>(*count) : 0.0;
  }
  int64_t first, width, ignored;
  FailureOr<int64_t> count;
};
} // namespace

/// All classes.
template <typename OpT>
static ClassRange wholeOf(OpT op, const Array &targets, int64_t width) {
  return {op,
          targets,
          /*first=*/0,
          width,
          static_cast<int64_t>(op.getClasses().value_or(width)),
          static_cast<int64_t>(op.getIgnoreIndex()),
          op.getSum()};
}

/// Those of a partial cross entropy.
template <typename OpT>
static ClassRange rangeOf(OpT op, const Array &targets, const Array &first,
                          int64_t width) {
  return {op,
          targets,
          first.integers[0],
          width,
          static_cast<int64_t>(op.getClasses()),
          static_cast<int64_t>(op.getIgnoreIndex()),
          op.getSum()};
}

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

/// Makes rows of logits their gradients.
static void differentiateRows(const ClassRange &range, const Array &targets,
                              double dloss, double *logits, int64_t columns) {
  for (int64_t row = 0; row < targets.size(); ++row) {
    double *at = logits + row * columns;
    int64_t target = targets.integers[row];
    std::optional<int64_t> own = range.find(target);
    const LogSumExp sum(at, range.width);
    for (int64_t v = 0; v < columns; ++v)
      at[v] = own && v < range.width
                  ? range.scaleOf(target, dloss) *
                        (sum.probability(at[v]) - (v == *own ? 1.0 : 0.0))
                  : 0.0;
  }
}

/// Those of a range, with the gradient of the logarithms.
static void differentiatePartialRows(const ClassRange &range,
                                     const Array &targets, double dloss,
                                     const Array &dlse, const Array &lse,
                                     double *logits, int64_t columns) {
  for (int64_t row = 0; row < targets.size(); ++row) {
    double *at = logits + row * columns;
    int64_t target = targets.integers[row];
    double scale = range.scaleOf(target, dloss);
    double weight = dlse.reals[row] + scale;
    for (int64_t v = 0; v < columns; ++v)
      at[v] = v < range.width && weight != 0.0
                  ? weight * std::exp(at[v] - lse.reals[row])
                  : 0.0;
    if (std::optional<int64_t> own = range.find(target))
      at[*own] -= scale;
  }
}

static LogicalResult crossEntropy(nn::CrossEntropyOp op, Evaluation &e) {
  const Array &logits = *e.in[0], &targets = *e.in[1];
  int64_t width = logits.shape.back();
  ClassRange range = wholeOf(op, targets, width);
  if (failed(range.count))
    return failure();
  e.out[0].reals[0] =
      evaluateRows(range, targets, logits.reals.data(), width, e.out[1]);
  return success();
}

static LogicalResult crossEntropyGrad(nn::CrossEntropyGradOp op,
                                      Evaluation &e) {
  const Array &logits = *e.in[1], &targets = *e.in[2];
  int64_t width = logits.shape.back();
  ClassRange range = wholeOf(op, targets, width);
  if (failed(range.count))
    return failure();
  e.out[0].reals = logits.reals;
  differentiateRows(range, targets, e.in[0]->reals[0], e.out[0].reals.data(),
                    width);
  return success();
}

static LogicalResult partialCrossEntropy(nn::PartialCrossEntropyOp op,
                                         Evaluation &e) {
  const Array &logits = *e.in[0], &targets = *e.in[1];
  ClassRange range = rangeOf(op, targets, *e.in[2], logits.shape.back());
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
  ClassRange range = rangeOf(op, targets, *e.in[4], columns);
  if (failed(range.count))
    return failure();
  e.out[0].reals = logits.reals;
  differentiatePartialRows(range, targets, e.in[0]->reals[0], *e.in[1],
                           *e.in[5], e.out[0].reals.data(), columns);
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

/// The loss of the logits: result 0.
template <typename OpT>
static FailureOr<ClassRange> evaluateLoss(OpT op, Evaluation &e,
                                          LinearLogits &product,
                                          const Array &targets) {
  ClassRange range = wholeOf(op, targets, product.columns);
  if (failed(range.count))
    return failure();
  Array lse;
  lse.reals.resize(static_cast<size_t>(targets.size()));
  e.out[0].reals[0] =
      evaluateRows(range, targets, product.logits.data(), product.columns, lse);
  return range;
}

static LogicalResult linearCrossEntropy(nn::LinearCrossEntropyOp op,
                                        Evaluation &e) {
  LinearLogits product(op, e, 0);
  return evaluateLoss(op, e, product, *e.in[2]);
}

static LogicalResult linearCrossEntropyGrad(nn::LinearCrossEntropyGradOp op,
                                            Evaluation &e) {
  LinearLogits product(op, e, 1);
  const Array &targets = *e.in[3];
  FailureOr<ClassRange> range = evaluateLoss(op, e, product, targets);
  if (failed(range))
    return failure();
  differentiateRows(*range, targets, e.in[0]->reals[0], product.logits.data(),
                    product.columns);
  product.addGradients(e.out[1], e.out[2], op.getDb() ? &e.out[3] : nullptr);
  return success();
}

static LogicalResult
linearPartialCrossEntropy(nn::LinearPartialCrossEntropyOp op, Evaluation &e) {
  LinearLogits product(op, e, 0);
  ClassRange range = rangeOf(op, *e.in[2], *e.in[3], product.columns);
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
  ClassRange range = rangeOf(op, *e.in[4], *e.in[5], product.columns);
  if (failed(range.count))
    return failure();
  differentiatePartialRows(range, *e.in[4], e.in[0]->reals[0], *e.in[1],
                           *e.in[6], product.logits.data(), product.columns);
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
