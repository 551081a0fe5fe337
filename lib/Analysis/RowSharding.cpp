//===- RowSharding.cpp - rows between what an axis cuts -------------------===//
//
// Between operations that are cut, such as from one layer's sum to the next
// layer's products, every rank has the same: norms, dropout, the residual
// stream. There ranks can have parts of the rows instead. A sum then gives each
// rank its rows, and they are gathered where cut operations need all: the bytes
// of one all-reduce, for values of which each rank has a part. It is what
// "Reducing Activation Recomputation in Large Transformer Models" (Korthikanti
// et al., 2022) calls sequence parallelism.
//
//===----------------------------------------------------------------------===//

#include "zero/Analysis/Sharding.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;

/// The largest part of an operation's results that may be sent for gradients of
/// values that ranks share there, such as the gain of a norm.
static constexpr double kMostShare = 1.0 / 4;

static double bytesOf(Value value) {
  return static_cast<double>(tensorBytes(value.getType()));
}

static bool isOfFloats(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  });
}

/// Whether ranks can compute parts of `op` along `atom`, and send at most
/// `share` of its results for what they share.
bool Sharding::sparesRows(Operation *op, DimensionId atom, double share) const {
  if (isa<LoadOp>(op) || !isOfFloats(op) || !canGo(op, atom))
    return false;
  double sent = 0, given = 0;
  for (Value operand : op->getOperands())
    if (trained.contains(operand) &&
        !findDimension(dimensions.of(operand), atom))
      sent += 2 * bytesOf(operand);
  for (Value result : op->getResults())
    given += bytesOf(result);
  return sent <= share * given;
}

/// Whether all that reads the results of `op` needs them whole, and they are
/// larger than the parts that it reads.
bool Sharding::isGathered(Operation *op,
                          const DenseSet<Operation *> &found) const {
  double read = 0, given = 0;
  for (Value operand : op->getOperands())
    if (Operation *made = operand.getDefiningOp();
        made && (found.contains(made) || cutOperations.contains(made)))
      read += bytesOf(operand);
  for (Value result : op->getResults()) {
    for (Operation *user : result.getUsers())
      if (found.contains(user) || cutOperations.contains(user))
        return false;
    if (!result.use_empty())
      given += bytesOf(result);
  }
  return given > read;
}

/// Adds what alone feeds operations of rows, such as a table that is broadcast
/// to all samples.
void Sharding::addFeeding(DimensionId atom,
                          llvm::SetVector<Operation *> &found) const {
  for (Operation &op : llvm::reverse(*body))
    if (!found.contains(&op) && !cutOperations.contains(&op) &&
        !op.use_empty() && op.getNumOperands() > 0 &&
        llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return found.contains(user); }) &&
        sparesRows(&op, atom, /*share=*/1))
      found.insert(&op);
}

/// The operations of which ranks could have parts along `atom`: of what sums
/// give, and what follows as far as it can.
SmallVector<Operation *> Sharding::findRowOperations(DimensionId atom) const {
  DenseSet<Value> parts;
  SmallVector<Operation *> following;
  for (Operation &op : *body) {
    auto cut = cutOperations.find(&op);
    bool isCut = cut != cutOperations.end();
    bool reads = llvm::any_of(op.getOperands(), [&](Value operand) {
      return parts.contains(operand);
    });
    if (isCut ? !cut->second.isSum
              : !reads || !sparesRows(&op, atom, kMostShare))
      continue;
    for (Value result : op.getResults())
      if (findDimension(dimensions.of(result), atom))
        parts.insert(result);
    if (!isCut)
      following.push_back(&op);
  }
  DenseSet<Operation *> kept(following.begin(), following.end());
  for (Operation *op : llvm::reverse(following))
    if (isGathered(op, kept))
      kept.erase(op);
  llvm::SetVector<Operation *> found;
  for (Operation *op : following)
    if (kept.contains(op))
      found.insert(op);
  addFeeding(atom, found);
  return found.takeVector();
}

/// The class of which most can be cut; of equals the outermost one.
void Sharding::cutRows() {
  llvm::SetVector<DimensionId> atoms;
  for (Operation &op : *body)
    if (isSum(&op))
      for (Value result : op.getResults())
        for (DimensionId dim : dimensions.of(result))
          for (DimensionId atom : dimensions.atomsOf(dim))
            if (dimensions.sizeOf(atom) % over.getSize() == 0)
              atoms.insert(atom);
  SmallVector<Operation *> best;
  double most = 0;
  for (DimensionId atom : atoms) {
    SmallVector<Operation *> found = findRowOperations(atom);
    double spared = 0;
    for (Operation *op : found)
      for (Value result : op->getResults())
        spared += bytesOf(result);
    if (spared <= most)
      continue;
    most = spared;
    best = found;
    rows = atom;
  }
  for (Operation *op : best) {
    cutOperations[op] = *findCut(op, *rows);
    rowOperations.insert(op);
  }
}
