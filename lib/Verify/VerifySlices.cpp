//===- VerifySlices.cpp - gathers send slices as they are -----------------===//
//
// Where slices of parameters are in host memory, a gather sends a copy: of its
// own parameter, made after the last update, and not during one. Nothing else
// reads such a copy, nor slices that are not on the device. If slices are in a
// file, a gather sends a copy of what was read from it; the same rules hold,
// with the write to the file in the place of the update. A gather within a node
// sends a slice of the secondary partition, under the same rules.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

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
  /// Whether the slice was read from a file, and is in host memory.
  bool isStaged = false;
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
  LogicalResult uploadStaged(UploadOp upload, FlatSymbolRefAttr parameter,
                             Value source);
  LogicalResult startRead(ReadParametersOp read, const AsyncBuffer &buffer);
  LogicalResult verifyStill(Operation *op, FlatSymbolRefAttr parameter,
                            const PartitionRange &range);
  LogicalResult verifyType(Operation *op, FlatSymbolRefAttr parameter,
                           Type type, const AsyncBuffer &buffer);
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

/// Whether the partition keeps parameters in another tier.
static bool isOffloaded(const Tables &tables, FlatSymbolRefAttr partition) {
  PartitionOp found = partition ? tables.find(partition) : PartitionOp();
  return found && found.hasOffloadedParameters();
}

static bool isInFile(const Tables &tables, FlatSymbolRefAttr partition) {
  return isOffloaded(tables, partition) &&
         tables.find(partition).hasParametersInFile();
}

LogicalResult Slices::visitUses(Operation &op) {
  if (getView(&op) || isa<FreeOp, UploadOp>(op) || op.hasTrait<GathersSlices>())
    return success();
  for (Value operand : op.getOperands())
    if (auto found = copies.find(getRoot(operand)); found != copies.end())
      return op.emitOpError("reads a slice of ")
             << found->second.parameter << ", which only a gather makes whole";
  return success();
}

LogicalResult Slices::verifyType(Operation *op, FlatSymbolRefAttr parameter,
                                 Type type, const AsyncBuffer &buffer) {
  auto wanted = RankedTensorType::get({buffer.elements}, buffer.type);
  if (type == wanted)
    return success();
  return op->emitOpError("copies the slice of ")
         << parameter << " as " << type << ", wanted " << wanted;
}

/// Nothing may change `range` while it is copied.
LogicalResult Slices::verifyStill(Operation *op, FlatSymbolRefAttr parameter,
                                  const PartitionRange &range) {
  for (auto &[update, updated] : updating) {
    if (!overlap(range, updated))
      continue;
    InFlightDiagnostic error = op->emitOpError("copies a slice of ")
                               << parameter
                               << " while an update of it is in flight; wait "
                                  "for it first";
    error.attachNote(update->getLoc()) << "started here";
    return error;
  }
  return success();
}

LogicalResult Slices::startRead(ReadParametersOp read,
                                const AsyncBuffer &buffer) {
  size_t index = copying[read].size();
  auto parameter = cast<FlatSymbolRefAttr>(read.getParameters()[index]);
  if (!isInFile(tables, buffer.partition))
    return read.emitOpError("reads a slice of ")
           << parameter << " from a file, where it is not";
  PartitionRange range = {buffer.partition, buffer.begin, buffer.end};
  if (failed(verifyType(read, parameter,
                        read.getPending().getType().getTypes()[index],
                        buffer)) ||
      failed(verifyStill(read, parameter, range)))
    return failure();
  copying[read].push_back({parameter, range, versions.lookup(buffer.partition),
                           /*over=*/{}, /*isStaged=*/true});
  return success();
}

/// Starts the upload of a slice that was read from a file: it has the version
/// that was read.
LogicalResult Slices::uploadStaged(UploadOp upload, FlatSymbolRefAttr parameter,
                                   Value source) {
  auto found = copies.find(getRoot(source));
  if (found == copies.end() || !found->second.isStaged ||
      found->second.parameter != parameter) {
    InFlightDiagnostic error = upload.emitOpError("copies a slice of ")
                               << parameter
                               << ", and is given what was not read of it";
    error.attachNote(source.getLoc()) << "given by this";
    return error;
  }
  Slice slice = found->second;
  slice.isStaged = false;
  copying[upload].push_back(slice);
  return success();
}

LogicalResult Slices::startUpload(UploadOp upload, const AsyncBuffer &buffer) {
  auto parameter =
      cast<FlatSymbolRefAttr>(upload.getParameters()[buffer.result]);
  if (!isOffloaded(tables, buffer.partition))
    return upload.emitOpError("copies a slice of ")
           << parameter << " to the device, where it is already";
  if (isInFile(tables, buffer.partition) != !upload.getSlices().empty())
    return upload.emitOpError("copies a slice of ")
           << parameter
           << (upload.getSlices().empty()
                   ? " from a file, wanted what 'zero.read_parameters' reads: "
                     "'from'"
                   : ", which is in host memory; wanted no 'from'");
  if (failed(verifyType(upload, parameter,
                        upload.getPending().getType().getTypes()[buffer.result],
                        buffer)))
    return failure();
  if (!upload.getSlices().empty())
    return uploadStaged(upload, parameter, upload.getSlices()[buffer.result]);
  PartitionRange range = {buffer.partition, buffer.begin, buffer.end};
  if (failed(verifyStill(upload, parameter, range)))
    return failure();
  copying[upload].push_back(
      {parameter, range, versions.lookup(buffer.partition)});
  return success();
}

/// Whether `start` copies what is in a staging buffer.
static bool isUploadOfRead(Operation *start) {
  auto upload = dyn_cast<UploadOp>(start);
  return upload && !upload.getSlices().empty();
}

LogicalResult Slices::startUpdate(Operation *op, const AsyncBuffer &buffer) {
  PartitionRange range = {buffer.partition, buffer.begin, buffer.end};
  for (auto &[upload, slices] : copying)
    for (const Slice &slice : slices) {
      // An update does not touch the staging buffer that a read has filled.
      if (!overlap(range, slice.range) || isUploadOfRead(upload))
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

/// Checks that a gather sends slices that are on the device and up to date.
LogicalResult Slices::verifySent(CollectiveOpInterface op,
                                 const AsyncBuffer &buffer) {
  if (buffer.memory == AsyncBuffer::Memory::State)
    return isOffloaded(tables, buffer.partition)
               ? op->emitOpError("gathers slices of ")
                     << buffer.partition << " from "
                     << (isInFile(tables, buffer.partition) ? "a file"
                                                            : "host memory")
                     << ", wanted the copies that 'zero.upload' makes: 'from'"
               : success();
  Value copy = getRoot(op->getOperand(buffer.index));
  auto wanted = cast<FlatSymbolRefAttr>(op.getParameterNames()[buffer.index]);
  auto found = copies.find(copy);
  if (found == copies.end() || found->second.parameter != wanted ||
      found->second.over != overOf(op) || found->second.isStaged) {
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
    else if (auto read = dyn_cast<ReadParametersOp>(start.getOperation()))
      result = startRead(read, buffer);
    else if (isa<ReadStatesOp>(start.getOperation())) // For an update.
      result = verifyStill(start, buffer.partition,
                           {buffer.partition, buffer.begin, buffer.end});
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
      [](PartitionOp partition) { return partition.hasOffloadedParameters(); });
  tables.step->walk([&](Operation *op) {
    isNeeded |= isa<UploadOp, ReadParametersOp, SecondarySliceOp>(op) ||
                (op->hasTrait<GathersSlices>() && op->getNumOperands() > 0);
  });
  if (!isNeeded)
    return success();
  Slices slices(tables);
  return simulate(tables, slices);
}
