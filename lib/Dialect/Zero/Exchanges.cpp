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

static RankedTensorType typeOf(AllToAllOp op) {
  return cast<RankedTensorType>(op.getValue().getType());
}

LogicalResult AllToAllOp::verify() {
  RankedTensorType type = typeOf(*this);
  int64_t ranks = getOver().getSize();
  if (type.getRank() == 0 || type.getDimSize(0) % ranks != 0) // (C1)
    return emitOpError("splits ")
           << type << " over " << ranks
           << " ranks, wanted a multiple of as many rows";
  if (getPending().getType().getTypes() == ArrayRef<Type>(type)) // (C2)
    return success();
  return emitOpError("gives ")
         << getPending().getType() << ", wanted one tensor of type " << type;
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyIsOfMesh(*this, getOver()); // (C3)
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

SmallVector<AsyncBuffer> AllToAllOp::getBuffers(const PartitionTable &,
                                                TrainingAttr) {
  RankedTensorType type = typeOf(*this);
  AsyncBuffer sent = makeBuffer("sent", Memory::Operand, type.getElementType(),
                                type.getNumElements());
  sent.isRead = true;
  AsyncBuffer received = makeBuffer(
      "received", Memory::Own, type.getElementType(), type.getNumElements());
  received.isWritten = received.isPlaced = received.isFreed = true;
  received.result = 0;
  return {sent, received};
}

SmallVector<CollectivePart>
AllToAllOp::getParts(const PartitionTable &, ArrayRef<AsyncBuffer> buffers) {
  return {{wholeOf(buffers, 0), wholeOf(buffers, 1),
           buffers[0].elements / getOver().getSize()}};
}

SmallVector<int64_t> AllToAllOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
int64_t AllToAllOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t AllToAllOp::getElementsSent(const PartitionTable &) {
  return typeOf(*this).getNumElements();
}
Type AllToAllOp::getWireType(const PartitionTable &) {
  return typeOf(*this).getElementType();
}
std::string AllToAllOp::getHandleName() {
  // Nothing names an exchange but its place among those of its region.
  auto starts = (*this)->getBlock()->getOps<AllToAllOp>();
  return "exchange " + std::to_string(std::distance(starts.begin(),
                                                    llvm::find(starts, *this)));
}
std::string AllToAllOp::getLabel() { return makeLabel(*this, "", {}); }
LinkKind AllToAllOp::getLink() { return LinkKind::Ranks; }
zrt::Collective AllToAllOp::getKind() { return zrt::Collective::AllToAll; }
std::optional<zrt::Reduction> AllToAllOp::getReduction() { return {}; }
zrt::TrafficClass AllToAllOp::getTrafficClass() {
  return zrt::TrafficClass::Activation;
}
bool AllToAllOp::combinesReplicas() { return false; }
AxesAttr AllToAllOp::getGroup(const PartitionTable &) { return getOver(); }
SmallVector<PartitionRange>
AllToAllOp::getPartitionRanges(const PartitionTable &) {
  return {};
}
ArrayAttr AllToAllOp::getParameterNames() { return {}; }
