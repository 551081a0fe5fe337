//===- UpdateCommands.cpp - norm, verdict and optimizer as commands -------===//

#include "CommandBuilder.h"

#include "mlir/IR/Builders.h"

#include <cstddef>

using namespace mlir;
using namespace mlir::zero;

SmallVector<OwnedPiece> mlir::zero::getOwnedPieces(PartitionOp partition,
                                                   int64_t begin, int64_t end) {
  int64_t ranks = partition.getSlices();
  if (!partition.hasShardedOptimizer())
    return {{begin, end, /*isSlice=*/false, end - begin, begin}};
  if (partition.hasShardedParameters()) // all states are one run of slices
    return {
        {begin, end, /*isSlice=*/true, (end - begin) / ranks, begin / ranks}};
  SmallVector<OwnedPiece> pieces;
  for (auto [first, last] : partition.getSegmentsIn(begin, end))
    pieces.push_back(
        {first, last, /*isSlice=*/true, (last - first) / ranks, first / ranks});
  return pieces;
}

/// The part of `state` that holds `piece`.
static AtAttr pieceOf(const StatePlaces &places, PartitionOp partition,
                      StringRef state, const OwnedPiece &piece, bool sharded,
                      Type type) {
  auto all = cast<AtAttr>(partition.getAt()->get(state));
  int64_t bytes = elementBytes(type);
  if (piece.isSlice)
    return places.getSlice(partition, all, sharded, bytes, piece.begin,
                           piece.end);
  return all.getPart(piece.begin * bytes, (piece.end - piece.begin) * bytes);
}

void CommandBuilder::visitGradStats(GradStatsOp stats) {
  bool isFirst = !stats.getSum();
  for (auto [index, symbol] :
       llvm::enumerate(stats.getPartitions().getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = state.find(symbol);
    auto [begin, end] = stats.getRange(index, partition);
    for (const OwnedPiece &piece : getOwnedPieces(partition, begin, end)) {
      zrt::KernelSpec spec;
      spec.ints["partition"] = {partitionNumbers.lookup(symbol.getValue())};
      spec.ints["first"] = {isFirst};
      spec.ints["exact"] = {step.getTraining()->getDeterministic()};
      spec.ints["base"] = {piece.base};
      // Replicas hold the same elements, which count once.
      if (partition.hasShardedOptimizer() && groups.replicas != zrt::kAllRanks)
        spec.ints["copies"] = {groups.replicas};
      AtAttr gradient =
          pieceOf(state, partition, "gradients", piece,
                  partition.hasShardedGradients(), partition.getGradientType());
      addFlatKernel(stats, "zero.grad_stats", {gradient},
                    {partition.getGradientType()}, spec);
      isFirst = false;
    }
  }
}

void CommandBuilder::visitJudge(JudgeOp judge) {
  zrt::KernelSpec spec;
  spec.ints["exact"] = {step.getTraining()->getDeterministic()};
  spec.ints["skip"] = {judge.getSkip()};
  spec.floats["clip"] = judge.getClip().convertToDouble();
  spec.floats["divisor"] = judge.getDivisor().convertToDouble();
  addFlatKernel(judge, "zero.grad_scale", {}, {}, spec);
}

void CommandBuilder::visitUpdate(UpdateOp update) {
  PartitionOp partition = state.find(update.getPartitionAttr());
  auto [name, spec] = describeOptimizer(*partition.getOptimizer());
  spec.ints["partition"] = {partitionNumbers.lookup(update.getPartition())};
  for (const OwnedPiece &piece :
       getOwnedPieces(partition, 0, partition.getFlatElements())) {
    SmallVector<AtAttr> buffers;
    SmallVector<Type> types;
    for (const UpdateBuffer &buffer : listUpdateBuffers(partition)) {
      buffers.push_back(pieceOf(state, partition, buffer.name, piece,
                                buffer.isSharded, buffer.type));
      types.push_back(buffer.type);
    }
    addFlatKernel(update, name, buffers, types, spec);
  }
}
