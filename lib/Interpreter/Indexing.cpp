//===- Indexing.cpp - gathers, scatters, sorts, running sums --------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::zero;

/// Calls `body(whole, part)` with the index of each element of a gathered or
/// scattered `part`, and of the element of `whole` that it stands for, whose
/// index at `dim` is `ids` less `first`. Indices outside of `size` are an
/// error, or skipped where `isBlock`.
static LogicalResult
forEachPosition(Operation *op, const Array &part, const Array &ids, int64_t dim,
                int64_t size, bool isBlock, int64_t first,
                llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> body) {
  bool failed = false;
  int64_t at = 0;
  forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
    int64_t id = ids.integers[ids.offset(index.take_front(ids.rank()))];
    int64_t position = id - first;
    bool inside = position >= 0 && position < size;
    if (!inside && !isBlock && !failed) {
      failed = true;
      op->emitOpError() << "has the position " << id << " in a dimension of "
                        << size << ": positions must be in [0, " << size << ")";
    }
    if (inside) {
      SmallVector<int64_t> whole(index);
      whole[dim] = position;
      body(whole, at);
    }
    ++at;
  });
  return failure(failed);
}

static LogicalResult gather(nn::GatherOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  auto dim = static_cast<int64_t>(op.getDim());
  return forEachPosition(op, e.out[0], *e.in[1], dim, x.shape[dim],
                         /*isBlock=*/false, /*first=*/0,
                         [&](ArrayRef<int64_t> from, int64_t to) {
                           e.out[0].copyElement(to, x, x.offset(from));
                         });
}

static LogicalResult scatterAdd(nn::ScatterAddOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  Array &y = e.out[0];
  auto dim = static_cast<int64_t>(op.getDim());
  if (op.getInit())
    y.reals = e.in[2]->reals;
  int64_t first = op.getRows() ? (*op.getRows())[0] : 0;
  return forEachPosition(op, x, *e.in[1], dim, y.shape[dim],
                         op.getRows().has_value(), first,
                         [&](ArrayRef<int64_t> to, int64_t from) {
                           y.reals[y.offset(to)] += x.reals[from];
                         });
}

static LogicalResult scatter(nn::ScatterOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  Array &y = e.out[0];
  auto dim = static_cast<int64_t>(op.getDim());
  y.reals = e.in[2]->reals;
  y.integers = e.in[2]->integers;
  bool isMax = op.getKind() == nn::Scatter::Max;
  return forEachPosition(
      op, x, *e.in[1], dim, y.shape[dim], /*isBlock=*/false, /*first=*/0,
      [&](ArrayRef<int64_t> index, int64_t from) {
        int64_t to = y.offset(index);
        if (!isMax || x.reals[from] > y.reals[to] || std::isnan(x.reals[from]))
          y.copyElement(to, x, from);
      });
}

/// Whether element `i` comes before element `j` in increasing order.
static bool isLess(const Array &x, int64_t i, int64_t j) {
  if (!x.isFloat)
    return x.integers[i] < x.integers[j];
  double a = x.reals[i], b = x.reals[j];
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

static LogicalResult argsort(nn::ArgsortOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  Array &order = e.out[0];
  int64_t width = x.shape.back(), kept = order.shape.back();
  bool descending = op.getDescending();
  for (int64_t row = 0; width && row < x.size() / width; ++row) {
    std::vector<int64_t> places(width);
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
      int64_t i = row * width + a, j = row * width + b;
      return descending ? isLess(x, j, i) : isLess(x, i, j);
    });
    std::copy_n(places.begin(), kept, order.integers.begin() + row * kept);
  }
  return success();
}

static LogicalResult cumsum(nn::CumsumOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  Array &y = e.out[0];
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t inner = x.innerSize(dim + 1), size = x.shape[dim];
  for (int64_t column = 0; size && column < x.size() / size; ++column) {
    int64_t start = column / inner * inner * size + column % inner;
    double real = 0.0;
    int64_t integer = 0;
    for (int64_t k = 0; k < size; ++k) {
      int64_t at = start + (op.getReverse() ? size - 1 - k : k) * inner;
      if (x.isFloat)
        y.reals[at] = real += x.reals[at];
      else
        y.integers[at] = integer =
            static_cast<int32_t>(integer + x.integers[at]);
    }
  }
  return success();
}

void rules::addIndexing(EvaluationRules &rules) {
  rules.add<nn::GatherOp>(gather);
  rules.add<nn::ScatterAddOp>(scatterAdd);
  rules.add<nn::ScatterOp>(scatter);
  rules.add<nn::ArgsortOp>(argsort);
  rules.add<nn::CumsumOp>(cumsum);
}
