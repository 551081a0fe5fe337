//===- Windows.cpp - convolutions and pooling -----------------------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Calls `body(tap, source)` for every element of window `at` that lies in
/// images of the spatial sizes `sizes`: its index in the window and in a plane
/// of the images, both flat.
template <typename Body>
void forEachTap(ArrayRef<int64_t> at, ArrayRef<int64_t> sizes,
                ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                ArrayRef<int64_t> padding, ArrayRef<int64_t> dilations,
                Body body) {
  int64_t tap = 0;
  forEachIndex(window, [&](ArrayRef<int64_t> k) {
    int64_t source = 0;
    bool inside = true;
    for (size_t i = 0; i < k.size(); ++i) {
      int64_t position = at[i] * strides[i] + k[i] * dilations[i] - padding[i];
      inside &= position >= 0 && position < sizes[i];
      source = source * sizes[i] + position;
    }
    if (inside)
      body(tap, source);
    ++tap;
  });
}

/// Calls `body(x, w, y)` with the flat indices of every product of a
/// convolution: of its images, its weights and its result.
template <typename OpT, typename Body>
void forEachProduct(OpT op, ArrayRef<int64_t> x, ArrayRef<int64_t> w,
                    ArrayRef<int64_t> y, Body body) {
  int64_t groups = op.getGroupsAttr().getInt(), features = y[1] / groups;
  int64_t channels = w[1], plane = 1, taps = 1, at = 0;
  for (int64_t size : x.drop_front(2))
    plane *= size;
  for (int64_t size : w.drop_front(2))
    taps *= size;
  forEachIndex(y, [&](ArrayRef<int64_t> index) {
    int64_t n = index[0], f = index[1], first = f / features * channels;
    forEachTap(index.drop_front(2), x.drop_front(2), w.drop_front(2),
               op.getStrides(), op.getPadding(), op.getDilations(),
               [&](int64_t tap, int64_t source) {
                 for (int64_t c = 0; c < channels; ++c)
                   body((n * x[1] + first + c) * plane + source,
                        (f * channels + c) * taps + tap, at);
               });
    ++at;
  });
}

} // namespace

static LogicalResult conv(nn::ConvOp op, Evaluation &e) {
  const Array &x = *e.in[0], &w = *e.in[1];
  Array &y = e.out[0];
  forEachProduct(op, x.shape, w.shape, y.shape,
                 [&](int64_t i, int64_t j, int64_t k) {
                   y.reals[k] += x.reals[i] * w.reals[j];
                 });
  return success();
}

static LogicalResult convTranspose(nn::ConvTransposeOp op, Evaluation &e) {
  const Array &x = *e.in[0], &w = *e.in[1];
  Array &y = e.out[0];
  forEachProduct(op, y.shape, w.shape, x.shape,
                 [&](int64_t i, int64_t j, int64_t k) {
                   y.reals[i] += x.reals[k] * w.reals[j];
                 });
  return success();
}

/// With `rows`, products of other features are left out.
static LogicalResult convWeightGrad(nn::ConvWeightGradOp op, Evaluation &e) {
  const Array &dy = *e.in[0], &x = *e.in[1];
  Array &dw = e.out[0];
  int64_t skipped = op.getRows() ? (*op.getRows())[0] * dw.innerSize(1) : 0;
  forEachProduct(op, x.shape, dw.shape, dy.shape,
                 [&](int64_t i, int64_t j, int64_t k) {
                   if (j >= skipped && j - skipped < dw.size())
                     dw.reals[j - skipped] += x.reals[i] * dy.reals[k];
                 });
  return success();
}

/// Calls `body(plane, at, index)` for each window of each plane: the plane, the
/// window's flat index in the result, and its position.
template <typename Body>
static void forEachWindow(ArrayRef<int64_t> pooled, Body body) {
  int64_t at = 0;
  forEachIndex(pooled, [&](ArrayRef<int64_t> index) {
    body(index[0] * pooled[1] + index[1], at++, index.drop_front(2));
  });
}

/// The flat index in `x` of the first maximum of a window; a NaN is one.
template <typename OpT>
static int64_t findMaximum(OpT op, const Array &x, int64_t plane,
                           ArrayRef<int64_t> at) {
  ArrayRef<int64_t> sizes = ArrayRef<int64_t>(x.shape).drop_front(2);
  int64_t base = plane * x.innerSize(2), found = -1;
  forEachTap(at, sizes, op.getWindow(), op.getStrides(), op.getPadding(),
             op.getDilations(), [&](int64_t, int64_t source) {
               double value = x.reals[base + source];
               if (found < 0 || value > x.reals[found] ||
                   (std::isnan(value) && !std::isnan(x.reals[found])))
                 found = base + source;
             });
  return found;
}

static LogicalResult maxPool(nn::MaxPoolOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  Array &y = e.out[0];
  forEachWindow(y.shape,
                [&](int64_t plane, int64_t at, ArrayRef<int64_t> index) {
                  y.reals[at] = x.reals[findMaximum(op, x, plane, index)];
                });
  return success();
}

static LogicalResult maxPoolGrad(nn::MaxPoolGradOp op, Evaluation &e) {
  const Array &dy = *e.in[0], &x = *e.in[1];
  forEachWindow(
      dy.shape, [&](int64_t plane, int64_t at, ArrayRef<int64_t> index) {
        e.out[0].reals[findMaximum(op, x, plane, index)] += dy.reals[at];
      });
  return success();
}

/// What an average divides by: elements in the images, or in their padding.
template <typename OpT>
static int64_t divisorOf(OpT op, ArrayRef<int64_t> at,
                         ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (size_t i = 0; i < at.size(); ++i) {
    int64_t begin = at[i] * op.getStrides()[i] - op.getPadding()[i];
    int64_t end = begin + op.getWindow()[i];
    int64_t margin = op.getCountPadding() ? op.getPadding()[i] : 0;
    count *=
        std::min(end, sizes[i] + margin) - std::max<int64_t>(begin, -margin);
  }
  return count;
}

/// Calls `body(source, at, share)` for each element of each window of images
/// of shape `x`, with its share in the window's mean.
template <typename OpT, typename Body>
static void forEachShare(OpT op, const Array &x, ArrayRef<int64_t> pooled,
                         Body body) {
  ArrayRef<int64_t> sizes = ArrayRef<int64_t>(x.shape).drop_front(2);
  SmallVector<int64_t> ones(sizes.size(), 1);
  forEachWindow(
      pooled, [&](int64_t plane, int64_t at, ArrayRef<int64_t> index) {
        double share = 1.0 / divisorOf(op, index, sizes);
        forEachTap(index, sizes, op.getWindow(), op.getStrides(),
                   op.getPadding(), ones, [&](int64_t, int64_t source) {
                     body(plane * x.innerSize(2) + source, at, share);
                   });
      });
}

static LogicalResult avgPool(nn::AvgPoolOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  Array &y = e.out[0];
  forEachShare(op, x, y.shape, [&](int64_t source, int64_t at, double share) {
    y.reals[at] += share * x.reals[source];
  });
  return success();
}

static LogicalResult avgPoolGrad(nn::AvgPoolGradOp op, Evaluation &e) {
  const Array &dy = *e.in[0];
  Array &dx = e.out[0];
  forEachShare(op, dx, dy.shape, [&](int64_t source, int64_t at, double share) {
    dx.reals[source] += share * dy.reals[at];
  });
  return success();
}

void rules::addWindows(EvaluationRules &rules) {
  rules.add<nn::ConvOp>(conv);
  rules.add<nn::ConvTransposeOp>(convTranspose);
  rules.add<nn::ConvWeightGradOp>(convWeightGrad);
  rules.add<nn::MaxPoolOp>(maxPool);
  rules.add<nn::MaxPoolGradOp>(maxPoolGrad);
  rules.add<nn::AvgPoolOp>(avgPool);
  rules.add<nn::AvgPoolGradOp>(avgPoolGrad);
}
