//===- ScheduleCollectives.cpp - what collectives do ----------------------===//

#include "ScheduleInterpreter.h"

#include "zero/Analysis/Schedule.h"

#include "program/Collective.h"

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
  ArrayAttr names = cast<CollectiveOpInterface>(op).getParameterNames();
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

static zrt::Collective kindOf(Operation *op) {
  return cast<CollectiveOpInterface>(op).getKind();
}

static bool isPrescaled(Operation *op) {
  return cast<CollectiveOpInterface>(op).getReduction() ==
         zrt::Reduction::PrescaledSum;
}

/// The sum over the ranks `of`, in order.
static std::vector<double>
addUp(const std::vector<std::vector<double>> &buckets, ArrayRef<int64_t> of,
      bool isPrescaled) {
  std::vector<double> sum(buckets.front().size(), 0.0);
  for (int64_t rank : of)
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += buckets[rank][i];
  if (isPrescaled)
    for (double &element : sum)
      element *= zrt::prescaleOf(int64_t(of.size()));
  return sum;
}

bool ScheduleInterpreter::readReduction(Operation *op, PartitionOp partition,
                                        int64_t begin, int64_t end,
                                        Flight &flight) {
  std::vector<std::vector<double>> buckets;
  if (!fillBuckets(op, partition, begin, end, buckets))
    return false;
  AxesAttr group = cast<CollectiveOpInterface>(op).getGroup(table);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> sum =
        addUp(buckets, peersOf(rank, group), isPrescaled(op));
    if (kindOf(op) == zrt::Collective::AllReduce) {
      flight.payload.push_back({sum});
      continue;
    }
    auto &slices = flight.payload.emplace_back();
    ArrayRef<int64_t> segments = partition.getSegments();
    for (size_t i = 1; i < segments.size(); ++i) {
      int64_t size = (segments[i] - segments[i - 1]) / partition.getSlices();
      if (segments[i - 1] < begin || segments[i] > end || size == 0)
        continue;
      auto first = sum.begin() +
                   (segments[i - 1] - begin + indexIn(partition, rank) * size);
      slices.emplace_back(first, first + size);
    }
  }
  return true;
}

bool ScheduleInterpreter::readBucketed(CollectiveOpInterface op,
                                       const PartitionRange &range,
                                       Flight &flight) {
  PartitionOp partition = partitions.lookup(range.partition.getValue());
  if (partition.getLayout() != LayoutKind::Contiguous)
    return fail(*op, "is not of this layout");
  std::vector<std::vector<double>> buckets(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank)
    for (Value gradient : op->getOperands()) {
      Array value;
      if (!materialize(gradient, rank, value))
        return false;
      llvm::append_range(buckets[rank], value.reals);
    }
  int64_t begin = range.begin, end = range.end;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> own =
        addUp(buckets, peersOf(rank, op.getGroup(table)), isPrescaled(op));
    int64_t next = 0;
    for (auto symbol : op.getParameterNames().getAsRange<FlatSymbolRefAttr>()) {
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

/// What a rank owns, added up over its replicas; the rest stays as it is.
bool ScheduleInterpreter::readOwned(PartitionOp partition,
                                    CollectiveOpInterface op, int64_t begin,
                                    int64_t end, Flight &flight) {
  std::vector<std::vector<double>> stored;
  if (!fillBuckets(op, partition, begin, end, stored))
    return false;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> sum =
        addUp(stored, peersOf(rank, op.getGroup(table)), isPrescaled(op));
    for (int64_t i = begin; i < end; ++i)
      if (!isOwned(partition, i, rank, partition.hasShardedOptimizer()))
        sum[i - begin] = stored[rank][i - begin];
    flight.payload.push_back({sum});
  }
  return true;
}

bool ScheduleInterpreter::readGather(CollectiveOpInterface op, Flight &flight) {
  flight.payload.resize(ranks);
  for (auto [index, symbol] : llvm::enumerate(
           op.getParameterNames().getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = partitionOf(symbol.getValue());
    if (!partition || !partition.hasShardedParameters())
      return fail(*flight.op, "gathers what is not sharded");
    AxesAttr group = op.getGroup(table);
    bool isSecondary = group != partition.getCut();
    std::vector<std::vector<double>> sent;
    if (isSecondary ? !readSecondary(*flight.op, partition, index, sent)
                    : !readSlices(*flight.op, partition, index, sent))
      return false;
    MemberAttr member = partition.findMember(symbol.getValue());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      SmallVector<int64_t> peers = peersOf(rank, group);
      auto &whole = flight.payload[rank].emplace_back();
      for (int64_t i = member.getOffset();
           i < member.getOffset() + member.getSize(); ++i)
        whole.push_back(sent[peers[ownerOf(partition, i, peers.size())]][i]);
    }
  }
  return true;
}

bool ScheduleInterpreter::readRefresh(Operation *op,
                                      const PartitionRange &range,
                                      Flight &flight) {
  PartitionOp partition = partitions.lookup(range.partition.getValue());
  if (!partition.hasShardedOptimizer() || partition.hasShardedParameters())
    return fail(*op, "has nothing to gather");
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto &whole = flight.payload.emplace_back().emplace_back();
    for (int64_t i = range.begin; i < range.end; ++i)
      whole.push_back(
          states[partition.getSymName()][ownerFor(rank, partition, i)]
              .parameters[i]);
  }
  return true;
}

bool ScheduleInterpreter::read(Flight &flight) {
  flight.isRead = true;
  auto op = dyn_cast<CollectiveOpInterface>(flight.op);
  if (!op)
    return readOffload(flight);
  if ((isGather(op) || isRefresh(op)) && op.getParameterNames())
    return readGather(op, flight);
  for (const PartitionRange &range : op.getPartitionRanges(table)) {
    PartitionOp partition = partitions.lookup(range.partition.getValue());
    if (isRefresh(op))
      return readRefresh(op, range, flight);
    if (!partition.isTrainable())
      return fail(*op, "reduces what is not trained");
    if (!isReduction(op))
      return readOwned(partition, op, range.begin, range.end, flight);
    if (auto exchange = dyn_cast<ExchangeGradientsOp>(flight.op))
      return readExchange(exchange, partition, flight);
    return op.getKind() == zrt::Collective::Reduce
               ? readBucketed(op, range, flight)
               : readReduction(op, partition, range.begin, range.end, flight);
  }
  return fail(*op, "has no rule");
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

void ScheduleInterpreter::writeStored(Operation *op, PartitionOp partition,
                                      int64_t begin, int64_t end,
                                      Flight &flight) {
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto &stored = states[partition.getSymName()][rank].gradients;
    if (kindOf(op) == zrt::Collective::AllReduce) {
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
      int64_t size = (segments[i] - segments[i - 1]) / partition.getSlices();
      if (segments[i - 1] >= begin && segments[i] <= end && size > 0)
        llvm::copy(flight.payload[rank][next++],
                   stored.begin() + segments[i - 1] +
                       indexIn(partition, rank) * size);
    }
  }
}

bool ScheduleInterpreter::write(Flight &flight) {
  flight.isDone = true;
  auto op = dyn_cast<CollectiveOpInterface>(flight.op);
  if (!op)
    return writeOffload(flight);
  ArrayAttr names = op.getParameterNames();
  if (isRefresh(op) && names) {
    for (auto [index, symbol] :
         llvm::enumerate(names.getAsRange<FlatSymbolRefAttr>())) {
      auto &copies = residents[symbol.getValue()];
      copies.resize(ranks);
      for (int64_t rank = 0; rank < ranks; ++rank)
        copies[rank] = flight.payload[rank][index];
    }
    return true;
  }
  if (names)
    return true;
  for (const PartitionRange &range : op.getPartitionRanges(table)) {
    StringRef name = range.partition.getValue();
    if (op.getReduction())
      writeStored(op, partitions.lookup(name), range.begin, range.end, flight);
    else
      for (int64_t rank = 0; rank < ranks; ++rank)
        llvm::copy(flight.payload[rank].front(),
                   states[name][rank].parameters.begin() + range.begin);
  }
  return true;
}

/// What a collective may already have overwritten is no longer what it was.
void ScheduleInterpreter::poisonTargets(Operation *op) {
  if (auto copy = dyn_cast<CopyToDeviceOp>(op))
    return poisonUpdated(partitions.lookup(copy.getPartition()),
                         copy.getBegin(), copy.getEnd());
  if (auto write = dyn_cast<WriteStatesOp>(op))
    return poisonInFile(partitions.lookup(write.getPartition()),
                        write.getBegin(), write.getEnd());
  if (!isRefresh(op))
    return;
  auto refresh = cast<CollectiveOpInterface>(op);
  if (ArrayAttr names = refresh.getParameterNames()) {
    for (auto symbol : names.getAsRange<FlatSymbolRefAttr>())
      if (auto found = residents.find(symbol.getValue());
          found != residents.end())
        for (auto &copy : found->second)
          llvm::fill(copy, NAN);
    return;
  }
  for (const PartitionRange &range : refresh.getPartitionRanges(table)) {
    PartitionOp partition = partitions.lookup(range.partition.getValue());
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t i = range.begin; i < range.end; ++i)
        if (!isOwned(partition, i, rank, true))
          states[range.partition.getValue()][rank].parameters[i] = NAN;
  }
}
