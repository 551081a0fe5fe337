//===- UpdateCommands.cpp - norm, verdict and optimizer as commands -------===//

#include "CommandBuilder.h"

#include "mlir/IR/Builders.h"

#include <cstddef>

using namespace mlir;
using namespace mlir::zero;

/// [begin, end) cut wherever a state goes on elsewhere.
static SmallVector<std::pair<int64_t, int64_t>>
cutAtRanges(PartitionOp partition, int64_t begin, int64_t end) {
  SmallVector<int64_t> cuts = {begin, end};
  for (StateAttr state : partition.getStateRange())
    for (StateRangeAttr range : state.getRanges())
      if (int64_t cut = range.getBegin(); cut > begin && cut < end)
        cuts.push_back(cut);
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  SmallVector<std::pair<int64_t, int64_t>> runs;
  for (size_t i = 1; i < cuts.size(); ++i)
    runs.push_back({cuts[i - 1], cuts[i]});
  if (runs.empty()) // nothing, which has a kernel all the same
    runs.push_back({begin, end});
  return runs;
}

SmallVector<OwnedPiece> mlir::zero::getOwnedPieces(PartitionOp partition,
                                                   int64_t begin, int64_t end) {
  int64_t ranks = partition.getSlices();
  bool isSlice = partition.hasShardedOptimizer();
  SmallVector<std::pair<int64_t, int64_t>> runs;
  // At stage 3 all states are one run of slices.
  if (!isSlice || partition.hasShardedParameters())
    runs = cutAtRanges(partition, begin, end);
  else
    runs = partition.getSegmentsIn(begin, end);
  SmallVector<OwnedPiece> pieces;
  for (auto [first, last] : runs)
    pieces.push_back({first, last, isSlice,
                      (last - first) / (isSlice ? ranks : 1),
                      first / (isSlice ? ranks : 1)});
  return pieces;
}

/// The part of the parameters or gradients, `all`, that holds `piece`.
static AtAttr pieceOf(const StatePlaces &places, PartitionOp partition,
                      StringRef name, const OwnedPiece &piece, bool sharded,
                      Type type) {
  auto all = cast<AtAttr>(partition.getAt()->get(name));
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
      // What another stage counts is looked at here too, so that there is
      // always a first one, which clears.
      if (!partition.getOptimizerInterface().takesGradients() ||
          !partition.isCountedIn(mesh.stage))
        spec.ints["finite_only"] = {1};
      // Elements that several ranks have count once.
      AxesAttr copies =
          mesh.copiesOf(partition, partition.hasShardedOptimizer());
      if (copies && (partition.hasShardedOptimizer() || !mesh.hasWholeModels()))
        spec.ints["copies"] = {numberOf(copies, mesh, program.mesh)};
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
  if (std::optional<int64_t> microBatches = judge.getMicroBatches())
    spec.ints["micro_batches"] = {*microBatches};
  addFlatKernel(judge, "zero.grad_scale", {}, {}, spec);
}

void CommandBuilder::visitUpdate(UpdateOp update) {
  PartitionOp partition = state.find(update.getPartitionAttr());
  auto [name, spec] = describeUpdate(partition);
  spec.ints["partition"] = {partitionNumbers.lookup(update.getPartition())};
  SmallVector<UpdateOperand> operands = partition.getUpdateOperands();
  auto [begin, end] = update.getRange(partition);
  for (const OwnedPiece &piece : getOwnedPieces(partition, begin, end)) {
    SmallVector<AtAttr> buffers;
    SmallVector<Type> types;
    for (const UpdateOperand &operand : operands) {
      buffers.push_back(
          operand.kind == UpdateOperand::State
              ? state.getState(partition, partition.findState(operand.name),
                               piece.begin, piece.end, piece.isSlice)
              : pieceOf(state, partition, operand.name, piece,
                        operand.isSharded, operand.type));
      types.push_back(operand.type);
    }
    addFlatKernel(update, name, buffers, types, spec);
  }
}
