//===- FuseEpilogues.cpp - gelu joins the product that it follows ---------===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

struct FuseEpilogues : public zero::impl::FuseEpiloguesBase<FuseEpilogues> {
  using FuseEpiloguesBase::FuseEpiloguesBase;
  void runOnOperation() override;
};

} // namespace

/// Whether kernels take a product with these results and something after it:
/// 16-bit elements, and rows of whole groups of eight.
static bool isTaken(Value result) {
  constexpr int64_t group = 8;
  auto type = cast<RankedTensorType>(result.getType());
  Type element = type.getElementType();
  return (element.isBF16() || element.isF16()) && type.getRank() > 0 &&
         type.getShape().back() % group == 0;
}

/// gelu(linear(x)), at the place of the product.
static void fuseForward(nn::GeluOp gelu) {
  auto linear = gelu.getX().getDefiningOp<nn::LinearOp>();
  if (gelu.getForm() != nn::GeluForm::Tanh || !linear || !isTaken(gelu.getY()))
    return;
  OpBuilder builder(linear);
  Type type = gelu.getY().getType();
  auto fused = nn::LinearGeluOp::create(
      builder, builder.getFusedLoc({linear.getLoc(), gelu.getLoc()}), type,
      linear.getY().hasOneUse() ? Type() : type, linear.getX(), linear.getW(),
      linear.getBias(), linear.getTransposed());
  gelu.getY().replaceAllUsesWith(fused.getY());
  gelu.erase();
  if (Value h = fused.getH())
    linear.getY().replaceAllUsesWith(h);
  linear.erase();
}

/// The sum of `value` over all but its last dimension; null if there is none.
static nn::ReduceOp findColumnSums(Value value) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (Operation *user : value.getUsers())
    if (auto reduce = dyn_cast<nn::ReduceOp>(user))
      if (reduce.getKind() == nn::Reduction::Sum && rank > 1 &&
          llvm::equal(reduce.getDims(), llvm::seq<int64_t>(0, rank - 1)))
        return reduce;
  return nullptr;
}

/// gelu'(h) * linear(dy), at the place of the product.
static void fuseGradient(nn::GeluGradOp gelu) {
  auto linear = gelu.getDy().getDefiningOp<nn::LinearOp>();
  if (gelu.getForm() != nn::GeluForm::Tanh || !linear || linear.getBias() ||
      !linear.getY().hasOneUse() || !isTaken(gelu.getDx()))
    return;
  // What is moved up to the product must find its operand there.
  Operation *h = gelu.getX().getDefiningOp();
  if (h && h->getBlock() == linear->getBlock() && !h->isBeforeInBlock(linear))
    return;
  nn::ReduceOp sums = findColumnSums(gelu.getDx());
  OpBuilder builder(linear);
  auto fused = nn::LinearGeluGradOp::create(
      builder, builder.getFusedLoc({linear.getLoc(), gelu.getLoc()}),
      gelu.getDx().getType(), sums ? sums.getY().getType() : Type(),
      linear.getX(), linear.getW(), gelu.getX(), linear.getTransposed());
  if (sums) {
    sums.getY().replaceAllUsesWith(fused.getDb());
    sums.erase();
  }
  gelu.getDx().replaceAllUsesWith(fused.getDh());
  gelu.erase();
  linear.erase();
}

void FuseEpilogues::runOnOperation() {
  SmallVector<nn::GeluOp> forward;
  SmallVector<nn::GeluGradOp> backward;
  for (StepOp step : getOperation().getOps<StepOp>())
    step->walk([&](Operation *op) {
      if (auto gelu = dyn_cast<nn::GeluOp>(op))
        forward.push_back(gelu);
      else if (auto gelu = dyn_cast<nn::GeluGradOp>(op))
        backward.push_back(gelu);
    });
  if (!gradientsOnly)
    llvm::for_each(forward, fuseForward);
  llvm::for_each(backward, fuseGradient);
}
