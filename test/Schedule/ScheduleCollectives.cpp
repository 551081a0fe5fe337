//===- ScheduleCollectives.cpp - what collectives do ----------------------===//

#include "ScheduleInterpreter.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// By rank, what travels: named gradients at their members' places, as far as
/// they lie in the range, between zeros (padding) and poison (members that are
/// not named), or the stored range.
bool ScheduleInterpreter::fillBuckets(
    Operation *op, PartitionOp partition, int64_t begin, int64_t end,
    std::vector<std::vector<double>> &buckets) {
  auto names = op->getAttrOfType<ArrayAttr>("parameters");
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const auto &stored = states[partition.getSymName()][rank].gradients;
    std::vector<double> &bucket = buckets.emplace_back();
    if (!names) {
      bucket.assign(stored.begin() + begin, stored.begin() + end);
      continue;
    }
    bucket.assign(end - begin, 0.0);
    for (MemberAttr member : partition.getMemberRange())
      for (int64_t i = member.getOffset();
           i < member.getOffset() + member.getSize(); ++i)
        if (i >= begin && i < end)
          bucket[i - begin] = NAN;
    for (auto [symbol, gradient] : llvm::zip_equal(
             names.getAsRange<FlatSymbolRefAttr>(), op->getOperands())) {
      MemberAttr member = partition.findMember(symbol.getValue());
      Array value;
      if (!materialize(gradient, rank, value))
        return false;
      std::copy(value.reals.begin(), value.reals.end(),
                bucket.begin() +
                    std::max<int64_t>(member.getOffset() - begin, 0));
    }
  }
  return true;
}

static std::vector<double>
addUp(const std::vector<std::vector<double>> &buckets, bool isMean) {
  std::vector<double> sum(buckets.front().size(), 0.0);
  for (const auto &bucket : buckets)
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += bucket[i];
  if (isMean)
    for (double &element : sum)
      element /= static_cast<double>(buckets.size());
  return sum;
}

bool ScheduleInterpreter::readReduction(Operation *op, PartitionOp partition,
                                        int64_t begin, int64_t end,
                                        Flight &flight) {
  std::vector<std::vector<double>> buckets;
  if (!fillBuckets(op, partition, begin, end, buckets))
    return false;
  std::vector<double> sum = addUp(buckets, op->hasAttr("mean"));
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (isa<AllReduceOp>(op)) {
      flight.payload.push_back({sum});
      continue;
    }
    auto &slices = flight.payload.emplace_back();
    ArrayRef<int64_t> segments = partition.getSegments();
    for (size_t i = 1; i < segments.size(); ++i) {
      int64_t size = (segments[i] - segments[i - 1]) / ranks;
      if (segments[i - 1] < begin || segments[i] > end || size == 0)
        continue;
      auto first = sum.begin() + (segments[i - 1] - begin + rank * size);
      slices.emplace_back(first, first + size);
    }
  }
  return true;
}

bool ScheduleInterpreter::readBucketed(BucketedReduceOp op, Flight &flight) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  if (partition.getLayout() != LayoutKind::Contiguous)
    return fail(*op, "is not of this layout");
  std::vector<std::vector<double>> buckets(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (Value gradient : op.getGradients()) {
      Array value;
      if (!materialize(gradient, rank, value))
        return false;
      llvm::append_range(buckets[rank], value.reals);
    }
  std::vector<double> sum = addUp(buckets, op.getMean());
  int64_t begin = op.getBegin().value_or(0);
  int64_t end = op.getEnd().value_or(partition.getFlatElements());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> own = sum;
    int64_t next = 0;
    for (auto symbol : op.getParameters().getAsRange<FlatSymbolRefAttr>()) {
      MemberAttr member = partition.findMember(symbol.getValue());
      for (int64_t i = member.getOffset();
           i < member.getOffset() + member.getSize(); ++i)
        if (i >= begin && i < end && !isOwned(partition, i, rank, true))
          own[next++] = NAN;
        else if (i >= begin && i < end)
          ++next;
    }
    flight.payload.push_back({own});
  }
  return true;
}

bool ScheduleInterpreter::readGather(ArrayAttr parameters, Flight &flight) {
  flight.payload.resize(ranks);
  for (auto symbol : parameters.getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitionOf(symbol.getValue());
    if (!partition || !partition.hasShardedParameters())
      return fail(*flight.op, "gathers what is not sharded");
    MemberAttr member = partition.findMember(symbol.getValue());
    std::vector<double> whole;
    for (int64_t i = member.getOffset();
         i < member.getOffset() + member.getSize(); ++i)
      whole.push_back(
          states[partition.getSymName()][ownerOf(partition, i)].parameters[i]);
    for (auto &own : flight.payload)
      own.push_back(whole);
  }
  return true;
}

bool ScheduleInterpreter::readRefresh(RefreshOp op, Flight &flight) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  if (!partition.hasShardedOptimizer() || partition.hasShardedParameters())
    return fail(*op, "has nothing to gather");
  std::vector<double> whole;
  for (int64_t i = op.getBegin(); i < static_cast<int64_t>(op.getEnd()); ++i)
    whole.push_back(
        states[partition.getSymName()][ownerOf(partition, i)].parameters[i]);
  flight.payload.assign(ranks, {whole});
  return true;
}

bool ScheduleInterpreter::read(Flight &flight) {
  flight.isRead = true;
  Operation *op = flight.op;
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return readGather(gather.getParameters(), flight);
  if (auto refresh = dyn_cast<RefreshResidentOp>(op))
    return readGather(refresh.getParameters(), flight);
  if (auto refresh = dyn_cast<RefreshOp>(op))
    return readRefresh(refresh, flight);
  if (auto reduce = dyn_cast<BucketedReduceOp>(op))
    return readBucketed(reduce, flight);
  PartitionOp partition = partitions.lookup(
      op->getAttrOfType<FlatSymbolRefAttr>("partition").getValue());
  if (!partition.isTrainable())
    return fail(*op, "reduces what is not trained");
  return readReduction(op, partition,
                       op->getAttrOfType<IntegerAttr>("begin").getInt(),
                       op->getAttrOfType<IntegerAttr>("end").getInt(), flight);
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

void ScheduleInterpreter::writeStored(Operation *op, PartitionOp partition,
                                      int64_t begin, int64_t end,
                                      Flight &flight) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto &stored = states[partition.getSymName()][rank].gradients;
    if (isa<AllReduceOp>(op)) {
      llvm::copy(flight.payload[rank].front(), stored.begin() + begin);
      continue;
    }
    // What other ranks own is undefined after; communicators leave padding
    // zero.
    for (MemberAttr member : partition.getMemberRange())
      for (int64_t i = member.getOffset();
           i < member.getOffset() + member.getSize(); ++i)
        if (i >= begin && i < end)
          stored[i] = NAN;
    ArrayRef<int64_t> segments = partition.getSegments();
    size_t next = 0;
    for (size_t i = 1; i < segments.size(); ++i) {
      int64_t size = (segments[i] - segments[i - 1]) / ranks;
      if (segments[i - 1] >= begin && segments[i] <= end && size > 0)
        llvm::copy(flight.payload[rank][next++],
                   stored.begin() + segments[i - 1] + rank * size);
    }
  }
}

bool ScheduleInterpreter::write(Flight &flight) {
  flight.isDone = true;
  Operation *op = flight.op;
  if (auto refresh = dyn_cast<RefreshOp>(op)) {
    for (int64_t rank = 0; rank < ranks; ++rank)
      llvm::copy(flight.payload[rank].front(),
                 states[refresh.getPartition()][rank].parameters.begin() +
                     refresh.getBegin());
    return true;
  }
  if (auto refresh = dyn_cast<RefreshResidentOp>(op)) {
    for (auto [index, symbol] : llvm::enumerate(
             refresh.getParameters().getAsRange<FlatSymbolRefAttr>())) {
      auto &copies = residents[symbol.getValue()];
      copies.resize(ranks);
      for (int64_t rank = 0; rank < ranks; ++rank)
        copies[rank] = flight.payload[rank][index];
    }
    return true;
  }
  if (isa<AllReduceOp, ReduceScatterOp>(op) && !op->hasAttr("parameters"))
    writeStored(
        op,
        partitions.lookup(
            op->getAttrOfType<FlatSymbolRefAttr>("partition").getValue()),
        op->getAttrOfType<IntegerAttr>("begin").getInt(),
        op->getAttrOfType<IntegerAttr>("end").getInt(), flight);
  return true;
}

/// What a collective may already have overwritten is no longer what it was.
void ScheduleInterpreter::poisonTargets(Operation *op) {
  if (auto refresh = dyn_cast<RefreshOp>(op)) {
    PartitionOp partition = partitions.lookup(refresh.getPartition());
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t i = refresh.getBegin();
           i < static_cast<int64_t>(refresh.getEnd()); ++i)
        if (!isOwned(partition, i, rank, true))
          states[refresh.getPartition()][rank].parameters[i] = NAN;
  }
  if (auto refresh = dyn_cast<RefreshResidentOp>(op))
    for (auto symbol : refresh.getParameters().getAsRange<FlatSymbolRefAttr>())
      if (auto found = residents.find(symbol.getValue());
          found != residents.end())
        for (auto &copy : found->second)
          llvm::fill(copy, NAN);
}
