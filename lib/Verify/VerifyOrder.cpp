//===- VerifyOrder.cpp - ranks meet in the same collectives ---------------===//

#include "zero/Verify/Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// The collectives of a rank's program, in order.
static SmallVector<Operation *> collectCollectives(StepOp step) {
  SmallVector<Operation *> collectives;
  step->walk([&](Operation *op) {
    if (isCollective(op))
      collectives.push_back(op);
  });
  return collectives;
}

/// Whether two collectives agree in operation, group, range or parameters,
/// count and type. All of these are in the operation's attributes and types;
/// places may differ.
static bool agree(Operation *a, Operation *b) {
  return a->getName() == b->getName() &&
         getCommonFacts(a) == getCommonFacts(b) &&
         a->getParentOp()->getName() == b->getParentOp()->getName() &&
         a->getResultTypes() == b->getResultTypes() &&
         TypeRange(a->getOperandTypes()) == TypeRange(b->getOperandTypes());
}

LogicalResult verify::verifyOrder(ArrayRef<StepOp> ranks) {
  if (ranks.size() < 2)
    return success();
  SmallVector<Operation *> first = collectCollectives(ranks.front());
  for (auto [rank, step] : llvm::enumerate(ranks.drop_front())) {
    SmallVector<Operation *> other = collectCollectives(step);
    for (auto [a, b] : llvm::zip(first, other)) {
      if (agree(a, b))
        continue;
      InFlightDiagnostic error =
          b->emitOpError("is what rank ")
          << rank + 1 << " does where rank 0 does '" << a->getName()
          << "' or the same of another kind, range, count or type";
      error.attachNote(a->getLoc()) << "on rank 0";
      return error;
    }
    if (first.size() == other.size())
      continue;
    Operation *extra =
        first.size() > other.size() ? first[other.size()] : other[first.size()];
    return extra->emitOpError("waits for a rank that never comes: rank ")
           << rank + 1 << " meets in " << other.size()
           << " collectives, rank 0 in " << first.size();
  }
  return success();
}
