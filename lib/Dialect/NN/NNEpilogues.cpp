//===- NNEpilogues.cpp - what joins the kernel of a product ---------------===//

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::nn;

/// Whether kernels take a product that reads or gives this and does something
/// else with it: 16-bit elements, and rows of whole groups of eight.
static bool isTaken(Value value) {
  constexpr int64_t group = 8;
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  return (element.isBF16() || element.isF16()) && type.getRank() > 0 &&
         type.getShape().back() % group == 0 && type.getNumElements() > 0;
}

static bool isOfSomething(LinearOp linear) {
  return linear.getX().getType().getNumElements() > 0;
}

//===----------------------------------------------------------------------===//
// gelu(linear(x))
//===----------------------------------------------------------------------===//

bool GeluOp::isOfGradient() { return false; }

void GeluOp::fuseIntoProduct(RewriterBase &rewriter) {
  auto linear = getX().getDefiningOp<LinearOp>();
  if (getForm() != GeluForm::Tanh || !linear || !isOfSomething(linear) ||
      !isTaken(getY()))
    return;
  rewriter.setInsertionPoint(linear);
  Type type = getY().getType();
  auto fused = LinearGeluOp::create(
      rewriter, rewriter.getFusedLoc({linear.getLoc(), getLoc()}), type,
      linear.getY().hasOneUse() ? Type() : type, linear.getX(), linear.getW(),
      linear.getBias(), linear.getTransposed());
  rewriter.replaceOp(*this, fused.getY());
  if (Value h = fused.getH())
    rewriter.replaceAllUsesWith(linear.getY(), h);
  rewriter.eraseOp(linear);
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

void GeluGradOp::fuseIntoProduct(RewriterBase &rewriter) {
  auto linear = getDy().getDefiningOp<LinearOp>();
  if (getForm() != GeluForm::Tanh || !linear || linear.getBias() ||
      !isOfSomething(linear) || !linear.getY().hasOneUse() || !isTaken(getDx()))
    return;
  // The operation moves up to the product, so its operand must exist there.
  Operation *h = getX().getDefiningOp();
  if (h && h->getBlock() == linear->getBlock() && !h->isBeforeInBlock(linear))
    return;
  ReduceOp sums = findColumnSums(getDx());
  rewriter.setInsertionPoint(linear);
  auto fused = LinearGeluGradOp::create(
      rewriter, rewriter.getFusedLoc({linear.getLoc(), getLoc()}),
      getDx().getType(), sums ? sums.getY().getType() : Type(), linear.getX(),
      linear.getW(), getX(), linear.getTransposed());
  if (sums)
    rewriter.replaceOp(sums, fused.getDb());
  rewriter.replaceOp(*this, fused.getDh());
  rewriter.eraseOp(linear);
}

//===----------------------------------------------------------------------===//
// sums of what the gradient of a weight reads
//===----------------------------------------------------------------------===//

/// Whether `product` is of all rows of two matrices: `rows` and another one.
static bool isOverRows(MatmulOp product, Value rows) {
  return product.getTransposeA() && !product.getTransposeB() &&
         !product.getRows() && product.getC().getType().getRank() == 2 &&
         (product.getA() == rows) != (product.getB() == rows);
}

/// Whether `product` is there before anything reads `result`.
static bool isBeforeUsers(Operation *product, Value result) {
  return llvm::all_of(result.getUsers(), [&](Operation *user) {
    Operation *inBlock = product->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && product->isBeforeInBlock(inBlock);
  });
}

/// The product that reads `dy` as rows, and where in it they are; null if there
/// is none that the sums, `db`, can join. The smallest one: the gradient of a
/// large weight may come to be made in blocks, without them.
static std::pair<MatmulOp, Value> findWeightGradient(Value dy, Value db) {
  SmallVector<Value> forms = {dy};
  for (Operation *user : dy.getUsers())
    if (auto view = dyn_cast<tensor::CollapseShapeOp>(user))
      if (view.getResultType().getRank() == 2 &&
          view.getResultType().getShape().back() ==
              cast<RankedTensorType>(dy.getType()).getShape().back())
        forms.push_back(view.getResult());
  auto elements = [](MatmulOp product) {
    return product.getC().getType().getNumElements();
  };
  std::pair<MatmulOp, Value> found;
  for (Value rows : forms)
    for (Operation *user : rows.getUsers())
      if (auto product = dyn_cast<MatmulOp>(user))
        if (isOverRows(product, rows) && isTaken(rows) &&
            isTaken(product.getC()) && isBeforeUsers(product, db) &&
            (!found.first || elements(product) < elements(found.first)))
          found = {product, rows};
  return found;
}

/// Whatever the sums are of, their product is over the same rows, which is what
/// a gradient of a weight is.
bool ReduceOp::isOfGradient() { return true; }

void ReduceOp::fuseIntoProduct(RewriterBase &rewriter) {
  if (findColumnSums(getX()) != *this)
    return;
  auto [product, dy] = findWeightGradient(getX(), getY());
  if (!product)
    return;
  bool transposed = product.getA() == dy;
  rewriter.setInsertionPoint(product);
  auto fused = LinearWeightGradOp::create(
      rewriter, rewriter.getFusedLoc({product.getLoc(), getLoc()}),
      product.getC().getType(), getY().getType(), dy,
      transposed ? product.getB() : product.getA(), transposed);
  rewriter.replaceOp(product, fused.getDw());
  rewriter.replaceOp(*this, fused.getDb());
}
