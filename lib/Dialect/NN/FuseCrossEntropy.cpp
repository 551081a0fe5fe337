//===- FuseCrossEntropy.cpp - losses without whole logits -----------------===//

#include "zero/Dialect/NN/FuseCrossEntropy.h"

#include "Types.h"

#include "zero/Dialect/NN/NN.h"
#include "zero/Dialect/NN/TensorForms.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using nn::detail::typeOf;
using namespace mlir::nn;

namespace {

/// The operations around one loss that become one, or, where the loss is of a
/// range of the classes, two: what is combined of all ranges lies between.
struct Loss {
  explicit Loss(CrossEntropyOp op)
      : op(op), loss(op.getLoss()), lse(op.getLse()), logits(op.getLogits()),
        targets(op.getTargets()), sum(op.getSum()),
        ignored(static_cast<int64_t>(op.getIgnoreIndex())) {}
  explicit Loss(PartialCrossEntropyOp op)
      : op(op), loss(op.getLoss()), lse(op.getLse()), logits(op.getLogits()),
        targets(op.getTargets()), sum(op.getSum()),
        ignored(static_cast<int64_t>(op.getIgnoreIndex())), partial(op) {}

  Operation *op;
  Value loss, lse, logits, targets;
  bool sum; ///< of the rows that count, no mean
  int64_t ignored;
  PartialCrossEntropyOp partial = {}; ///< null: the loss is of all classes
  LinearOp linear = {};
  Operation *grad = nullptr; ///< null: the loss has no gradient
  LinearOp dx = {};
  MatmulOp dw = {};
  Operation *view = nullptr; ///< of x, for dw
  ReduceOp db = {};          ///< null where the linear operation has no bias
  /// The readers of the loss in front of its gradient.
  llvm::SetVector<Operation *> late = {};

  /// Finds the operations of `loss`; says why they cannot become one, or
  /// nothing.
  std::string find();
  void fuse(int64_t chunkBytes);

private:
  std::string findReadersOfLogits();
  std::string findReadersOfGradient();
  std::string checkPlace();
  void moveReaders();
  void fuseForward(ImplicitLocOpBuilder &builder, Value x, int64_t chunk);
  void fuseGradient(ImplicitLocOpBuilder &builder, Value x, int64_t chunk);
  void fusePartial(ImplicitLocOpBuilder &builder, Value x, int64_t chunk);
  void replaceGradients(ImplicitLocOpBuilder &builder, Value newDx, Value newDw,
                        Value newDb);
};

} // namespace

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

/// Adds the operations that read `value`, also in another shape.
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

/// The logarithms that a gradient of a cross entropy takes; null of others.
static Value getLseOfGradient(Operation *op) {
  if (auto grad = dyn_cast<CrossEntropyGradOp>(op))
    return grad.getLse();
  if (auto grad = dyn_cast<PartialCrossEntropyGradOp>(op))
    return grad.getLse();
  return {};
}

std::string Loss::findReadersOfLogits() {
  SmallVector<Operation *> readers;
  findReaders(linear.getY(), readers);
  for (Operation *reader : readers) {
    if (reader == op)
      continue;
    if (grad || getLseOfGradient(reader) != lse)
      return "its logits are also read by " + nameOf(reader);
    grad = reader;
  }
  for (Operation *reader : lse.getUsers())
    if (reader != grad && !partial)
      return "the logarithms of its sums are also read by " + nameOf(reader);
  return "";
}

std::string Loss::findReadersOfGradient() {
  Value x = skipReshapes(linear.getX());
  SmallVector<Operation *> readers;
  findReaders(grad->getResult(0), readers);
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

/// Checks that the fused operation can stand in the gradient's place: readers
/// of the loss in front of it move behind it, unless the gradient depends on
/// them.
std::string Loss::checkPlace() {
  if (partial)
    return "";
  SmallVector<Operation *> open(loss.getUsers());
  while (!open.empty()) {
    Operation *reader = open.pop_back_val();
    Operation *inBlock = grad->getBlock()->findAncestorOpInBlock(*reader);
    if (inBlock && grad->isBeforeInBlock(inBlock))
      continue;
    if (!inBlock || inBlock == grad || !isMemoryEffectFree(inBlock))
      return "it is read by " + nameOf(reader) + " before its gradient is made";
    if (late.insert(inBlock))
      llvm::append_range(open, inBlock->getUsers());
  }
  return "";
}

/// Moves what reads the loss behind the gradient, in its order.
void Loss::moveReaders() {
  SmallVector<Operation *> readers = late.takeVector();
  llvm::sort(readers,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *reader : readers)
    reader->moveAfter(grad);
}

std::string Loss::find() {
  linear = skipReshapes(logits).getDefiningOp<LinearOp>();
  if (!linear)
    return "its logits are not those of an nn.linear";
  if (linear->getBlock() != op->getBlock())
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

/// A loss without a gradient.
void Loss::fuseForward(ImplicitLocOpBuilder &builder, Value x, int64_t chunk) {
  auto fused = LinearCrossEntropyOp::create(
      builder, loss.getType(), x, linear.getW(), targets, linear.getBias(),
      linear.getTransposed(), chunk, sum, ignored,
      cast<CrossEntropyOp>(op).getClassesAttr());
  loss.replaceAllUsesWith(fused.getLoss());
}

/// A loss where its gradient is.
void Loss::fuseGradient(ImplicitLocOpBuilder &builder, Value x, int64_t chunk) {
  auto fused = LinearCrossEntropyGradOp::create(
      builder, loss.getType(), x.getType(), linear.getW().getType(),
      db ? db.getY().getType() : Type(),
      cast<CrossEntropyGradOp>(grad).getDloss(), x, linear.getW(), targets,
      linear.getBias(), linear.getTransposed(), chunk, sum, ignored,
      cast<CrossEntropyOp>(op).getClassesAttr());
  loss.replaceAllUsesWith(fused.getLoss());
  replaceGradients(builder, fused.getDx(), fused.getDw(), fused.getDb());
}

/// A loss of a range, and its gradient where that is.
void Loss::fusePartial(ImplicitLocOpBuilder &builder, Value x, int64_t chunk) {
  auto fused = LinearPartialCrossEntropyOp::create(
      builder, loss.getType(), lse.getType(), x, linear.getW(), targets,
      partial.getFirst(), linear.getBias(), linear.getTransposed(), chunk, sum,
      ignored, partial.getClasses());
  if (grad) {
    auto old = cast<PartialCrossEntropyGradOp>(grad);
    builder.setInsertionPoint(grad);
    auto gradient = LinearPartialCrossEntropyGradOp::create(
        builder, x.getType(), linear.getW().getType(),
        db ? db.getY().getType() : Type(), old.getDloss(), old.getDlse(), x,
        linear.getW(), targets, partial.getFirst(), fused.getLse(),
        linear.getBias(), linear.getTransposed(), chunk, sum, ignored,
        partial.getClasses());
    replaceGradients(builder, gradient.getDx(), gradient.getDw(),
                     gradient.getDb());
  }
  loss.replaceAllUsesWith(fused.getLoss());
  lse.replaceAllUsesWith(fused.getLse());
}

void Loss::replaceGradients(ImplicitLocOpBuilder &builder, Value newDx,
                            Value newDw, Value newDb) {
  dx.getY().replaceAllUsesWith(buildReshape(builder, newDx, typeOf(dx.getY())));
  dw.getC().replaceAllUsesWith(newDw);
  if (db)
    db.getY().replaceAllUsesWith(newDb);
  view = (linear.getTransposed() ? dw.getB() : dw.getA()).getDefiningOp();
  eraseWithReaders(grad);
}

void Loss::fuse(int64_t chunkBytes) {
  Location locs[] = {linear.getLoc(), op->getLoc()};
  ImplicitLocOpBuilder builder(FusedLoc::get(op->getContext(), locs), op);
  if (grad && !partial) {
    moveReaders();
    builder.setInsertionPoint(grad);
  }
  SmallVector<int64_t> shape(typeOf(targets).getShape());
  shape.push_back(typeOf(linear.getX()).getShape().back());
  Value x =
      buildReshape(builder, linear.getX(), typeOf(linear.getX()).clone(shape));
  int64_t chunk = countChunk(typeOf(linear.getY()), chunkBytes);
  if (partial)
    fusePartial(builder, x, chunk);
  else if (grad)
    fuseGradient(builder, x, chunk);
  else
    fuseForward(builder, x, chunk);
  eraseWithReaders(linear);
  if (view && view->use_empty() && reshapesRows(view))
    view->erase();
}

/// Whether the logits of `op` are the logarithms of ranges, a few each row.
static bool isAmongRanges(Operation *op) {
  Operation *def = op->getOperand(0).getDefiningOp();
  while (def && def->getNumOperands() == 1)
    def = def->getOperand(0).getDefiningOp();
  return isa_and_nonnull<PartialCrossEntropyOp>(def);
}

template <typename LossOp> static void fuseAll(Operation *root, int64_t bytes) {
  SmallVector<LossOp> losses;
  root->walk([&](LossOp op) {
    if (!isAmongRanges(op))
      losses.push_back(op);
  });
  for (LossOp op : losses) {
    Loss loss(op);
    std::string why = loss.find();
    if (why.empty())
      loss.fuse(bytes);
    else
      emitRemark(op.getLoc())
          << "the logits of this loss stay whole"
          << (loss.lse.use_empty() ? " where it has no gradient, as in "
                                     "evaluations: "
                                   : ": ")
          << why;
  }
}

void nn::fuseCrossEntropy(Operation *root, int64_t chunkBytes) {
  fuseAll<CrossEntropyOp>(root, chunkBytes);
  fuseAll<PartialCrossEntropyOp>(root, chunkBytes);
}
