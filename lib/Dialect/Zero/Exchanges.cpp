//===- Exchanges.cpp - collectives of a model's own values ----------------===//

#include "Checks.h"
#include "Collectives.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// An error at `op` unless it gives one tensor of type `wanted`.
template <typename OpT>
static LogicalResult verifyPending(OpT op, RankedTensorType wanted) {
  if (op.getPending().getType().getTypes() == ArrayRef<Type>(wanted))
    return success();
  return op.emitOpError("gives ") << op.getPending().getType()
                                  << ", wanted one tensor of type " << wanted;
}

LogicalResult AllToAllOp::verify() {
  RankedTensorType type = getTensorType();
  int64_t ranks = getOver().getSize();
  if (type.getRank() == 0 || type.getDimSize(0) % ranks != 0) // (C1)
    return emitOpError("splits ")
           << type << " over " << ranks
           << " ranks, wanted a multiple of as many rows";
  return verifyPending(*this, type); // (C2)
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver()); // (C3)
}

LogicalResult StartAllReduceOp::verify() {
  return verifyPending(*this, getTensorType());
}

LogicalResult StartAllGatherOp::verify() {
  SmallVector<int64_t> shape = {getOver().getSize()};
  llvm::append_range(shape, getTensorType().getShape());
  return verifyPending(*this, getTensorType().clone(shape));
}

LogicalResult StartAllReduceOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver());
}

LogicalResult StartAllGatherOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver());
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

/// The buffers of an exchange: the sent value stays where it is, and the
/// received one has memory of its own.
static SmallVector<AsyncBuffer> makeBuffers(RankedTensorType type,
                                            int64_t times = 1) {
  AsyncBuffer sent = makeBuffer("sent", Memory::Operand, type.getElementType(),
                                type.getNumElements());
  sent.isRead = true;
  AsyncBuffer received =
      makeBuffer("received", Memory::Own, type.getElementType(),
                 type.getNumElements() * times);
  received.isWritten = received.isPlaced = received.isFreed = true;
  received.result = 0;
  return {sent, received};
}

/// Names an exchange by its place among those of its region, since it has no
/// other name.
static std::string nameByPlace(Operation *op) {
  int64_t place = 0;
  for (Operation &other : *op->getBlock()) {
    if (&other == op)
      break;
    place += isa<CollectiveOpInterface>(other) &&
             cast<CollectiveOpInterface>(other).getTrafficClass() ==
                 zrt::TrafficClass::Activation;
  }
  return "exchange " + std::to_string(place);
}

SmallVector<AsyncBuffer> AllToAllOp::getBuffers(const PartitionTable &,
                                                TrainingAttr) {
  return makeBuffers(getTensorType());
}
SmallVector<AsyncBuffer> StartAllReduceOp::getBuffers(const PartitionTable &,
                                                      TrainingAttr) {
  return makeBuffers(getTensorType());
}

SmallVector<AsyncBuffer> StartAllGatherOp::getBuffers(const PartitionTable &,
                                                      TrainingAttr) {
  return makeBuffers(getTensorType(), getOver().getSize());
}

SmallVector<CollectivePart>
AllToAllOp::getParts(const PartitionTable &, ArrayRef<AsyncBuffer> buffers) {
  return {{wholeOf(buffers, 0), wholeOf(buffers, 1),
           buffers[0].elements / getOver().getSize()}};
}
SmallVector<CollectivePart>
StartAllReduceOp::getParts(const PartitionTable &,
                           ArrayRef<AsyncBuffer> buffers) {
  return {{wholeOf(buffers, 0), wholeOf(buffers, 1), buffers[0].elements}};
}

SmallVector<CollectivePart>
StartAllGatherOp::getParts(const PartitionTable &,
                           ArrayRef<AsyncBuffer> buffers) {
  return {{wholeOf(buffers, 0), wholeOf(buffers, 1), buffers[0].elements}};
}

int64_t AllToAllOp::getElementsSent(const PartitionTable &) {
  return getTensorType().getNumElements();
}
int64_t StartAllReduceOp::getElementsSent(const PartitionTable &) {
  return 2 * getTensorType().getNumElements();
}
int64_t StartAllGatherOp::getElementsSent(const PartitionTable &) {
  return getTensorType().getNumElements() * getOver().getSize();
}

zrt::Collective AllToAllOp::getKind() { return zrt::Collective::AllToAll; }
zrt::Collective StartAllReduceOp::getKind() {
  return zrt::Collective::AllReduce;
}
zrt::Collective StartAllGatherOp::getKind() {
  return zrt::Collective::AllGather;
}
std::optional<zrt::Reduction> AllToAllOp::getReduction() { return {}; }
std::optional<zrt::Reduction> StartAllGatherOp::getReduction() { return {}; }
std::optional<zrt::Reduction> StartAllReduceOp::getReduction() {
  return zrt::Reduction::Sum;
}

// The methods that are alike for all exchanges, since the value is in no
// partition.
SmallVector<int64_t> AllToAllOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t>
StartAllReduceOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t AllToAllOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t StartAllReduceOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
Type AllToAllOp::getWireType(const PartitionTable &) {
  return getTensorType().getElementType();
}
Type StartAllReduceOp::getWireType(const PartitionTable &) {
  return getTensorType().getElementType();
}
std::string AllToAllOp::getHandleName() { return nameByPlace(*this); }
std::string StartAllReduceOp::getHandleName() { return nameByPlace(*this); }
std::string AllToAllOp::getLabel() { return makeLabel(*this, "", {}); }
std::string StartAllReduceOp::getLabel() { return makeLabel(*this, "", {}); }
LinkKind AllToAllOp::getLink() { return LinkKind::Ranks; }
LinkKind StartAllReduceOp::getLink() { return LinkKind::Ranks; }
zrt::TrafficClass AllToAllOp::getTrafficClass() {
  return zrt::TrafficClass::Activation;
}
zrt::TrafficClass StartAllReduceOp::getTrafficClass() {
  return zrt::TrafficClass::Activation;
}
bool AllToAllOp::combinesReplicas() { return false; }
bool StartAllReduceOp::combinesReplicas() { return false; }
AxesAttr AllToAllOp::getGroup(const PartitionTable &) { return getOver(); }
AxesAttr StartAllReduceOp::getGroup(const PartitionTable &) {
  return getOver();
}
SmallVector<PartitionRange>
AllToAllOp::getPartitionRanges(const PartitionTable &) {
  return {};
}
SmallVector<PartitionRange>
StartAllReduceOp::getPartitionRanges(const PartitionTable &) {
  return {};
}
ArrayAttr AllToAllOp::getParameterNames() { return {}; }
ArrayAttr StartAllReduceOp::getParameterNames() { return {}; }
SmallVector<int64_t>
StartAllGatherOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t StartAllGatherOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
Type StartAllGatherOp::getWireType(const PartitionTable &) {
  return getTensorType().getElementType();
}
std::string StartAllGatherOp::getHandleName() { return nameByPlace(*this); }
std::string StartAllGatherOp::getLabel() { return makeLabel(*this, "", {}); }
LinkKind StartAllGatherOp::getLink() { return LinkKind::Ranks; }
zrt::TrafficClass StartAllGatherOp::getTrafficClass() {
  return zrt::TrafficClass::Activation;
}
bool StartAllGatherOp::combinesReplicas() { return false; }
AxesAttr StartAllGatherOp::getGroup(const PartitionTable &) {
  return getOver();
}
SmallVector<PartitionRange>
StartAllGatherOp::getPartitionRanges(const PartitionTable &) {
  return {};
}
ArrayAttr StartAllGatherOp::getParameterNames() { return {}; }
