//===- UpdateCommands.cpp - norm, verdict and optimizer as commands -------===//

#include "CommandBuilder.h"

#include "mlir/IR/Builders.h"

#include <cstddef>

using namespace mlir;
using namespace mlir::zero;

SmallVector<OwnedPiece> mlir::zero::getOwnedPieces(PartitionOp partition) {
  int64_t elements = partition.getFlatElements(), ranks = partition.getRanks();
  if (!partition.hasShardedOptimizer())
    return {{0, elements, /*isSlice=*/false, elements, 0}};
  if (partition.hasShardedParameters()) // all states are one run of slices
    return {{0, elements, /*isSlice=*/true, elements / ranks, 0}};
  SmallVector<OwnedPiece> pieces;
  ArrayRef<int64_t> segments = partition.getSegments();
  for (size_t i = 1; i < segments.size(); ++i)
    if (segments[i] > segments[i - 1])
      pieces.push_back({segments[i - 1], segments[i], /*isSlice=*/true,
                        (segments[i] - segments[i - 1]) / ranks,
                        segments[i - 1] / ranks});
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
  return AtAttr::get(all.getContext(), all.getArena(),
                     all.getOffset() + piece.begin * bytes,
                     (piece.end - piece.begin) * bytes, 0);
}

void CommandBuilder::visitGradStats(GradStatsOp stats) {
  bool isFirst = true;
  for (auto symbol : stats.getPartitions().getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = findPartition(stats, symbol.getValue());
    for (const OwnedPiece &piece : getOwnedPieces(partition)) {
      zrt::KernelSpec spec;
      spec.ints["partition"] = {partitionNumbers.lookup(symbol.getValue())};
      spec.ints["first"] = {isFirst};
      spec.ints["exact"] = {step.getTraining()->getDeterministic()};
      spec.ints["base"] = {piece.base};
      AtAttr gradient =
          pieceOf(state, partition, "gradients", piece,
                  partition.hasShardedGradients(), partition.getGradientType());
      addFlatKernel(stats, "zero.grad_stats", {gradient},
                    {partition.getGradientType()}, spec);
      isFirst = false;
    }
  }
}

void CommandBuilder::visitReduceStats(ReduceStatsOp reduce) {
  auto control = [&](size_t offset, size_t bytes) {
    zrt::BufferRef ref;
    ref.arena = zrt::Arena::Control;
    ref.offset = offset;
    ref.bytes = bytes;
    return ref;
  };
  zrt::Command &command = startCollective(reduce, zrt::Opcode::AllReduce,
                                          zrt::TrafficClass::Control,
                                          reduce.getStats(), "reduce_stats");
  uint32_t ticket = command.ticket;
  auto add = [&](size_t offset, uint64_t count, zrt::DataType type) {
    zrt::BufferRef ref = control(offset, count * zrt::sizeOf(type));
    command.parts.push_back({ref, ref, count, type, 0});
  };
  static_assert(offsetof(zrt::Control, nonFinite) ==
                offsetof(zrt::Control, normLimbs) +
                    sizeof(zrt::Control::normLimbs));
  if (!reduce.getLossOnly()) {
    if (step.getTraining()->getDeterministic()) {
      add(offsetof(zrt::Control, normLimbs), zrt::kNormLimbs + 1,
          zrt::DataType::I64);
    } else {
      add(offsetof(zrt::Control, nonFinite), 1, zrt::DataType::I64);
      add(offsetof(zrt::Control, normSum), 1, zrt::DataType::F64);
    }
  }
  add(offsetof(zrt::Control, lossSum), 1, zrt::DataType::F64);
  zrt::Command &wait = newCommand(reduce, "wait");
  wait.opcode = zrt::Opcode::Wait;
  wait.ticket = ticket;
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
  PartitionOp partition = findPartition(update, update.getPartition());
  Type f32 = Float32Type::get(update.getContext());
  Type remainder =
      IntegerType::get(update.getContext(), 16, IntegerType::Unsigned);
  bool sharded = partition.hasShardedOptimizer();
  auto [name, spec] = describeOptimizer(*partition.getOptimizer());
  spec.ints["partition"] = {partitionNumbers.lookup(update.getPartition())};
  for (const OwnedPiece &piece : getOwnedPieces(partition)) {
    SmallVector<AtAttr> buffers;
    SmallVector<Type> types;
    auto add = [&](StringRef stateName, bool isSharded, Type type) {
      buffers.push_back(
          pieceOf(state, partition, stateName, piece, isSharded, type));
      types.push_back(type);
    };
    add("gradients", partition.hasShardedGradients(),
        partition.getGradientType());
    if (partition.hasMaster())
      add("master", sharded, f32);
    else if (partition.getSplitMaster())
      add("remainder", sharded, remainder);
    else
      add("parameters", partition.hasShardedParameters(), f32);
    for (StringRef moment : {"moment1", "moment2"})
      if (partition.getAt()->get(moment))
        add(moment, sharded, f32);
    if (!partition.getComputeType().isF32())
      add("parameters", partition.hasShardedParameters(),
          partition.getComputeType());
    addFlatKernel(update, name, buffers, types, spec);
  }
}
