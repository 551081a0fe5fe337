//===- VerifySlices.cpp - gathers send slices as they are -----------------===//
//
// Where slices of parameters are in host memory, a gather sends a copy: of its
// own parameter, made after the last update, and not during one. Nothing else
// reads such a copy, nor slices that are not on the device. A gather within a
// node sends a slice of the secondary partition, of which the same holds.
//
//===----------------------------------------------------------------------===//

#include "Verify.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// A copy of a slice, or one that is on its way, and the updates that the
/// parameters had seen.
struct Slice {
  FlatSymbolRefAttr parameter;
  PartitionRange range;
  int64_t version = 0;
  /// The axes of the secondary partition that it is of; null for the slice that
  /// this rank owns.
  AxesAttr over = {};
};

class Slices : public Tracker {
public:
  explicit Slices(const Tables &tables) : tables(tables) {}
  LogicalResult visit(Operation &op) override;
  LogicalResult drain() override {
    copying.clear();
    updating.clear();
    return success();
  }

private:
  LogicalResult visitUses(Operation &op);
  LogicalResult visitStart(AsyncOpInterface start);
  LogicalResult visitSecondary(SecondarySliceOp op);
  LogicalResult startUpload(UploadOp upload, const AsyncBuffer &buffer);
  LogicalResult startUpdate(Operation *op, const AsyncBuffer &buffer);
  LogicalResult verifySent(CollectiveOpInterface op, const AsyncBuffer &buffer);
  void visitWait(WaitOp wait);

  const Tables &tables;
  /// Updates seen of each partition.
  DenseMap<Attribute, int64_t> versions;
  DenseMap<Value, Slice> copies;
  /// In flight, by what started it.
  llvm::MapVector<Operation *, SmallVector<Slice>> copying;
  llvm::MapVector<Operation *, PartitionRange> updating;
};

} // namespace

static bool overlap(const PartitionRange &a, const PartitionRange &b) {
  return a.partition == b.partition && a.begin < b.end && b.begin < a.end;
}

/// The axes of the secondary partition that a gather is over; null: of none.
static AxesAttr overOf(CollectiveOpInterface op) {
  auto gather = dyn_cast<AllGatherOp>(op.getOperation());
  return gather ? gather.getOverAttr() : AxesAttr();
}

static bool isOnHost(const Tables &tables, FlatSymbolRefAttr partition) {
  PartitionOp found = partition ? tables.find(partition) : PartitionOp();
  return found && found.hasParametersOnHost();
}

LogicalResult Slices::visitUses(Operation &op) {
  if (getView(&op) || isa<FreeOp>(op) || op.hasTrait<GathersSlices>())
    return success();
  for (Value operand : op.getOperands())
    if (auto found = copies.find(getRoot(operand)); found != copies.end())
      return op.emitOpError("reads a slice of ")
             << found->second.parameter << ", which only a gather makes whole";
  return success();
}

LogicalResult Slices::startUpload(UploadOp upload, const AsyncBuffer &buffer) {
  auto parameter =
      cast<FlatSymbolRefAttr>(upload.getParameters()[buffer.result]);
  if (!isOnHost(tables, buffer.partition))
    return upload.emitOpError("copies a slice of ")
           << parameter << " to the device, where it is already";
  Type type = upload.getPending().getType().getTypes()[buffer.result];
  auto wanted = RankedTensorType::get({buffer.elements}, buffer.type);
  if (type != wanted)
    return upload.emitOpError("copies the slice of ")
           << parameter << " as " << type << ", wanted " << wanted;
  PartitionRange range = {buffer.partition, buffer.begin, buffer.end};
  for (auto &[update, updated] : updating) {
    if (!overlap(range, updated))
      continue;
    InFlightDiagnostic error = upload.emitOpError("copies a slice of ")
                               << parameter
                               << " while an update of it is in flight; wait "
                                  "for it first";
    error.attachNote(update->getLoc()) << "started here";
    return error;
  }
  copying[upload].push_back(
      {parameter, range, versions.lookup(buffer.partition)});
  return success();
}

LogicalResult Slices::startUpdate(Operation *op, const AsyncBuffer &buffer) {
  PartitionRange range = {buffer.partition, buffer.begin, buffer.end};
  for (auto &[upload, slices] : copying)
    for (const Slice &slice : slices) {
      if (!overlap(range, slice.range))
        continue;
      InFlightDiagnostic error = op->emitOpError("updates ")
                                 << slice.parameter
                                 << " while a slice of it is copied";
      error.attachNote(upload->getLoc()) << "started here and not waited for";
      return error;
    }
  ++versions[buffer.partition];
  updating[op] = range;
  return success();
}

/// What a gather sends must be on the device, and be the slice as it is now.
LogicalResult Slices::verifySent(CollectiveOpInterface op,
                                 const AsyncBuffer &buffer) {
  if (buffer.memory == AsyncBuffer::Memory::State)
    return isOnHost(tables, buffer.partition)
               ? op->emitOpError("gathers slices of ")
                     << buffer.partition
                     << " from host memory, wanted the copies that "
                        "'zero.upload' makes: 'from'"
               : success();
  Value copy = getRoot(op->getOperand(buffer.index));
  auto wanted = cast<FlatSymbolRefAttr>(op.getParameterNames()[buffer.index]);
  auto found = copies.find(copy);
  if (found == copies.end() || found->second.parameter != wanted ||
      found->second.over != overOf(op)) {
    InFlightDiagnostic error = op->emitOpError("gathers ")
                               << wanted
                               << ", and is given what is not a copy of its "
                                  "slice";
    error.attachNote(copy.getLoc()) << "given by this";
    return error;
  }
  if (found->second.version == versions.lookup(buffer.partition))
    return success();
  InFlightDiagnostic error = op->emitOpError("gathers ")
                             << wanted << " as it was before its update";
  error.attachNote(copy.getLoc()) << "copied here";
  return error;
}

LogicalResult Slices::visitSecondary(SecondarySliceOp op) {
  FlatSymbolRefAttr parameter = op.getParameterAttr();
  PartitionOp partition = tables.ownerOf(parameter);
  if (!partition || !partition.hasShardedParameters())
    return op.emitOpError("cuts a slice of ")
           << parameter << ", which every rank has whole";
  auto [begin, end] = tables.getSegmentsOf(parameter.getAttr());
  auto wanted = RankedTensorType::get({(end - begin) / op.getOver().getSize()},
                                      partition.getComputeType());
  if (op.getType() != wanted)
    return op.emitOpError("cuts the slice of ")
           << parameter << " as " << op.getType() << ", wanted " << wanted;
  FlatSymbolRefAttr name = FlatSymbolRefAttr::get(partition.getSymNameAttr());
  copies[op.getSlice()] = {
      parameter, {name, begin, end}, versions.lookup(name), op.getOver()};
  return success();
}

LogicalResult Slices::visitStart(AsyncOpInterface start) {
  copying.erase(start);
  for (const AsyncBuffer &buffer : tables.getBuffers(start)) {
    if (buffer.state != "parameters")
      continue;
    LogicalResult result = success();
    if (auto collective = dyn_cast<CollectiveOpInterface>(start.getOperation()))
      result = buffer.isWritten ? success() : verifySent(collective, buffer);
    else if (auto upload = dyn_cast<UploadOp>(start.getOperation()))
      result = buffer.isWritten ? startUpload(upload, buffer) : success();
    else if (buffer.isWritten)
      result = startUpdate(start, buffer);
    if (failed(result))
      return failure();
  }
  return success();
}

void Slices::visitWait(WaitOp wait) {
  Operation *start = tables.handles.findStart(wait.getPending());
  updating.erase(start);
  auto found = copying.find(start);
  if (found == copying.end())
    return;
  for (auto [slice, result] : llvm::zip_equal(found->second, wait.getResults()))
    copies[result] = slice;
  copying.erase(found);
}

LogicalResult Slices::visit(Operation &op) {
  if (failed(visitUses(op)))
    return failure();
  if (auto start = dyn_cast<AsyncOpInterface>(op))
    return visitStart(start);
  if (auto slice = dyn_cast<SecondarySliceOp>(op))
    return visitSecondary(slice);
  if (auto update = dyn_cast<UpdateOp>(op))
    ++versions[update.getPartitionAttr()];
  if (auto wait = dyn_cast<WaitOp>(op))
    visitWait(wait);
  return success();
}

LogicalResult verify::verifySlices(const Tables &tables) {
  bool isNeeded = llvm::any_of(
      tables.module.getOps<PartitionOp>(),
      [](PartitionOp partition) { return partition.hasParametersOnHost(); });
  tables.step->walk([&](Operation *op) {
    isNeeded |= isa<UploadOp, SecondarySliceOp>(op) ||
                (op->hasTrait<GathersSlices>() && op->getNumOperands() > 0);
  });
  if (!isNeeded)
    return success();
  Slices slices(tables);
  return simulate(tables, slices);
}
