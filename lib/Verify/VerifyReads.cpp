//===- VerifyReads.cpp - every read of a parameter finds its value --------===//
//
// Follows each copy of a parameter: the whole copies of stages 0 to 2 by
// segment, resident copies, and what gathers made. An update makes copies of
// other ranks' elements stale; a gather in flight makes its target unreadable.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

#include "zero/Analysis/Views.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// A copy of parameters on a rank. `by` is the operation that made it so.
struct Copy {
  enum State { Missing, Fresh, Stale, InFlight } state = Missing;
  Operation *by = nullptr;
};

/// A parameter that a wait for a gather gave, and the updates that it had seen.
struct Gathered {
  FlatSymbolRefAttr parameter;
  int64_t version = 0;
};

class Reads : public Tracker {
public:
  explicit Reads(const Tables &tables);
  LogicalResult visit(Operation &op) override;
  LogicalResult leave() override;
  LogicalResult drain() override;

private:
  LogicalResult visitLoad(LoadOp load);
  LogicalResult visitUses(Operation &op);
  LogicalResult visitUse(Operation &op, Value operand);
  LogicalResult visitGathered(Operation &op, Value operand, Value root);
  LogicalResult verifySource(LoadOp load);
  LogicalResult startCopy(Operation &op, const AsyncBuffer &buffer);
  LogicalResult startGather(Operation &op, const AsyncBuffer &buffer);
  LogicalResult startRefresh(Operation &op, const AsyncBuffer &buffer);
  LogicalResult startRefreshResident(Operation &op, const AsyncBuffer &buffer);
  LogicalResult visitUpdate(Operation *update, PartitionOp partition,
                            int64_t begin, int64_t end, Copy::State state);
  void visitWait(WaitOp wait);

  /// Calls `body` for each segment of the partition that [begin, end) touches.
  LogicalResult forSegments(PartitionOp partition, int64_t begin, int64_t end,
                            function_ref<LogicalResult(Copy &)> body);
  /// Whether what `copy` holds can be read; otherwise an error at `op`.
  LogicalResult expectReadable(Operation &op, FlatSymbolRefAttr parameter,
                               const Copy &copy);

  const Tables &tables;
  /// Updates seen of each partition.
  DenseMap<Operation *, int64_t> versions;
  DenseMap<Operation *, SmallVector<Copy>> whole;
  DenseMap<StringAttr, Copy> residents;
  DenseMap<Value, Gathered> gathered;
  /// Gathers in flight, with what they read and its version.
  DenseMap<Operation *, SmallVector<Gathered>> started;
};

} // namespace

static bool keepsWholeCopy(PartitionOp partition) {
  return partition.isTrainable() && partition.hasShardedOptimizer() &&
         !partition.hasShardedParameters();
}

Reads::Reads(const Tables &tables) : tables(tables) {
  for (PartitionOp partition : tables.module.getOps<PartitionOp>())
    if (keepsWholeCopy(partition))
      whole[partition].assign(partition.getSegments().size() - 1,
                              {Copy::Fresh, nullptr});
}

LogicalResult Reads::forSegments(PartitionOp partition, int64_t begin,
                                 int64_t end,
                                 function_ref<LogicalResult(Copy &)> body) {
  ArrayRef<int64_t> segments = partition.getSegments();
  SmallVector<Copy> &copies = whole[partition];
  size_t first = llvm::upper_bound(segments, begin) - segments.begin() - 1;
  for (size_t i = first; i < copies.size() && segments[i] < end; ++i)
    if (segments[i + 1] > segments[i] && failed(body(copies[i])))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

LogicalResult Reads::expectReadable(Operation &op, FlatSymbolRefAttr parameter,
                                    const Copy &copy) {
  if (copy.state == Copy::Fresh)
    return success();
  if (copy.state == Copy::Missing)
    return op.emitOpError("reads ")
           << parameter
           << " before it is gathered: every rank holds a slice of it only";
  InFlightDiagnostic error = op.emitOpError("reads ") << parameter;
  if (copy.state == Copy::InFlight)
    error << " while a gather writes it; wait for it first";
  else
    error
        << ", of which other ranks have updated their slices; gather it first";
  error.attachNote(copy.by->getLoc())
      << (copy.state == Copy::InFlight ? "started here" : "updated here");
  return error;
}

LogicalResult Reads::visitLoad(LoadOp load) {
  PartitionOp partition = tables.ownerOf(load.getParameterAttr());
  if (load.getSource())
    return verifySource(load);
  if (!partition || !partition.hasShardedParameters())
    return success();
  Copy copy = residents.lookup(load.getParameterAttr().getAttr());
  return copy.state == Copy::Missing
             ? expectReadable(*load, load.getParameterAttr(), copy)
             : success();
}

LogicalResult Reads::visitUse(Operation &op, Value operand) {
  Value root = getRoot(operand);
  if (auto load = root.getDefiningOp<LoadOp>()) {
    PartitionOp partition = tables.ownerOf(load.getParameterAttr());
    if (!partition)
      return success();
    if (partition.hasShardedParameters())
      return expectReadable(
          op, load.getParameterAttr(),
          residents.lookup(load.getParameterAttr().getAttr()));
    if (!keepsWholeCopy(partition))
      return success();
    MemberAttr member = tables.getMember(load.getParameterAttr().getAttr());
    return forSegments(partition, member.getOffset(),
                       member.getOffset() + member.getSize(), [&](Copy &copy) {
                         return expectReadable(op, load.getParameterAttr(),
                                               copy);
                       });
  }
  return visitGathered(op, operand, root);
}

/// Whether a load stands between `value` and the root that it is a view of.
static bool isLoaded(Value value) {
  for (Operation *op = value.getDefiningOp(); op;) {
    if (isa<LoadOp>(op))
      return true;
    std::optional<View> view = getView(op);
    op = view ? view->source.getDefiningOp() : nullptr;
  }
  return false;
}

/// Checks that a gathered parameter is read through a load, before its update.
LogicalResult Reads::visitGathered(Operation &op, Value operand, Value root) {
  auto found = gathered.find(root);
  if (found == gathered.end())
    return success();
  if (!isLoaded(operand)) {
    InFlightDiagnostic error = op.emitOpError("reads what was gathered of ")
                               << found->second.parameter
                               << "; no 'zero.load' says which parameter it "
                                  "wants";
    error.attachNote(root.getLoc()) << "gathered here";
    return error;
  }
  PartitionOp partition = tables.ownerOf(found->second.parameter);
  if (versions.lookup(partition) == found->second.version)
    return success();
  InFlightDiagnostic error = op.emitOpError("reads ")
                             << found->second.parameter
                             << " as it was before its update";
  error.attachNote(root.getLoc()) << "gathered here";
  return error;
}

LogicalResult Reads::visitUses(Operation &op) {
  if (getView(&op) || isa<FreeOp>(op))
    return success();
  WalkResult walk = op.walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (failed(visitUse(op, operand)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// A load's source must be its own parameter.
LogicalResult Reads::verifySource(LoadOp load) {
  FlatSymbolRefAttr found = gathered.lookup(load.getSource()).parameter;
  if (found == load.getParameterAttr())
    return success();
  InFlightDiagnostic error = load.emitOpError("wants ")
                             << load.getParameterAttr();
  if (found)
    error << ", and is given " << found;
  else
    error << ", and is given a value that no gather of it made";
  error.attachNote(load.getSource().getLoc()) << "given by this";
  return error;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

LogicalResult Reads::startGather(Operation &op, const AsyncBuffer &buffer) {
  FlatSymbolRefAttr parameter = buffer.parameter;
  PartitionOp partition = tables.ownerOf(parameter);
  if (!partition || !partition.hasShardedParameters())
    return op.emitOpError("gathers ")
           << parameter << ", which every rank has whole";
  Value pending = cast<AsyncOpInterface>(op).getPending();
  Type type = cast<PendingType>(pending.getType()).getTypes()[buffer.result];
  Type element = cast<RankedTensorType>(type).getElementType();
  if (element != partition.getComputeType())
    return op.emitOpError("gathers ")
           << parameter << " as " << element << ", and its slices are "
           << partition.getComputeType();
  started[&op].push_back({parameter, versions.lookup(partition)});
  return success();
}

LogicalResult Reads::startRefresh(Operation &op, const AsyncBuffer &buffer) {
  PartitionOp partition = tables.find(buffer.partition);
  if (!keepsWholeCopy(partition))
    return op.emitOpError("gathers ")
           << buffer.partition
           << (partition.hasShardedParameters()
                   ? ", of which no rank has a whole copy"
                   : ", which every rank has whole");
  return forSegments(
      partition, buffer.begin, buffer.end, [&](Copy &copy) -> LogicalResult {
        if (copy.state == Copy::Stale) {
          copy = {Copy::InFlight, &op};
          return success();
        }
        if (copy.state == Copy::InFlight && !isCollective(copy.by)) {
          InFlightDiagnostic error = op.emitOpError("gathers ")
                                     << buffer.partition
                                     << " while this rank's own update of it "
                                        "is on its way; wait for it first";
          error.attachNote(copy.by->getLoc()) << "started here";
          return error;
        }
        bool isSecond =
            copy.by && (copy.state == Copy::InFlight || now.update == 0);
        InFlightDiagnostic error =
            op.emitOpError("gathers ")
            << buffer.partition
            << (isSecond ? " a second time" : " before its update");
        if (copy.by)
          error.attachNote(copy.by->getLoc()) << "gathered here";
        return error;
      });
}

LogicalResult Reads::startRefreshResident(Operation &op,
                                          const AsyncBuffer &buffer) {
  FlatSymbolRefAttr parameter = buffer.parameter;
  PartitionOp partition = tables.ownerOf(parameter);
  if (!partition || !partition.hasShardedParameters())
    return op.emitOpError("gathers ")
           << parameter << ", which every rank has whole";
  if (partition.getQuantized())
    return op.emitOpError("gathers ")
           << parameter
           << " into a copy that stays, and its slices are stored quantized; "
              "wanted a gather for its uses";
  Copy &copy = residents[parameter.getAttr()];
  bool isAtStart = isa<InitializeOp>(now.region);
  if (isAtStart ? copy.state != Copy::Missing : copy.state != Copy::Stale)
    return op.emitOpError("gathers ")
           << parameter
           << (copy.state == Copy::Missing
                   ? ", which has no resident copy"
                   : ", whose resident copy has not changed");
  copy = {Copy::InFlight, &op};
  return success();
}

/// A copy of parameters that is being written until the wait.
LogicalResult Reads::startCopy(Operation &op, const AsyncBuffer &buffer) {
  if (!buffer.isWritten)
    return success();
  switch (buffer.memory) {
  case AsyncBuffer::Memory::Resident:
    return startRefreshResident(op, buffer);
  case AsyncBuffer::Memory::State:
    if (buffer.state != "parameters")
      return success();
    // An operation that is no collective is this rank's own update.
    return isCollective(&op)
               ? startRefresh(op, buffer)
               : visitUpdate(&op, tables.find(buffer.partition), buffer.begin,
                             buffer.end, Copy::InFlight);
  case AsyncBuffer::Memory::Own:
    return buffer.parameter ? startGather(op, buffer) : success();
  case AsyncBuffer::Memory::Operand:
  case AsyncBuffer::Memory::Part:
  case AsyncBuffer::Memory::Control:
    return success();
  }
  llvm_unreachable("a kind of memory");
}

void Reads::visitWait(WaitOp wait) {
  auto start = dyn_cast_if_present<AsyncOpInterface>(
      tables.handles.findStart(wait.getPending()));
  if (!start)
    return;
  if (auto read = started.find(start); read != started.end()) {
    for (auto [copy, result] : llvm::zip_equal(read->second, wait.getResults()))
      gathered[result] = copy;
    started.erase(read);
  }
  // Where nothing is in flight, nothing is written.
  auto arrive = [&](Copy &copy) {
    if (copy.state == Copy::InFlight && copy.by == start)
      copy.state = isCollective(start) ? Copy::Fresh : Copy::Stale;
    return success();
  };
  for (const AsyncBuffer &buffer : tables.getBuffers(start)) {
    if (buffer.memory == AsyncBuffer::Memory::Resident)
      (void)arrive(residents[buffer.parameter.getAttr()]);
    else if (buffer.memory == AsyncBuffer::Memory::State && buffer.isWritten &&
             buffer.state == "parameters")
      (void)forSegments(tables.find(buffer.partition), buffer.begin, buffer.end,
                        arrive);
  }
}

LogicalResult Reads::drain() {
  auto arrive = [](Copy &copy) {
    if (copy.state == Copy::InFlight)
      copy.state = Copy::Fresh;
  };
  for (auto &[partition, copies] : whole)
    llvm::for_each(copies, arrive);
  for (auto &[name, copy] : residents)
    arrive(copy);
  started.clear();
  return success();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

static LogicalResult updatesInFlight(Operation *update, PartitionOp partition,
                                     Operation *gather) {
  InFlightDiagnostic error = update->emitOpError("writes @")
                             << partition.getSymName()
                             << " while a gather reads it";
  error.attachNote(gather->getLoc()) << "started here and not waited for";
  return error;
}

/// The parameters of [begin, end) change here, or from here to the wait for
/// `update`: what other ranks own of them is in `state` then.
LogicalResult Reads::visitUpdate(Operation *update, PartitionOp partition,
                                 int64_t begin, int64_t end,
                                 Copy::State state) {
  ++versions[partition];
  if (keepsWholeCopy(partition) &&
      failed(forSegments(partition, begin, end, [&](Copy &copy) {
        if (copy.state == Copy::InFlight)
          return updatesInFlight(update, partition, copy.by);
        copy = {state, update};
        return success();
      })))
    return failure();
  for (auto &[start, read] : started)
    for (const Gathered &copy : read)
      if (tables.ownerOf(copy.parameter) == partition)
        return updatesInFlight(update, partition, start);
  for (MemberAttr member : partition.getMemberRange()) {
    // A parameter without elements is in every range.
    if (member.getSize() > 0 &&
        (member.getOffset() >= end ||
         member.getOffset() + member.getSize() <= begin))
      continue;
    auto found = residents.find(member.getParameter().getAttr());
    if (found == residents.end())
      continue;
    if (found->second.state == Copy::InFlight)
      return updatesInFlight(update, partition, found->second.by);
    found->second = {Copy::Stale, update};
  }
  return success();
}

LogicalResult Reads::visit(Operation &op) {
  if (failed(visitUses(op)))
    return failure();
  if (auto load = dyn_cast<LoadOp>(op))
    return visitLoad(load);
  if (auto start = dyn_cast<AsyncOpInterface>(op)) {
    started.erase(&op);
    for (const AsyncBuffer &buffer : tables.getBuffers(start))
      if (failed(startCopy(op, buffer)))
        return failure();
  }
  if (auto update = dyn_cast<UpdateOp>(op)) {
    PartitionOp partition = tables.find(update.getPartitionAttr());
    auto [begin, end] = update.getRange(partition);
    return visitUpdate(update, partition, begin, end, Copy::Stale);
  }
  if (auto wait = dyn_cast<WaitOp>(op))
    visitWait(wait);
  return success();
}

/// At the end of an update, a gather of every stale copy has at least begun.
LogicalResult Reads::leave() {
  if (!isa<ApplyOp>(now.region))
    return success();
  for (PartitionOp partition : tables.trained)
    for (MemberAttr member : partition.getMemberRange()) {
      FlatSymbolRefAttr parameter = member.getParameter();
      int64_t end = member.getOffset() + member.getSize();
      auto resident = residents.find(parameter.getAttr());
      if (resident != residents.end() && resident->second.state == Copy::Stale)
        return resident->second.by->emitOpError("leaves the resident copy of ")
               << parameter << " stale; gather it after the update";
      if (keepsWholeCopy(partition) &&
          failed(forSegments(partition, member.getOffset(), end,
                             [&](Copy &copy) -> LogicalResult {
                               if (copy.state != Copy::Stale)
                                 return success();
                               InFlightDiagnostic error =
                                   partition.emitOpError("elements [")
                                   << member.getOffset() << " to " << end
                                   << ") of " << parameter
                                   << " are never gathered after the update";
                               error.attachNote(copy.by->getLoc())
                                   << "updated here";
                               return error;
                             })))
        return failure();
    }
  return success();
}

LogicalResult verify::verifyReads(const Tables &tables) {
  Reads reads(tables);
  return simulate(tables, reads);
}
