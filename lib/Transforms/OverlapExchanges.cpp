//===- OverlapExchanges.cpp - compute while values are exchanged ----------===//

#include "zero/Analysis/Schedule.h"
#include "zero/Cost/CostModel.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::zero {
#define GEN_PASS_DEF_OVERLAPEXCHANGES
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

/// The wait for `op` in its own block, where `op` starts an exchange that gives
/// values. What is sent to another stage gives none, and is waited for last.
static WaitOp findWaitForExchange(Operation &op) {
  auto start = dyn_cast<AsyncOpInterface>(op);
  if (!start || start.getStream() != StreamKind::Exchange)
    return {};
  for (Operation *user : op.getUsers())
    if (auto wait = dyn_cast<WaitOp>(user);
        wait && wait->getBlock() == op.getBlock() && wait.getNumResults() > 0)
      return wait;
  return {};
}

/// Whether `op` may run later than it does: it computes, or says whose gradient
/// a value is.
static bool mayMove(Operation &op) {
  return isa<GradientOp>(op) ||
         (op.getNumOperands() > 0 && isMemoryEffectFree(&op));
}

/// The seconds of `start` that what stands before its wait does not hide.
static double findExposed(Operation *start, WaitOp wait,
                          const CostModel &model) {
  double seconds = model.costOf(start) * model.getMachine().overlapSlowdown;
  for (Operation *op = start->getNextNode(); op != wait.getOperation();
       op = op->getNextNode())
    if (!isa<AsyncOpInterface>(op))
      seconds -= model.costOf(op);
  return seconds;
}

/// The last operations from `first` up to `start` that hide `seconds` of it, in
/// their order: nothing that stays before `start` reads what they compute.
static SmallVector<Operation *> findLater(Operation *first, Operation *start,
                                          double seconds,
                                          const CostModel &model) {
  Block &block = *start->getBlock();
  llvm::SmallPtrSet<Operation *, 16> later;
  SmallVector<Operation *> found;
  size_t kept = 0;
  for (Operation *op = start; op != first && seconds > 0;) {
    op = op->getPrevNode();
    bool isLater =
        mayMove(*op) && llvm::all_of(op->getUsers(), [&](auto *user) {
          Operation *here = block.findAncestorOpInBlock(*user);
          return !here || later.contains(here) || start->isBeforeInBlock(here);
        });
    if (!isLater)
      continue;
    later.insert(op);
    found.push_back(op);
    const double cost = model.costOf(op);
    seconds -= cost;
    if (cost > 0)
      kept = found.size();
  }
  found.truncate(kept); // what takes no time hides none
  return {found.rbegin(), found.rend()};
}

/// Lets some of what each exchange of `block` does not need run while it is
/// under way, from as far back as the wait before it, or the chunk of a
/// pipeline that it is in.
static void overlapIn(Block &block, const CostModel &model) {
  Operation *first = &block.front();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<WaitOp, StageBoundaryOp>(op)) {
      first = op.getNextNode();
      continue;
    }
    WaitOp wait = findWaitForExchange(op);
    if (!wait)
      continue;
    Operation *place = &op;
    for (Operation *later :
         findLater(first, &op, findExposed(&op, wait, model), model)) {
      if (later == first)
        first = later->getNextNode();
      later->moveAfter(place);
      place = later;
    }
  }
}

namespace {
struct OverlapExchanges
    : public zero::impl::OverlapExchangesBase<OverlapExchanges> {
  using OverlapExchangesBase::OverlapExchangesBase;
  void runOnOperation() override;
};
} // namespace

void OverlapExchanges::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  FailureOr<Machine> machine = readMachine(*step, this->machine);
  if (failed(machine))
    return signalPassFailure();
  if (machine->worksAtWait) // and so hides nothing
    return;
  CostModel model =
      makeCostModel(*machine, getOperation(), *step->getTraining());
  step->walk([&](Block *block) {
    if (!block->empty())
      overlapIn(*block, model);
  });
}
