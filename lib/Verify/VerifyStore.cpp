//===- VerifyStore.cpp - what a stored gradient holds ---------------------===//

#include "VerifyStore.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

Store::Store(PartitionOp partition, ArrayRef<int64_t> cuts)
    : partition(partition), boundaries(partition.getSegments()) {
  boundaries.erase(llvm::unique(boundaries), boundaries.end());
  SmallVector<int64_t> bounds(partition.getSegments());
  for (int64_t cut : cuts)
    if (cut > 0 && cut < partition.getFlatElements())
      bounds.push_back(cut);
  for (MemberAttr member : partition.getMemberRange()) {
    bounds.push_back(member.getOffset());
    bounds.push_back(member.getOffset() + member.getSize());
  }
  llvm::sort(bounds);
  bounds.erase(llvm::unique(bounds), bounds.end());
  for (size_t i = 1; i < bounds.size(); ++i) {
    Cell &cell = cells.emplace_back();
    cell.begin = bounds[i - 1];
    cell.end = bounds[i];
  }
  for (MemberAttr member : partition.getMemberRange())
    for (Cell &cell :
         range(member.getOffset(), member.getOffset() + member.getSize()))
      cell.parameter = member.getParameter();
}

MutableArrayRef<Cell> Store::range(int64_t begin, int64_t end) {
  auto at = [&](int64_t position) {
    return llvm::lower_bound(cells, position,
                             [](const Cell &cell, int64_t position) {
                               return cell.begin < position;
                             });
  };
  auto *first = at(begin), *last = at(end);
  return MutableArrayRef<Cell>(cells).slice(first - cells.begin(),
                                            first < last ? last - first : 0);
}

size_t Store::countSegments(int64_t end) const {
  return llvm::lower_bound(boundaries, end) - boundaries.begin();
}

static LogicalResult reportMissing(PartitionOp partition, const Cell &cell,
                                   StringRef what) {
  return partition.emitOpError("elements [")
         << cell.begin << " to " << cell.end << ") of " << cell.parameter
         << " are never " << what;
}

LogicalResult Store::verifyComplete(int64_t micros) {
  for (const Cell &cell : cells) {
    if (!cell.parameter)
      continue;
    if (cell.micros < micros)
      return reportMissing(partition, cell, "stored as a gradient");
    bool isEnough =
        partition.getSlices() == 1 || cell.level == Level::Everywhere ||
        (cell.level == Level::Owner && partition.hasShardedOptimizer());
    if (!isEnough)
      return reportMissing(partition, cell, "reduced over ranks");
    if (partition.getReplicas() > 1 && !cell.isCombined)
      return reportMissing(partition, cell, "reduced over replicas");
  }
  return success();
}
