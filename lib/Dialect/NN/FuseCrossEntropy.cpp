//===- FuseCrossEntropy.cpp - losses without whole logits -----------------===//

#include "zero/Dialect/NN/FuseCrossEntropy.h"
#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"

using namespace mlir;
using namespace mlir::nn;

namespace {

/// The operations around one loss that become one.
struct Loss {
  CrossEntropyOp loss;
  LinearOp linear = {};
  CrossEntropyGradOp grad = {}; ///< null: the loss has no gradient
  LinearOp dx = {};
  MatmulOp dw = {};
  ReduceOp db = {}; ///< null where the linear operation has no bias

  /// Finds the operations of `loss`; says why they cannot become one, or
  /// nothing.
  std::string find();
  void fuse(int64_t chunkBytes);

private:
  std::string findReadersOfLogits();
  std::string findReadersOfGradient();
  std::string checkPlace();
};

} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Rows in other shapes
//===----------------------------------------------------------------------===//

/// Whether `op` gives the rows of its operand in another shape.
static bool reshapesRows(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) &&
         typeOf(op->getOperand(0)).getRank() > 0 &&
         typeOf(op->getResult(0)).getRank() > 0 &&
         typeOf(op->getOperand(0)).getShape().back() ==
             typeOf(op->getResult(0)).getShape().back();
}

static Value skipReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!reshapesRows(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// What reads `value` in whatever shape.
static void findReaders(Value value, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : value.getUsers())
    if (reshapesRows(user))
      findReaders(user->getResult(0), readers);
    else if (!llvm::is_contained(readers, user))
      readers.push_back(user);
}

/// Erases `op`, and before it all that reads its results.
static void eraseWithReaders(Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    eraseWithReaders(user);
  op->erase();
}

//===----------------------------------------------------------------------===//
// What belongs together
//===----------------------------------------------------------------------===//

static std::string nameOf(Operation *op) {
  return op->getName().getStringRef().str();
}

std::string Loss::findReadersOfLogits() {
  SmallVector<Operation *> readers;
  findReaders(linear.getY(), readers);
  for (Operation *reader : readers) {
    if (reader == loss)
      continue;
    auto gradient = dyn_cast<CrossEntropyGradOp>(reader);
    if (!gradient || grad || gradient.getLse() != loss.getLse())
      return "its logits are also read by " + nameOf(reader);
    grad = gradient;
  }
  for (Operation *reader : loss.getLse().getUsers())
    if (reader != grad)
      return "the logarithms of its sums are also read by " + nameOf(reader);
  return "";
}

std::string Loss::findReadersOfGradient() {
  Value x = skipReshapes(linear.getX());
  SmallVector<Operation *> readers;
  findReaders(grad.getDlogits(), readers);
  for (Operation *reader : readers) {
    if (auto product = dyn_cast<LinearOp>(reader);
        product && !dx && product.getW() == linear.getW() &&
        !product.getBias() &&
        product.getTransposed() != linear.getTransposed()) {
      dx = product;
      continue;
    }
    if (auto product = dyn_cast<MatmulOp>(reader);
        product && !dw && product.getTransposeA() && !product.getTransposeB() &&
        !product.getRows()) {
      Value other = linear.getTransposed() ? product.getB() : product.getA();
      if (skipReshapes(other) == x &&
          product.getC().getType() == linear.getW().getType()) {
        dw = product;
        continue;
      }
    }
    if (auto sums = dyn_cast<ReduceOp>(reader);
        sums && !db && linear.getBias() && sums.getKind() == Reduction::Sum &&
        sums.getY().getType() == linear.getBias().getType() &&
        llvm::equal(sums.getDims(),
                    llvm::seq<int64_t>(0, typeOf(sums.getX()).getRank() - 1))) {
      db = sums;
      continue;
    }
    return "the gradient of its logits is also read by " + nameOf(reader);
  }
  if (!dx)
    return "the gradient of what is projected is not computed";
  if (!dw)
    return "the gradient of the projection's weight is not computed";
  if (linear.getBias() && !db)
    return "the gradient of the projection's bias is not computed";
  return "";
}

/// One operation stands where the gradient does, so nothing before may read
/// its loss.
std::string Loss::checkPlace() {
  for (Operation *reader : loss.getLoss().getUsers()) {
    Operation *inBlock = grad->getBlock()->findAncestorOpInBlock(*reader);
    if (!inBlock || inBlock->isBeforeInBlock(grad))
      return "it is read by " + nameOf(reader) + " before its gradient is made";
  }
  return "";
}

std::string Loss::find() {
  linear = skipReshapes(loss.getLogits()).getDefiningOp<LinearOp>();
  if (!linear)
    return "its logits are not those of an nn.linear";
  if (linear->getBlock() != loss->getBlock())
    return "its logits are made in another region";
  if (typeOf(linear.getY()).getNumElements() == 0 ||
      typeOf(linear.getX()).getNumElements() == 0)
    return "its logits are products of nothing";
  if (std::string why = findReadersOfLogits(); !why.empty() || !grad)
    return why;
  if (std::string why = findReadersOfGradient(); !why.empty())
    return why;
  return checkPlace();
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// Rows of a chunk: as many as keep `columns` elements of each within the
/// bytes, in whole groups.
static int64_t countChunk(RankedTensorType logits, int64_t chunkBytes) {
  constexpr int64_t group = 64;
  int64_t rowBytes =
      logits.getShape().back() * logits.getElementTypeBitWidth() / 8;
  int64_t rows = logits.getNumElements() / logits.getShape().back();
  int64_t fitting = chunkBytes / rowBytes / group * group;
  return std::min(rows, std::max(fitting, group));
}

void Loss::fuse(int64_t chunkBytes) {
  Location locs[] = {linear.getLoc(), loss.getLoc()};
  ImplicitLocOpBuilder builder(FusedLoc::get(loss.getContext(), locs),
                               grad ? grad.getOperation()
                                    : loss.getOperation());
  RankedTensorType targets = typeOf(loss.getTargets());
  SmallVector<int64_t> shape(targets.getShape());
  shape.push_back(typeOf(linear.getX()).getShape().back());
  Value x =
      buildReshape(builder, linear.getX(), typeOf(linear.getX()).clone(shape));
  int64_t chunk = countChunk(typeOf(linear.getY()), chunkBytes);
  int64_t ignored = loss.getIgnoreIndex();
  IntegerAttr classes = loss.getClassesAttr();
  if (!grad) {
    auto fused = LinearCrossEntropyOp::create(
        builder, loss.getLoss().getType(), x, linear.getW(), loss.getTargets(),
        linear.getBias(), linear.getTransposed(), chunk, ignored, classes);
    loss.getLoss().replaceAllUsesWith(fused.getLoss());
    return eraseWithReaders(linear);
  }
  auto fused = LinearCrossEntropyGradOp::create(
      builder, loss.getLoss().getType(), x.getType(), linear.getW().getType(),
      db ? db.getY().getType() : Type(), grad.getDloss(), x, linear.getW(),
      loss.getTargets(), linear.getBias(), linear.getTransposed(), chunk,
      ignored, classes);
  loss.getLoss().replaceAllUsesWith(fused.getLoss());
  dx.getY().replaceAllUsesWith(
      buildReshape(builder, fused.getDx(), typeOf(dx.getY())));
  dw.getC().replaceAllUsesWith(fused.getDw());
  if (db)
    db.getY().replaceAllUsesWith(fused.getDb());
  Operation *view =
      (linear.getTransposed() ? dw.getB() : dw.getA()).getDefiningOp();
  eraseWithReaders(grad);
  eraseWithReaders(linear);
  if (view && view->use_empty() && reshapesRows(view))
    view->erase();
}

void nn::fuseCrossEntropy(Operation *root, int64_t chunkBytes) {
  SmallVector<CrossEntropyOp> losses;
  root->walk([&](CrossEntropyOp op) { losses.push_back(op); });
  for (CrossEntropyOp op : losses) {
    Loss loss{op};
    std::string why = loss.find();
    if (why.empty())
      loss.fuse(chunkBytes);
    else
      emitRemark(op.getLoc()) << "the logits of this loss stay whole: " << why;
  }
}
