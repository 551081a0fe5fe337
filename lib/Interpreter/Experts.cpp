//===- Experts.cpp - rows that go to experts, and come back ---------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

using namespace mlir;
using namespace mlir::zero;

static LogicalResult checkExperts(Operation *op, const Array &ids,
                                  int64_t experts) {
  for (int64_t id : ids.integers)
    if (id < 0 || id >= experts)
      return op->emitOpError() << "has the expert " << id << " of " << experts
                               << ": experts must be in [0, " << experts << ")";
  return success();
}

static LogicalResult dispatch(nn::DispatchOp op, Evaluation &e) {
  const Array &rows = *e.in[0], &ids = *e.in[1];
  Array &sorted = e.out[0], &places = e.out[1], &offsets = e.out[2];
  int64_t choices = ids.shape[1], width = rows.shape[1], end = 0;
  int64_t first = op.getFirst() ? e.in[2]->integers[0] : 0;
  if (failed(checkExperts(op, ids, static_cast<int64_t>(op.getExperts()))))
    return failure();
  llvm::fill(places.integers, -1);
  for (int64_t group = 0; group < offsets.size(); ++group) {
    for (auto [choice, id] : llvm::enumerate(ids.integers)) {
      if (id != first + group || end == sorted.shape[0])
        continue;
      places.integers[choice] = end;
      std::copy_n(rows.reals.begin() +
                      static_cast<int64_t>(choice) / choices * width,
                  width, sorted.reals.begin() + end++ * width);
    }
    offsets.integers[group] = end;
  }
  return success();
}

/// The choices in the order in which they take places: where none is given, the
/// first ones of all rows, then the second ones.
static FailureOr<std::vector<int64_t>>
orderOf(nn::CapacityDispatchOp op, const Array *given, const Array &ids) {
  int64_t choices = ids.shape[1], all = ids.size();
  std::vector<int64_t> order(all);
  if (!given) {
    for (int64_t i = 0; i < all; ++i)
      order[i] = i % ids.shape[0] * choices + i / ids.shape[0];
    return order;
  }
  for (int64_t choice : given->integers)
    if (choice < 0 || choice >= all)
      return op.emitOpError()
             << "has the choice " << choice << " of " << all
             << " in its order: choices must be in [0, " << all << ")";
  return given->integers;
}

static LogicalResult capacityDispatch(nn::CapacityDispatchOp op,
                                      Evaluation &e) {
  const Array &rows = *e.in[0], &ids = *e.in[1];
  Array &sorted = e.out[0], &places = e.out[1], &counts = e.out[2];
  int64_t width = rows.shape[1], capacity = sorted.shape[1];
  if (failed(checkExperts(op, ids, counts.size())))
    return failure();
  auto order = orderOf(op, op.getOrder() ? e.in[2] : nullptr, ids);
  if (failed(order))
    return failure();
  llvm::fill(places.integers, -1);
  for (int64_t choice : *order) {
    int64_t expert = ids.integers[choice];
    int64_t taken = counts.integers[expert]++;
    if (taken >= capacity)
      continue;
    int64_t place = expert * capacity + taken;
    places.integers[choice] = place;
    std::copy_n(rows.reals.begin() + choice / ids.shape[1] * width, width,
                sorted.reals.begin() + place * width);
  }
  return success();
}

/// Calls `body(choice, row, place, weight)` for each choice that has a place; a
/// choice without one of `weights` weighs 1.
static LogicalResult
forEachPlace(Operation *op, const Array &places, int64_t rows,
             const Array *weights,
             llvm::function_ref<void(int64_t, int64_t, int64_t, double)> body) {
  int64_t choices = places.shape[1];
  for (auto [choice, place] : llvm::enumerate(places.integers)) {
    if (place < -1 || place >= rows)
      return op->emitOpError()
             << "has the place " << place << " of " << rows
             << " rows: places must be in [0, " << rows << "), or -1";
    if (place >= 0)
      body(static_cast<int64_t>(choice), static_cast<int64_t>(choice) / choices,
           place, weights ? weights->reals[choice] : 1.0);
  }
  return success();
}

static LogicalResult combine(nn::CombineOp op, Evaluation &e) {
  const Array &rows = *e.in[0];
  Array &y = e.out[0];
  int64_t width = rows.shape[1];
  return forEachPlace(
      op, *e.in[1], rows.shape[0], op.getWeights() ? e.in[2] : nullptr,
      [&](int64_t, int64_t row, int64_t place, double weight) {
        for (int64_t i = 0; i < width; ++i)
          y.reals[row * width + i] += weight * rows.reals[place * width + i];
      });
}

static LogicalResult combineGrad(nn::CombineGradOp op, Evaluation &e) {
  const Array &dy = *e.in[0], &rows = *e.in[1];
  Array &drows = e.out[0];
  int64_t width = rows.shape[1];
  return forEachPlace(
      op, *e.in[2], rows.shape[0], op.getWeights() ? e.in[3] : nullptr,
      [&](int64_t choice, int64_t row, int64_t place, double weight) {
        for (int64_t i = 0; i < width; ++i) {
          double gradient = dy.reals[row * width + i];
          drows.reals[place * width + i] = weight * gradient;
          if (op.getWeights())
            e.out[1].reals[choice] += gradient * rows.reals[place * width + i];
        }
      });
}

/// Calls `body(group, begin, end)` for each group of rows that `offsets` cut.
static LogicalResult
forEachGroup(Operation *op, const Array &offsets, int64_t rows,
             llvm::function_ref<void(int64_t, int64_t, int64_t)> body) {
  int64_t begin = 0;
  for (auto [group, end] : llvm::enumerate(offsets.integers)) {
    if (end < begin || end > rows)
      return op->emitOpError()
             << "has the offset " << end << " after " << begin
             << ": offsets must not decrease, and not exceed the " << rows
             << " rows";
    body(group, begin, end);
    begin = end;
  }
  return success();
}

static LogicalResult groupedMatmul(nn::GroupedMatmulOp op, Evaluation &e) {
  const Array &a = *e.in[0], &b = *e.in[1];
  Array &c = e.out[0];
  int64_t depth = a.shape[1], columns = c.shape[1];
  auto weight = [&](int64_t group, int64_t k, int64_t n) {
    const double *matrix = b.reals.data() + group * depth * columns;
    return op.getTransposeB() ? matrix[n * depth + k] : matrix[k * columns + n];
  };
  return forEachGroup(op, *e.in[2], a.shape[0],
                      [&](int64_t group, int64_t begin, int64_t end) {
                        for (int64_t s = begin; s < end; ++s)
                          for (int64_t n = 0; n < columns; ++n)
                            for (int64_t k = 0; k < depth; ++k)
                              c.reals[s * columns + n] +=
                                  a.reals[s * depth + k] * weight(group, k, n);
                      });
}

static LogicalResult groupedMatmulGrad(nn::GroupedMatmulGradOp op,
                                       Evaluation &e) {
  const Array &a = *e.in[0], &b = *e.in[1];
  Array &d = e.out[0];
  int64_t rows = a.shape[1], columns = b.shape[1];
  int64_t first = op.getRows() ? (*op.getRows())[0] : 0;
  return forEachGroup(
      op, *e.in[2], a.shape[0], [&](int64_t group, int64_t begin, int64_t end) {
        if (group < first || group >= first + d.shape[0])
          return;
        double *to = d.reals.data() + (group - first) * rows * columns;
        for (int64_t s = begin; s < end; ++s)
          for (int64_t k = 0; k < rows; ++k)
            for (int64_t n = 0; n < columns; ++n)
              to[k * columns + n] +=
                  a.reals[s * rows + k] * b.reals[s * columns + n];
      });
}

void rules::addExperts(EvaluationRules &rules) {
  rules.add<nn::DispatchOp>(dispatch);
  rules.add<nn::CapacityDispatchOp>(capacityDispatch);
  rules.add<nn::CombineOp>(combine);
  rules.add<nn::CombineGradOp>(combineGrad);
  rules.add<nn::GroupedMatmulOp>(groupedMatmul);
  rules.add<nn::GroupedMatmulGradOp>(groupedMatmulGrad);
}
