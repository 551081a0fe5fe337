//===- VerifyStreams.cpp - what runs side by side shares no bytes ---------===//
//
// An operation that was started runs beside all that follows until its wait, in
// this region or a later one. Two accesses to one byte, at least one of them a
// write, must have a wait between them. The order of a stream is not relied
// upon: a communicator of the host ends each operation at its own wait.
//
//===----------------------------------------------------------------------===//

#include "VerifyAccesses.h"

#include <map>

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

/// The bytes of an arena that operations in flight touch: disjoint pieces, by
/// their first byte.
class BusyBytes {
public:
  void add(const Access &access, Operation *op);
  void remove(const Access &access, Operation *op);
  /// What must not run beside `access`; null where nothing is in its way.
  const InFlightUse *find(const Access &access) const;
  void clear() { pieces.clear(); }

private:
  struct Piece {
    int64_t end = 0;
    SmallVector<InFlightUse, 1> uses;
  };
  using Pieces = std::map<int64_t, Piece>;
  /// Makes `at` a boundary of the piece that holds it.
  void cut(int64_t at);

  Pieces pieces;
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
  BusyBytes busy[getMaxEnumValForArenaKind() + 1];
  llvm::DenseSet<Operation *> inFlight;
};

} // namespace

//===----------------------------------------------------------------------===//
// BusyBytes
//===----------------------------------------------------------------------===//

void BusyBytes::cut(int64_t at) {
  auto after = pieces.upper_bound(at);
  if (after == pieces.begin())
    return;
  auto piece = std::prev(after);
  if (piece->first == at || piece->second.end <= at)
    return;
  Piece right = piece->second;
  piece->second.end = at;
  pieces.emplace_hint(after, at, std::move(right));
}

void BusyBytes::add(const Access &access, Operation *op) {
  cut(access.begin);
  cut(access.end);
  auto next = pieces.lower_bound(access.begin);
  for (int64_t at = access.begin; at < access.end;) {
    bool isGap = next == pieces.end() || next->first > at;
    if (isGap) {
      int64_t end =
          next == pieces.end() ? access.end : std::min(next->first, access.end);
      next = pieces.emplace_hint(next, at, Piece{end, {}});
    }
    next->second.uses.push_back({op, access.isWrite, access.rank});
    at = next->second.end;
    ++next;
  }
}

void BusyBytes::remove(const Access &access, Operation *op) {
  for (auto piece = pieces.lower_bound(access.begin);
       piece != pieces.end() && piece->first < access.end;) {
    llvm::erase_if(piece->second.uses,
                   [&](const InFlightUse &use) { return use.op == op; });
    piece = piece->second.uses.empty() ? pieces.erase(piece) : std::next(piece);
  }
}

const InFlightUse *BusyBytes::find(const Access &access) const {
  auto piece = pieces.upper_bound(access.begin);
  if (piece != pieces.begin() && std::prev(piece)->second.end > access.begin)
    --piece;
  for (; piece != pieces.end() && piece->first < access.end; ++piece)
    for (const InFlightUse &use : piece->second.uses)
      if (use.conflictsWith(access))
        return &use;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

LogicalResult Streams::check(Operation &op, ArrayRef<Access> accesses) {
  for (const Access &access : accesses) {
    const InFlightUse *use = busy[static_cast<int>(access.arena)].find(access);
    if (!use)
      continue;
    InFlightDiagnostic error =
        op.emitOpError(access.isWrite ? "writes " : "reads ")
        << stringifyArenaKind(access.arena) << "[" << access.begin << " to "
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
        busy[static_cast<int>(access.arena)].remove(access, start);
    return success();
  }
  const Accesses &accesses = table.of(op);
  if (failed(check(op, accesses.atOnce)) ||
      failed(check(op, accesses.inFlight)))
    return failure();
  if (!accesses.inFlight.empty())
    inFlight.insert(&op);
  for (const Access &access : accesses.inFlight)
    busy[static_cast<int>(access.arena)].add(access, &op);
  return success();
}

LogicalResult Streams::drain() {
  for (BusyBytes &arena : busy)
    arena.clear();
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
