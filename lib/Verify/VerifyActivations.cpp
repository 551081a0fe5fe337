//===- VerifyActivations.cpp - what is away comes back, and once ----------===//
//
// What is in host memory is read by what runs or copies there, and by nothing
// on the device; each offloaded activation is fetched once, under its number.
// Which value an offload is given is the forward pass's to say, and which of
// what is fetched a kernel reads is the backward pass's: nothing here proves
// it.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// An error at the first operation that reads `value`, which `start` has put in
/// host memory, and may not.
static LogicalResult verifyReaders(Value value, AsyncOpInterface start) {
  bool isActivation = isa<OffloadOp>(start.getOperation());
  for (Operation *user : value.getUsers()) {
    bool isOnHost = isActivation
                        ? isa<FetchOp>(user)
                        : isa<AsyncOpInterface>(user) &&
                              !isa<CollectiveOpInterface, OffloadOp>(user);
    if (isOnHost || isa<FreeOp>(user))
      continue;
    InFlightDiagnostic error = user->emitOpError(
        "reads what is in host memory; wanted a value on the device: "
        "'zero.fetch' copies an activation back");
    error.attachNote(start.getLoc()) << "copied to the host here";
    return error;
  }
  return success();
}

static LogicalResult verifyTiers(const Tables &tables, WaitOp wait) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      tables.handles.findStart(wait.getPending()));
  if (!start)
    return success();
  for (const AsyncBuffer &buffer : tables.getBuffers(start))
    if (buffer.result >= 0 && buffer.memory == AsyncBuffer::Memory::Own &&
        buffer.tier != MemoryTier::Device &&
        failed(verifyReaders(wait.getResult(buffer.result), start)))
      return failure();
  return success();
}

/// Checks that a fetch reads the copy that was offloaded under its number, and
/// is the first to do so.
static LogicalResult verifyFetch(const Tables &tables, FetchOp fetch,
                                 DenseMap<Operation *, FetchOp> &fetched) {
  auto offload = dyn_cast_if_present<OffloadOp>(
      tables.handles.findStartOf(fetch.getValue()));
  if (!offload || offload.getId() != fetch.getId()) {
    InFlightDiagnostic error = fetch.emitOpError("brings back activation ")
                               << fetch.getId() << ", and is given what is not "
                               << "'zero.offload' " << fetch.getId()
                               << "'s copy";
    error.attachNote(fetch.getValue().getLoc()) << "given by this";
    return error;
  }
  auto [other, isFirst] = fetched.try_emplace(offload, fetch);
  if (isFirst)
    return success();
  InFlightDiagnostic error = fetch.emitOpError("brings back activation ")
                             << fetch.getId() << " a second time";
  error.attachNote(other->second.getLoc()) << "the first time";
  return error;
}

/// An error at an offload whose number another one of its region has, or that
/// nothing fetches.
static LogicalResult
verifyOffloads(Block &block, const DenseMap<Operation *, FetchOp> &fetched) {
  DenseMap<int64_t, OffloadOp> known;
  for (auto offload : block.getOps<OffloadOp>()) {
    auto [other, isNew] = known.try_emplace(offload.getId(), offload);
    if (!isNew) {
      InFlightDiagnostic error = offload.emitOpError("has the id ")
                                 << offload.getId()
                                 << " of another one of its region";
      error.attachNote(other->second.getLoc()) << "the other one";
      return error;
    }
    if (!fetched.contains(offload))
      return offload.emitOpError("copies an activation to the host that no "
                                 "'zero.fetch' brings back");
  }
  return success();
}

LogicalResult verify::verifyActivations(const Tables &tables) {
  for (Operation &region : tables.step.getBody().front()) {
    Block &block = region.getRegion(0).front();
    for (auto wait : block.getOps<WaitOp>())
      if (failed(verifyTiers(tables, wait)))
        return failure();
    DenseMap<Operation *, FetchOp> fetched;
    for (auto fetch : block.getOps<FetchOp>())
      if (failed(verifyFetch(tables, fetch, fetched)))
        return failure();
    if (failed(verifyOffloads(block, fetched)))
      return failure();
  }
  return success();
}
