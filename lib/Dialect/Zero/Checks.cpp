//===- Checks.cpp - what several operations' verifiers check --------------===//

#include "Checks.h"

using namespace mlir;
using namespace mlir::zero;

PartitionOp mlir::zero::lookUpPartition(Operation *op, FlatSymbolRefAttr symbol,
                                        SymbolTableCollection &tables) {
  auto partition = tables.lookupNearestSymbolFrom<PartitionOp>(op, symbol);
  if (!partition)
    op->emitOpError("names ") << symbol << ", which is no 'zero.partition'";
  return partition;
}

LogicalResult mlir::zero::verifyRange(Operation *op, PartitionOp partition,
                                      int64_t begin, int64_t end) {
  ArrayRef<int64_t> segments = partition.getSegments();
  if (begin < end &&
      std::binary_search(segments.begin(), segments.end(), begin) &&
      std::binary_search(segments.begin(), segments.end(), end))
    return success();
  InFlightDiagnostic error =
      op->emitOpError("range [")
      << begin << " to " << end
      << "] does not begin and end at segment boundaries";
  error.attachNote(partition.getLoc()) << "partition declared here";
  return error;
}

/// The axes of the module's ranks; null where nothing says how many there are.
static AxesAttr findMesh(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  for (MeshOp mesh : module.getOps<MeshOp>())
    return mesh.getAxes();
  auto step = op->getParentOfType<StepOp>();
  if (!step || !step.getTraining())
    return {};
  return AxesAttr::getLine(op->getContext(), step.getTraining()->getRanks());
}

LogicalResult mlir::zero::verifyIsOfMesh(Operation *op, AxesAttr over) {
  AxesAttr mesh = findMesh(op);
  if (!mesh || mesh.contains(over))
    return success();
  return op->emitOpError("exchanges over ")
         << over << ", wanted axes of " << mesh << " in their order";
}
