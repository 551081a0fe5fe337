//===- NNConvolutionOps.cpp - convolutions: constraints, gradients --------===//

#include "Windows.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// A convolution by its images [N, C, S..], weights [F, C / groups, K..] and
/// result [N, F, O..], each under the name that its operation has for it.
namespace {
struct Convolution {
  struct Tensor {
    StringRef name;
    Value value;
  };
  Tensor x, w, y;
  int64_t features; ///< F: what `w` has rows, unless it is a block of them
  ArrayRef<int64_t> strides, padding, dilations;
  int64_t groups;
};
} // namespace

/// C1 to C5 of all three operations.
static LogicalResult checkOperands(const Checker &check, const Convolution &c) {
  if (failed(checkImages(check, c.x.name, c.x.value)))
    return failure();
  RankedTensorType x = typeOf(c.x.value), w = typeOf(c.w.value);
  int64_t spatial = x.getRank() - 2;
  if (failed(check.rank(c.w.name, c.w.value, x.getRank())) || // C1
      failed(checkList(check, "strides", c.strides, spatial, 1)) ||
      failed(checkList(check, "padding", c.padding, spatial, 0)) ||
      failed(checkList(check, "dilations", c.dilations, spatial, 1))) // C2
    return failure();
  if (c.groups < 1 || c.features % c.groups != 0) // C3
    return check.error("groups is " + Twine(c.groups) +
                       ", wanted a divisor of the " + Twine(c.features) +
                       " features of the weights");
  int64_t channels = w.getDimSize(1) * c.groups;
  if (x.getDimSize(1) != channels) // C4
    return check.error(c.x.name + " has " + Twine(x.getDimSize(1)) +
                       " channels, wanted " + Twine(channels) + ": " +
                       Twine(c.groups) + " groups times the " +
                       Twine(w.getDimSize(1)) + " channels of " + c.w.name);
  return check.element(c.w.name, c.w.value, x.getElementType()); // C5
}

/// What the convolution of images like `x` with windows like `w` gives.
static LogicalResult checkResult(const Checker &check, const Convolution &c) {
  RankedTensorType x = typeOf(c.x.value);
  ArrayRef<int64_t> window = typeOf(c.w.value).getShape().drop_front(2);
  Windows windows{window, c.strides, c.padding, c.dilations};
  SmallVector<int64_t> shape = {x.getDimSize(0), c.features};
  for (unsigned i = 0; i < window.size(); ++i) {
    int64_t size = x.getDimSize(i + 2);
    shape.push_back(window[i] < 1 ? 0 : windows.count(i, size, /*up=*/false));
    if (shape.back() < 1)
      return check.error(
          "a window of " + Twine(window[i]) + " elements with dilation " +
          Twine(c.dilations[i]) + " does not fit in the " + Twine(size) +
          " elements of dimension " + Twine(i + 2) + " of " + c.x.name +
          " and its padding of " + Twine(c.padding[i]));
  }
  return check.type(c.y.name, c.y.value,
                    RankedTensorType::get(shape, x.getElementType()));
}

template <typename OpT>
static Convolution convolutionOf(OpT op, Convolution::Tensor x,
                                 Convolution::Tensor w, Convolution::Tensor y,
                                 int64_t features) {
  return {x,
          w,
          y,
          features,
          op.getStrides(),
          op.getPadding(),
          op.getDilations(),
          op.getGroupsAttr().getInt()};
}

LogicalResult ConvOp::verify() {
  Checker check(*this);
  if (failed(checkImages(check, "x", getX())) || // C1
      failed(check.rank("w", getW(), typeOf(getX()).getRank())))
    return failure();
  Convolution c = convolutionOf(*this, {"x", getX()}, {"w", getW()},
                                {"y", getY()}, typeOf(getW()).getDimSize(0));
  return success(succeeded(checkOperands(check, c)) && // C2 to C5
                 succeeded(checkResult(check, c)));    // C6
}

LogicalResult ConvTransposeOp::verify() {
  Checker check(*this);
  if (failed(checkImages(check, "x", getX())) || // C1
      failed(check.rank("w", getW(), typeOf(getX()).getRank())))
    return failure();
  RankedTensorType x = typeOf(getX());
  int64_t features = typeOf(getW()).getDimSize(0);
  if (x.getDimSize(1) != features) // C4
    return check.error("x has " + Twine(x.getDimSize(1)) +
                       " channels, wanted the " + Twine(features) +
                       " features of w");
  if (failed(check.element("w", getW(), x.getElementType()))) // C5
    return failure();
  Convolution c = convolutionOf(*this, {"y", getY()}, {"w", getW()},
                                {"x", getX()}, features);
  return success(succeeded(checkOperands(check, c)) && // C2, C3, C6
                 succeeded(checkResult(check, c)));
}

LogicalResult ConvWeightGradOp::verify() {
  Checker check(*this);
  if (failed(checkImages(check, "x", getX())) || // C1
      failed(check.rank("dy", getDy(), typeOf(getX()).getRank())) ||
      failed(check.rank("dw", getDw(), typeOf(getX()).getRank())))
    return failure();
  int64_t features = typeOf(getDy()).getDimSize(1);
  Convolution c = convolutionOf(*this, {"x", getX()}, {"dw", getDw()},
                                {"dy", getDy()}, features);
  if (failed(checkOperands(check, c)) || // C2 to C4, C6
      failed(checkResult(check, c)))     // C5
    return failure();
  int64_t wanted = features;
  if (auto rows = getRows()) { // C7
    if (c.groups != 1)
      return check.error("rows are given of a convolution with " +
                         Twine(c.groups) + " groups, wanted one group");
    if (failed(check.rows(*rows, features)))
      return failure();
    wanted = (*rows)[1] - (*rows)[0];
  }
  int64_t found = typeOf(getDw()).getDimSize(0);
  if (found != wanted) // C6
    return check.error("dw has " + Twine(found) + " rows, wanted " +
                       Twine(wanted));
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients: each operation is linear in both of its operands
//===----------------------------------------------------------------------===//

LogicalResult ConvOp::buildGradient(OpBuilder &builder,
                                    ArrayRef<Value> resultGradients,
                                    ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  if (wanted[0])
    gradients[0] = ConvTransposeOp::create(
        builder, getLoc(), getX().getType(), dy, getW(), getStridesAttr(),
        getPaddingAttr(), getDilationsAttr(), getGroupsAttr());
  if (wanted[1])
    gradients[1] = ConvWeightGradOp::create(
        builder, getLoc(), getW().getType(), dy, getX(), getStridesAttr(),
        getPaddingAttr(), getDilationsAttr(), getGroupsAttr(),
        /*rows=*/DenseI64ArrayAttr());
  return success();
}

LogicalResult ConvTransposeOp::buildGradient(OpBuilder &builder,
                                             ArrayRef<Value> resultGradients,
                                             ArrayRef<bool> wanted,
                                             MutableArrayRef<Value> gradients) {
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  if (wanted[0])
    gradients[0] = ConvOp::create(builder, getLoc(), getX().getType(), dy,
                                  getW(), getStridesAttr(), getPaddingAttr(),
                                  getDilationsAttr(), getGroupsAttr());
  if (wanted[1])
    gradients[1] = ConvWeightGradOp::create(
        builder, getLoc(), getW().getType(), getX(), dy, getStridesAttr(),
        getPaddingAttr(), getDilationsAttr(), getGroupsAttr(),
        /*rows=*/DenseI64ArrayAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Rows of the gradient of weights
//===----------------------------------------------------------------------===//

/// With several groups a block of rows sees some channels only.
bool ConvWeightGradOp::hasRowBlocks(unsigned) {
  return getGroupsAttr().getInt() == 1;
}

Value ConvWeightGradOp::buildRowBlock(OpBuilder &builder, unsigned,
                                      int64_t begin, int64_t end,
                                      llvm::function_ref<Value(unsigned)>) {
  int64_t first = getRows() ? (*getRows())[0] : 0;
  SmallVector<int64_t> shape(typeOf(getDw()).getShape());
  shape.front() = end - begin;
  return ConvWeightGradOp::create(
      builder, getLoc(), typeOf(getDw()).clone(shape), getDy(), getX(),
      getStridesAttr(), getPaddingAttr(), getDilationsAttr(), getGroupsAttr(),
      builder.getDenseI64ArrayAttr({first + begin, first + end}));
}
