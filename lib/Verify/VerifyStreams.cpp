//===- VerifyStreams.cpp - what runs side by side shares no bytes ---------===//
//
// An operation that was started runs beside all that follows until its wait, in
// this region or a later one. Two accesses to one byte, at least one of them a
// write, must have a wait between them. The order of a stream is not relied
// upon: a communicator of the host ends each operation at its own wait.
//
//===----------------------------------------------------------------------===//

#include "ByteMap.h"
#include "VerifyAccesses.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// An operation in flight that touches a byte.
struct InFlightUse {
  Operation *op;
  bool isWrite;
  int64_t rank;

  bool conflictsWith(const Access &access) const {
    return (isWrite || access.isWrite) &&
           (rank < 0 || access.rank < 0 || rank == access.rank);
  }
};

class Streams : public Tracker {
public:
  explicit Streams(const Tables &tables) : tables(tables), table(tables) {}
  LogicalResult visit(Operation &op) override;
  LogicalResult drain() override;

private:
  LogicalResult check(Operation &op, ArrayRef<Access> accesses);

  const Tables &tables;
  AccessTable table;
  /// The uses in flight, by memory space.
  ByteMap<InFlightUse> busy[MemorySpace::kCount];
  llvm::DenseSet<Operation *> inFlight;
};

} // namespace

LogicalResult Streams::check(Operation &op, ArrayRef<Access> accesses) {
  for (const Access &access : accesses) {
    const InFlightUse *use = busy[access.space.index()].find(
        access.begin, access.end,
        [&](const InFlightUse &use) { return use.conflictsWith(access); });
    if (!use)
      continue;
    InFlightDiagnostic error =
        op.emitOpError(access.isWrite ? "writes " : "reads ")
        << access.space.describe() << "[" << access.begin << " to "
        << access.end << ") while '" << use->op->getName() << "' on "
        << stringifyStreamKind(getStream(use->op)) << " "
        << (use->isWrite ? "writes" : "reads")
        << " there; its wait must come first";
    error.attachNote(use->op->getLoc()) << "started here";
    if (WaitOp wait = tables.handles.findWait(use->op))
      error.attachNote(wait.getLoc()) << "waited for here, which is too late";
    return error;
  }
  return success();
}

LogicalResult Streams::visit(Operation &op) {
  if (auto wait = dyn_cast<WaitOp>(op)) {
    Operation *start = tables.handles.findStart(wait.getPending());
    if (start && inFlight.erase(start))
      for (const Access &access : table.of(*start).inFlight)
        busy[access.space.index()].removeIf(
            access.begin, access.end,
            [&](const InFlightUse &use) { return use.op == start; });
    return check(op, table.of(op).atOnce);
  }
  const Accesses &accesses = table.of(op);
  if (failed(check(op, accesses.atOnce)) ||
      failed(check(op, accesses.inFlight)))
    return failure();
  if (!accesses.inFlight.empty())
    inFlight.insert(&op);
  for (const Access &access : accesses.inFlight)
    busy[access.space.index()].add(access.begin, access.end,
                                   {&op, access.isWrite, access.rank});
  return success();
}

LogicalResult Streams::drain() {
  for (auto &space : busy)
    space.clear();
  inFlight.clear();
  return success();
}

LogicalResult verify::verifyStreams(const Tables &tables) {
  for (PartitionOp partition : tables.module.getOps<PartitionOp>())
    if (!partition.getAtAttr())
      return success();
  Streams streams(tables);
  return simulate(tables, streams);
}
