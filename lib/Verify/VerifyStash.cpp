//===- VerifyStash.cpp - what outlives a pass of a stage ------------------===//
//
// A pass reads of its micro-batch's passes before what these have stashed, and
// what is on its way when a pass ends lies in the stash. When slots are written
// and read is a matter of all stages together.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

static LogicalResult addStash(StashOp stash,
                              DenseMap<StringAttr, StashOp> &known) {
  Operation *region = stash->getParentOp();
  if (!isa<ForwardOp, MicroOp>(region) ||
      !cast<StepOp>(region->getParentOp()).getRegionOp<ForwardOp>())
    return stash.emitOpError("stands where no pass of a pipeline's stage is; "
                             "wanted 'zero.forward', or 'zero.micro' beside "
                             "one");
  auto [other, isNew] = known.try_emplace(stash.getNameAttr(), stash);
  if (isNew)
    return success();
  InFlightDiagnostic error = stash.emitOpError("has the name ")
                             << stash.getNameAttr() << " of another one";
  error.attachNote(other->second.getLoc()) << "the other one";
  return error;
}

static LogicalResult verifyUnstash(UnstashOp unstash,
                                   const DenseMap<StringAttr, StashOp> &known) {
  StashOp stash = known.lookup(unstash.getNameAttr());
  Operation *pass = unstash->getParentOp();
  if (!isa<ForwardOp, MicroOp>(pass))
    return unstash.emitOpError("stands where no pass of a pipeline's stage is; "
                               "wanted 'zero.micro', a backward pass");
  if (!stash || !stash->getParentOp()->isBeforeInBlock(pass))
    return unstash.emitOpError("takes ")
           << unstash.getNameAttr() << ", which no pass before puts there";
  if (stash.getType() == unstash.getType())
    return success();
  InFlightDiagnostic error = unstash.emitOpError("takes ")
                             << unstash.getNameAttr() << " as "
                             << unstash.getType() << ", and it is "
                             << stash.getType();
  error.attachNote(stash.getLoc()) << "put there by this";
  return error;
}

/// A send that its pass does not wait for reads the value when the pass is
/// over, so the value must be in the stash.
static LogicalResult verifySend(StartSendOp send) {
  bool isCarried =
      llvm::any_of(send.getPending().getUsers(), llvm::IsaPred<CarryOp>);
  if (!isCarried || isa_and_present<StashOp>(send.getValue().getDefiningOp()))
    return success();
  InFlightDiagnostic error =
      send.emitOpError("is carried to another pass, and what it sends is not "
                       "in the stash; wanted the result of a 'zero.stash'");
  error.attachNote(send.getValue().getLoc()) << "made here";
  return error;
}

LogicalResult verify::verifyStash(const Tables &tables) {
  DenseMap<StringAttr, StashOp> known;
  for (Operation &region : tables.step.getBody().front()) {
    Block &block = region.getRegion(0).front();
    for (auto stash : block.getOps<StashOp>())
      if (failed(addStash(stash, known)))
        return failure();
  }
  for (Operation &region : tables.step.getBody().front()) {
    Block &block = region.getRegion(0).front();
    for (auto unstash : block.getOps<UnstashOp>())
      if (failed(verifyUnstash(unstash, known)))
        return failure();
    for (auto send : block.getOps<StartSendOp>())
      if (failed(verifySend(send)))
        return failure();
  }
  return success();
}
