//===- Shapes.cpp - nn.broadcast, reduce, transpose, split ----------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

/// The entries of `index` at `dims`.
static SmallVector<int64_t> pick(ArrayRef<int64_t> index,
                                 ArrayRef<int64_t> dims) {
  SmallVector<int64_t> picked;
  for (int64_t dim : dims)
    picked.push_back(index[dim]);
  return picked;
}

static LogicalResult broadcast(nn::BroadcastOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  int64_t to = 0;
  forEachIndex(e.out[0].shape, [&](ArrayRef<int64_t> index) {
    e.out[0].copyElement(to++, x, x.offset(pick(index, op.getDims())));
  });
  return success();
}

static LogicalResult reduce(nn::ReduceOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  Array &y = e.out[0];
  bool isMax = op.getKind() == nn::Reduction::Max;
  if (isMax)
    llvm::fill(y.reals, -std::numeric_limits<double>::infinity());
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < x.rank(); ++dim)
    if (!llvm::is_contained(op.getDims(), dim))
      kept.push_back(dim);
  int64_t from = 0;
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index) {
    double &to = y.reals[y.offset(pick(index, kept))];
    double value = x.reals[from++];
    to = isMax ? std::max(to, value) : to + value;
  });
  if (op.getKind() == nn::Reduction::Mean)
    for (double &value : y.reals)
      value /= static_cast<double>(x.size() / y.size());
  return success();
}

static LogicalResult transpose(nn::TransposeOp op, Evaluation &e) {
  int64_t from = 0;
  forEachIndex(e.in[0]->shape, [&](ArrayRef<int64_t> index) {
    int64_t to = e.out[0].offset(pick(index, op.getPermutation()));
    e.out[0].copyElement(to, *e.in[0], from++);
  });
  return success();
}

static LogicalResult split(nn::SplitOp op, Evaluation &e) {
  int64_t dim = op.getDim(), start = 0;
  for (Array &piece : e.out) {
    int64_t to = 0;
    forEachIndex(piece.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> place(index);
      place[dim] += start;
      piece.copyElement(to++, *e.in[0], e.in[0]->offset(place));
    });
    start += piece.shape[dim];
  }
  return success();
}

void rules::addShapes(EvaluationRules &rules) {
  rules.add<nn::BroadcastOp>(broadcast);
  rules.add<nn::ReduceOp>(reduce);
  rules.add<nn::TransposeOp>(transpose);
  rules.add<nn::SplitOp>(split);
}
