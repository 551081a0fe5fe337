//===- VerifyOffload.cpp - what the host updates is what it was given -----===//
//
// An update on the host works on copies: they must be of its own range, and
// what it gives must go back to where it belongs, once. Were a state given to
// an update twice, one of its operands would be another state's result.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

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

/// Whether something beside `update` reads `value`, which it overwrites.
static bool isUsedElsewhere(UpdateOnHostOp update, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user != update && !isa<FreeOp>(user);
  });
}

namespace {

/// The ways of what the host updates: each operation takes from the right one,
/// and nothing is taken twice or left.
class Offload {
public:
  explicit Offload(const Tables &tables) : tables(tables) {}
  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitUpdate(UpdateOnHostOp update);
  LogicalResult visitCopy(CopyToDeviceOp copy);
  LogicalResult visitWrite(WriteStatesOp write);
  LogicalResult verifyTaken(UpdateOnHostOp update);

  const Tables &tables;
  /// Updates whose parameters were copied back, and whose states were written;
  /// reads whose states were updated.
  llvm::DenseSet<Operation *> copied, written, updated;
};

} // namespace

/// `value` must be result `index` of the wait for its start.
static LogicalResult verifyIndex(Operation *op, Value value, unsigned index) {
  if (cast<OpResult>(value).getResultNumber() == index)
    return success();
  InFlightDiagnostic error = op->emitOpError("is given result ")
                             << cast<OpResult>(value).getResultNumber()
                             << " of what was started, "
                             << "wanted result " << index;
  error.attachNote(value.getLoc()) << "given by this";
  return error;
}

/// The states are those that were read, of this range, for this update alone.
LogicalResult Offload::visitUpdate(UpdateOnHostOp update) {
  if (failed(verifyCopy(tables, update, update.getGradients(), "gradients")) ||
      (update.getParameters() &&
       failed(
           verifyCopy(tables, update, update.getParameters(), "parameters"))))
    return failure();
  // The update overwrites the copy of the parameters in place.
  if (update.getParameters() && isUsedElsewhere(update, update.getParameters()))
    return update.emitOpError("overwrites a copy that is used elsewhere, too");
  for (auto [index, state] : llvm::enumerate(update.getStates())) {
    FailureOr<ReadStatesOp> read =
        findSource<ReadStatesOp>(tables, update, state, "what was read");
    if (failed(read) || failed(verifyIndex(update, state, index)))
      return failure();
    if (isUsedElsewhere(update, state))
      return update.emitOpError(
          "overwrites a state that is used elsewhere, too");
    updated.insert(*read);
  }
  return success();
}

LogicalResult Offload::visitCopy(CopyToDeviceOp copy) {
  FailureOr<UpdateOnHostOp> update =
      findSource<UpdateOnHostOp>(tables, copy, copy.getValue(), "the update");
  if (failed(update) || failed(verifyIndex(copy, copy.getValue(), 0)))
    return failure();
  if (!copied.insert(*update).second)
    return copy.emitOpError("copies to the device what was copied already");
  if (update->getVerdict() != copy.getVerdict())
    return copy.emitOpError("goes by another verdict than its update");
  return success();
}

LogicalResult Offload::visitWrite(WriteStatesOp write) {
  for (auto [index, state] : llvm::enumerate(write.getStates())) {
    FailureOr<UpdateOnHostOp> update =
        findSource<UpdateOnHostOp>(tables, write, state, "the update");
    if (failed(update))
      return failure();
    size_t first = update->getPending().getType().getTypes().size() -
                   update->getStates().size();
    if (failed(verifyIndex(write, state, first + index)))
      return failure();
    if (index == 0 && !written.insert(*update).second)
      return write.emitOpError("writes what was written already");
  }
  return success();
}

LogicalResult Offload::visit(Operation *op) {
  if (auto update = dyn_cast<UpdateOnHostOp>(op))
    return visitUpdate(update);
  if (auto copy = dyn_cast<CopyToDeviceOp>(op))
    return visitCopy(copy);
  if (auto write = dyn_cast<WriteStatesOp>(op))
    return visitWrite(write);
  return success();
}

LogicalResult Offload::verifyTaken(UpdateOnHostOp update) {
  size_t results = update.getPending().getType().getTypes().size();
  if (results > update.getStates().size() && !copied.contains(update))
    return update.emitOpError("gives parameters that no 'zero.copy_to_device' "
                              "takes back");
  if (!update.getStates().empty() && !written.contains(update))
    return update.emitOpError("gives states that no 'zero.write_states' writes "
                              "back");
  return success();
}

LogicalResult Offload::run() {
  WalkResult walk = tables.step->walk([&](Operation *op) {
    return failed(visit(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  walk = tables.step->walk([&](Operation *op) {
    LogicalResult result = success();
    if (auto update = dyn_cast<UpdateOnHostOp>(op))
      result = verifyTaken(update);
    else if (isa<ReadStatesOp>(op) && !updated.contains(op))
      result = op->emitOpError("reads states that no update takes");
    return failed(result) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult verify::verifyOffload(const Tables &tables) {
  return Offload(tables).run();
}
