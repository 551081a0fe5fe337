//===- VerifyOffload.cpp - what the host updates is what it was given -----===//
//
// An update on the host works on copies: they must be of its own range, and
// what it gives must go back to where it belongs, once. What is in host memory
// is read by what runs or copies there, and by nothing else.
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

/// An error at the first operation that reads `value`, or a view of it, which
/// is in host memory, and does not run there.
static LogicalResult verifyReaders(Value value, AsyncOpInterface start) {
  for (Operation *user : value.getUsers()) {
    if (isa<FreeOp>(user))
      continue;
    if (isa<AsyncOpInterface>(user) && !isa<CollectiveOpInterface>(user))
      continue;
    InFlightDiagnostic error = user->emitOpError(
        "reads what is in host memory; wanted a value on the device: "
        "'zero.fetch' copies an activation back");
    error.attachNote(start.getLoc()) << "copied to the host here";
    return error;
  }
  return success();
}

/// What is fetched must be what was offloaded under its number.
static LogicalResult verifyFetch(const Tables &tables, FetchOp fetch) {
  auto offload = dyn_cast_if_present<OffloadOp>(
      tables.handles.findStartOf(fetch.getValue()));
  if (offload && offload.getId() == fetch.getId())
    return success();
  InFlightDiagnostic error = fetch.emitOpError("brings back activation ")
                             << fetch.getId() << ", and is given what is not "
                             << "'zero.offload' " << fetch.getId() << "'s copy";
  error.attachNote(fetch.getValue().getLoc()) << "given by this";
  return error;
}

/// An error at an offload whose number another one of its region has.
static LogicalResult verifyNumbers(Block &block) {
  DenseMap<int64_t, OffloadOp> known;
  for (auto offload : block.getOps<OffloadOp>()) {
    auto [other, isNew] = known.try_emplace(offload.getId(), offload);
    if (isNew)
      continue;
    InFlightDiagnostic error = offload.emitOpError("has the id ")
                               << offload.getId()
                               << " of another one of its region";
    error.attachNote(other->second.getLoc()) << "the other one";
    return error;
  }
  return success();
}

/// Checks who reads what `wait` gives; of a `zero.fetch`, whether it is given
/// what is on the host.
static LogicalResult verifyTier(const Tables &tables, WaitOp wait) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      tables.handles.findStart(wait.getPending()));
  if (!start)
    return success();
  for (const AsyncBuffer &buffer : tables.getBuffers(start)) {
    if (buffer.result < 0 || buffer.memory != AsyncBuffer::Memory::Own ||
        buffer.tier == MemoryTier::Device)
      continue;
    if (failed(verifyReaders(wait.getResult(buffer.result), start)))
      return failure();
  }
  auto fetch = dyn_cast<FetchOp>(start.getOperation());
  return fetch ? verifyFetch(tables, fetch) : success();
}

LogicalResult verify::verifyOffload(const Tables &tables) {
  for (Operation &region : tables.step.getBody().front())
    if (failed(verifyNumbers(region.getRegion(0).front())))
      return failure();
  llvm::DenseSet<Operation *> taken;
  WalkResult walk = tables.step->walk([&](Operation *op) {
    if (auto wait = dyn_cast<WaitOp>(op);
        wait && failed(verifyTier(tables, wait)))
      return WalkResult::interrupt();
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
    if (taken.contains(update))
      return WalkResult::advance();
    update.emitOpError("gives parameters that no 'zero.copy_to_device' takes "
                       "back");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}
