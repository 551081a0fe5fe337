//===- VerifyOffload.cpp - what the host updates is what it was given -----===//
//
// An update on the host works on copies: they must be of its own range, and
// what it gives must go back to where it belongs, once.
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// An error at `op` unless `value` is what the wait for an operation of type
/// `Source` gave, about the same range of the same partition.
template <typename Source, typename Target>
static FailureOr<Source> findSource(const Tables &tables, Target op,
                                    Value value, StringRef wanted) {
  auto source = dyn_cast_if_present<Source>(tables.handles.findStartOf(value));
  if (source && source.getPartitionAttr() == op.getPartitionAttr() &&
      source.getBegin() == op.getBegin() && source.getEnd() == op.getEnd())
    return source;
  InFlightDiagnostic error = op.emitOpError("is about [")
                             << op.getBegin() << " to " << op.getEnd()
                             << "] of " << op.getPartitionAttr()
                             << ", and is given what is not " << wanted
                             << " of it";
  error.attachNote(value.getLoc()) << "given by this";
  return error;
}

static LogicalResult verifyCopy(const Tables &tables, UpdateOnHostOp update,
                                Value value, StringRef state) {
  FailureOr<CopyToHostOp> copy = findSource<CopyToHostOp>(
      tables, update, value, "a copy of the " + state.str());
  if (failed(copy))
    return failure();
  if (copy->getState() == state)
    return success();
  InFlightDiagnostic error = update.emitOpError("is given a copy of the ")
                             << copy->getState() << ", wanted the " << state;
  error.attachNote(copy->getLoc()) << "copied here";
  return error;
}

/// Whether something beside `update` reads the parameters that it overwrites.
static bool isUsedElsewhere(UpdateOnHostOp update) {
  return llvm::any_of(update.getParameters().getUsers(), [&](Operation *user) {
    return user != update && !isa<FreeOp>(user);
  });
}

LogicalResult verify::verifyOffload(const Tables &tables) {
  llvm::DenseSet<Operation *> taken;
  WalkResult walk = tables.step->walk([&](Operation *op) {
    if (auto update = dyn_cast<UpdateOnHostOp>(op)) {
      if (failed(
              verifyCopy(tables, update, update.getGradients(), "gradients")) ||
          (update.getParameters() &&
           failed(verifyCopy(tables, update, update.getParameters(),
                             "parameters"))))
        return WalkResult::interrupt();
      // It is overwritten in place.
      if (update.getParameters() && isUsedElsewhere(update)) {
        update.emitOpError("overwrites a copy that is used elsewhere, too");
        return WalkResult::interrupt();
      }
    }
    if (auto copy = dyn_cast<CopyToDeviceOp>(op)) {
      FailureOr<UpdateOnHostOp> update = findSource<UpdateOnHostOp>(
          tables, copy, copy.getValue(), "the update");
      if (failed(update))
        return WalkResult::interrupt();
      if (!taken.insert(*update).second) {
        copy.emitOpError("copies to the device what was copied already");
        return WalkResult::interrupt();
      }
      if (update->getVerdict() != copy.getVerdict()) {
        copy.emitOpError("goes by another verdict than its update");
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  walk = tables.step->walk([&](UpdateOnHostOp update) {
    if (taken.contains(update) ||
        update.getPending().getType().getTypes().empty())
      return WalkResult::advance();
    update.emitOpError("gives parameters that no 'zero.copy_to_device' takes "
                       "back");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}
