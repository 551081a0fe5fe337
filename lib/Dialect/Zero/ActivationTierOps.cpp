//===- ActivationTierOps.cpp - activations that wait in host memory -------===//

#include "Collectives.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

template <typename CopyOp> static LogicalResult verifyCopy(CopyOp op) {
  ArrayRef<Type> types = op.getPending().getType().getTypes();
  if (types.size() == 1 && types.front() == op.getValue().getType())
    return success();
  return op.emitOpError("gives ")
         << op.getPending().getType() << ", wanted one tensor of type "
         << op.getValue().getType() << ", as it is given";
}

LogicalResult OffloadOp::verify() { return verifyCopy(*this); }
LogicalResult FetchOp::verify() { return verifyCopy(*this); }

/// The operand, and a copy of it.
static SmallVector<AsyncBuffer> copyValue(Value value, StringRef name) {
  auto type = cast<RankedTensorType>(value.getType());
  AsyncBuffer source = makeBuffer("value", Memory::Operand,
                                  type.getElementType(), type.getNumElements());
  source.isRead = true;
  AsyncBuffer copy = makeBuffer(name, Memory::Own, type.getElementType(),
                                type.getNumElements());
  copy.isWritten = copy.isPlaced = true;
  copy.result = 0;
  copy.arena = ArenaKind::Activations;
  return {source, copy};
}

SmallVector<AsyncBuffer> OffloadOp::getBuffers(const PartitionTable &,
                                               TrainingAttr) {
  SmallVector<AsyncBuffer> buffers = copyValue(getValue(), "offloaded");
  buffers.back().tier = MemoryTier::Host;
  return buffers;
}

SmallVector<AsyncBuffer> FetchOp::getBuffers(const PartitionTable &,
                                             TrainingAttr) {
  SmallVector<AsyncBuffer> buffers = copyValue(getValue(), "fetched");
  buffers.back().isFreed = true;
  return buffers;
}

SmallVector<int64_t> OffloadOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t> FetchOp::getOperandOffsets(const PartitionTable &) {
  return {};
}

LinkKind OffloadOp::getLink() { return LinkKind::Bus; }
LinkKind FetchOp::getLink() { return LinkKind::Bus; }

int64_t OffloadOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t FetchOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}

std::string OffloadOp::getHandleName() { return getLabel(); }
std::string FetchOp::getHandleName() { return getLabel(); }

std::string OffloadOp::getLabel() {
  return "offload " + std::to_string(getId());
}
std::string FetchOp::getLabel() { return "fetch " + std::to_string(getId()); }
