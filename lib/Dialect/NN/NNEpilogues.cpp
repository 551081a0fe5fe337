//===- NNEpilogues.cpp - gelu joins the product before it -----------------===//

#include "zero/Dialect/NN/NN.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::nn;

/// Whether kernels take a product with these results and something after it:
/// 16-bit elements, and rows of whole groups of eight.
static bool isTaken(Value result) {
  constexpr int64_t group = 8;
  auto type = cast<RankedTensorType>(result.getType());
  Type element = type.getElementType();
  return (element.isBF16() || element.isF16()) && type.getRank() > 0 &&
         type.getShape().back() % group == 0;
}

//===----------------------------------------------------------------------===//
// gelu(linear(x))
//===----------------------------------------------------------------------===//

bool GeluOp::isOfGradient() { return false; }

void GeluOp::fuseIntoProducer() {
  auto linear = getX().getDefiningOp<LinearOp>();
  if (getForm() != GeluForm::Tanh || !linear || !isTaken(getY()))
    return;
  OpBuilder builder(linear);
  Type type = getY().getType();
  auto fused = LinearGeluOp::create(
      builder, builder.getFusedLoc({linear.getLoc(), getLoc()}), type,
      linear.getY().hasOneUse() ? Type() : type, linear.getX(), linear.getW(),
      linear.getBias(), linear.getTransposed());
  getY().replaceAllUsesWith(fused.getY());
  erase();
  if (Value h = fused.getH())
    linear.getY().replaceAllUsesWith(h);
  linear.erase();
}

//===----------------------------------------------------------------------===//
// gelu'(h) * linear(dy)
//===----------------------------------------------------------------------===//

/// The sum of `value` over all but its last dimension; null if there is none.
static ReduceOp findColumnSums(Value value) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (Operation *user : value.getUsers())
    if (auto reduce = dyn_cast<ReduceOp>(user))
      if (reduce.getKind() == Reduction::Sum && rank > 1 &&
          llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, rank - 1)))
        return reduce;
  return nullptr;
}

bool GeluGradOp::isOfGradient() { return true; }

void GeluGradOp::fuseIntoProducer() {
  auto linear = getDy().getDefiningOp<LinearOp>();
  if (getForm() != GeluForm::Tanh || !linear || linear.getBias() ||
      !linear.getY().hasOneUse() || !isTaken(getDx()))
    return;
  // What is moved up to the product must find its operand there.
  Operation *h = getX().getDefiningOp();
  if (h && h->getBlock() == linear->getBlock() && !h->isBeforeInBlock(linear))
    return;
  ReduceOp sums = findColumnSums(getDx());
  OpBuilder builder(linear);
  auto fused = LinearGeluGradOp::create(
      builder, builder.getFusedLoc({linear.getLoc(), getLoc()}),
      getDx().getType(), sums ? sums.getY().getType() : Type(), linear.getX(),
      linear.getW(), getX(), linear.getTransposed());
  if (sums) {
    sums.getY().replaceAllUsesWith(fused.getDb());
    sums.erase();
  }
  getDx().replaceAllUsesWith(fused.getDh());
  erase();
  linear.erase();
}
