//===- NNPoolingOps.cpp - pooling: constraints, gradients -----------------===//

#include "Windows.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// C1 to C3 of pooling of the images `x`.
static LogicalResult checkPool(const Checker &check, StringRef name, Value x,
                               const Windows &windows) {
  if (failed(checkImages(check, name, x))) // C1
    return failure();
  int64_t spatial = typeOf(x).getRank() - 2;
  if (failed(checkList(check, "window", windows.window, spatial, 1)) || // C2
      failed(checkList(check, "strides", windows.strides, spatial, 1)) ||
      failed(checkList(check, "padding", windows.padding, spatial, 0)) ||
      failed(checkList(check, "dilations", windows.dilations, spatial, 1)))
    return failure();
  for (auto [padding, window] :
       llvm::zip_equal(windows.padding, windows.window))
    if (padding > window / 2) // C3
      return check.error("padding is " + toString(windows.padding) +
                         ", wanted at most half of the window " +
                         toString(windows.window));
  return success();
}

/// C4: `y` has a maximum or mean for each window of `x`.
static LogicalResult checkPooled(const Checker &check, StringRef name, Value y,
                                 Value x, const Windows &windows) {
  RankedTensorType images = typeOf(x), pooled = typeOf(y);
  ArrayRef<int64_t> shape = images.getShape();
  SmallVector<int64_t> down(shape.take_front(2)), up = down;
  for (unsigned i = 0; i < windows.window.size(); ++i) {
    down.push_back(windows.count(i, shape[i + 2], /*up=*/false));
    up.push_back(windows.count(i, shape[i + 2], /*up=*/true));
  }
  bool fits = pooled.getRank() == images.getRank();
  for (unsigned i = 0; fits && i < down.size(); ++i) {
    int64_t size = pooled.getDimSize(i);
    fits = (size == down[i] || size == up[i]) && (i < 2 || size >= 1);
  }
  if (fits)
    return check.element(name, y, images.getElementType());
  std::string wanted = toString(down);
  if (up != down)
    wanted += ", or rounded up " + toString(up);
  return check.error(name + " has shape " + toString(pooled.getShape()) +
                     ", wanted " + wanted + ", each 1 or more");
}

template <typename OpT> static Windows windowsOf(OpT op) {
  return {op.getWindow(), op.getStrides(), op.getPadding(), op.getDilations()};
}

LogicalResult MaxPoolOp::verify() {
  Checker check(*this);
  Windows windows = windowsOf(*this);
  return success(succeeded(checkPool(check, "x", getX(), windows)) &&
                 succeeded(checkPooled(check, "y", getY(), getX(), windows)));
}

LogicalResult MaxPoolGradOp::verify() {
  Checker check(*this);
  Windows windows = windowsOf(*this);
  if (failed(checkPool(check, "x", getX(), windows)) ||
      failed(checkPooled(check, "dy", getDy(), getX(), windows)))
    return failure();
  return check.type("dx", getDx(), typeOf(getX())); // C5
}

/// The windows of an average have no dilation.
template <typename OpT>
static LogicalResult verifyAverage(OpT op, StringRef xName, Value x,
                                   StringRef yName, Value y) {
  Checker check(op);
  if (failed(checkImages(check, xName, x)))
    return failure();
  SmallVector<int64_t> ones(typeOf(x).getRank() - 2, 1);
  Windows windows{op.getWindow(), op.getStrides(), op.getPadding(), ones};
  return success(succeeded(checkPool(check, xName, x, windows)) &&
                 succeeded(checkPooled(check, yName, y, x, windows)));
}

LogicalResult AvgPoolOp::verify() {
  return verifyAverage(*this, "x", getX(), "y", getY());
}

LogicalResult AvgPoolGradOp::verify() {
  return verifyAverage(*this, "dx", getDx(), "dy", getDy());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult MaxPoolOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = MaxPoolGradOp::create(builder, getLoc(), getX().getType(),
                                         resultGradients[0], getX(),
                                         getWindowAttr(), getStridesAttr(),
                                         getPaddingAttr(), getDilationsAttr());
  return success();
}

LogicalResult AvgPoolOp::buildGradient(OpBuilder &builder,
                                       ArrayRef<Value> resultGradients,
                                       ArrayRef<bool> wanted,
                                       MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] = AvgPoolGradOp::create(builder, getLoc(), getX().getType(),
                                         resultGradients[0], getWindowAttr(),
                                         getStridesAttr(), getPaddingAttr(),
                                         getCountPaddingAttr());
  return success();
}

LogicalResult AvgPoolGradOp::buildGradient(OpBuilder &builder,
                                           ArrayRef<Value> resultGradients,
                                           ArrayRef<bool> wanted,
                                           MutableArrayRef<Value> gradients) {
  if (resultGradients[0] && wanted[0])
    gradients[0] =
        AvgPoolOp::create(builder, getLoc(), getDy().getType(),
                          resultGradients[0], getWindowAttr(), getStridesAttr(),
                          getPaddingAttr(), getCountPaddingAttr());
  return success();
}
