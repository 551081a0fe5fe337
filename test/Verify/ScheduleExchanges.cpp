//===- ScheduleExchanges.cpp - gradients that are exchanged packed --------===//

#include "ScheduleInterpreter.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;

/// By rank, what is exchanged: gradients at their places in the range, or the
/// sums of the first step, one after the other.
bool ScheduleInterpreter::readExchanged(
    ExchangeGradientsOp op, PartitionOp partition,
    std::vector<std::vector<double>> &sent) {
  if (op.getStep() != ExchangeStep::Between)
    return fillBuckets(op, partition, op.getBegin(), op.getEnd(), sent);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<double> &sums = sent.emplace_back();
    for (Value operand : op->getOperands()) {
      Array value;
      if (!materialize(operand, rank, value))
        return false;
      llvm::append_range(sums, value.reals);
    }
  }
  return true;
}

/// Of each segment, slices lie in the order of ranks: a rank has the sum, over
/// its group, of those that are `group` ranks apart from its own on. Quantizing
/// is left out.
bool ScheduleInterpreter::readExchange(ExchangeGradientsOp op,
                                       PartitionOp partition, Flight &flight) {
  std::vector<std::vector<double>> sent;
  if (!readExchanged(op, partition, sent))
    return false;
  const int64_t slices = partition.getSlices();
  const int64_t size = op.getOver().getSize();
  const bool isBetween = op.getStep() == ExchangeStep::Between;
  const int64_t pieces =
      op.getStep() == ExchangeStep::Within ? slices / size : 1;
  const double factor = op.getPrescaled() ? zrt::prescaleOf(slices) : 1.0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    SmallVector<int64_t> peers = peersOf(rank, op.getOverAttr());
    const int64_t own = std::distance(peers.begin(), llvm::find(peers, rank));
    auto &sums = flight.payload.emplace_back();
    int64_t first = 0; // of the segment, in what is sent
    for (auto [begin, end] :
         partition.getSegmentsIn(op.getBegin(), op.getEnd())) {
      const int64_t slice = (end - begin) / slices;
      std::vector<double> &sum = sums.emplace_back(pieces * slice, 0.0);
      for (int64_t i = 0; i < pieces * slice; ++i) {
        const int64_t from =
            first + (i / slice * size + own) * slice + i % slice;
        for (int64_t peer : peers)
          sum[i] += sent[peer][from];
        sum[i] *= factor;
      }
      first += isBetween ? size * slice : end - begin;
    }
  }
  return true;
}
