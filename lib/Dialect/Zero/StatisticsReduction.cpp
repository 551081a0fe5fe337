//===- StatisticsReduction.cpp - norm and loss of all ranks ---------------===//

#include "Collectives.h"

#include "program/Control.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

StreamKind ReduceStatsOp::getStream() { return StreamKind::Compute; }
Value ReduceStatsOp::getPending() { return {}; }

/// Fields of the runtime's control block; the deterministic norm is a sum in
/// integer limbs, beside the count of what is not finite.
SmallVector<AsyncBuffer> ReduceStatsOp::getBuffers(const PartitionTable &,
                                                   TrainingAttr training) {
  SmallVector<AsyncBuffer> buffers;
  auto add = [&](StringRef name, Type type, int64_t elements = 1) {
    AsyncBuffer field = makeBuffer(name, Memory::Control, type, elements);
    field.isRead = field.isWritten = true;
    buffers.push_back(std::move(field));
  };
  Type f64 = Float64Type::get(getContext());
  Type i64 = IntegerType::get(getContext(), 64);
  if (!getLossOnly() && training.getDeterministic()) {
    add("normLimbs", i64, zrt::kNormLimbs + 1);
  } else if (!getLossOnly()) {
    add("nonFinite", i64);
    add("normSum", f64);
  }
  add("lossSum", f64);
  if (getWeighted())
    add("weightSum", f64);
  return buffers;
}

SmallVector<CollectivePart>
ReduceStatsOp::getParts(const PartitionTable &, ArrayRef<AsyncBuffer> buffers) {
  SmallVector<CollectivePart> parts;
  for (unsigned i = 0; i < buffers.size(); ++i)
    parts.push_back(
        {wholeOf(buffers, i), wholeOf(buffers, i), buffers[i].elements});
  return parts;
}

SmallVector<int64_t> ReduceStatsOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t ReduceStatsOp::getBytes(const PartitionTable &) {
  return 3 * sizeof(double);
}
int64_t ReduceStatsOp::getElementsSent(const PartitionTable &) { return 2 * 3; }
Type ReduceStatsOp::getWireType(const PartitionTable &) {
  return Float64Type::get(getContext());
}
std::string ReduceStatsOp::getHandleName() { return "statistics"; }
std::string ReduceStatsOp::getLabel() { return makeLabel(*this, "", {}); }
LinkKind ReduceStatsOp::getLink() { return LinkKind::Ranks; }
zrt::Collective ReduceStatsOp::getKind() { return zrt::Collective::AllReduce; }
std::optional<zrt::Reduction> ReduceStatsOp::getReduction() {
  return zrt::Reduction::Sum;
}
zrt::TrafficClass ReduceStatsOp::getTrafficClass() {
  return zrt::TrafficClass::Control;
}
bool ReduceStatsOp::combinesReplicas() { return false; }
AxesAttr ReduceStatsOp::getGroup(const PartitionTable &) { return {}; }
SmallVector<PartitionRange>
ReduceStatsOp::getPartitionRanges(const PartitionTable &) {
  return {};
}
ArrayAttr ReduceStatsOp::getParameterNames() { return {}; }
