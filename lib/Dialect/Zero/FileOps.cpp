//===- FileOps.cpp - states of optimizers in files ------------------------===//

#include "TierOps.h"

using namespace mlir;
using namespace mlir::zero;

/// An error unless all states of the range are in a file.
template <typename FileOp>
static LogicalResult verifyInFile(FileOp op, PartitionOp partition) {
  if (partition.getStateTier(op.getBegin(), op.getEnd()) == MemoryTier::File)
    return success();
  return op.emitOpError("is about states of [")
         << op.getBegin() << " to " << op.getEnd() << "] of "
         << op.getPartitionAttr() << ", wanted all of them in a file";
}

LogicalResult ReadStatesOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = verifyTarget(*this, tables);
  if (!partition || failed(verifyInFile(*this, partition))) // (C1)
    return failure();
  return verifyResults(*this, typeStates(*this, partition)); // (C2)
}

LogicalResult WriteStatesOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = verifyTarget(*this, tables);
  if (!partition || failed(verifyInFile(*this, partition))) // (C1)
    return failure();
  SmallVector<Type> wanted = typeStates(*this, partition);
  if (getStates().getTypes() != TypeRange(wanted)) // (C2)
    return emitOpError("has the states ")
           << getStates().getTypes() << ", wanted " << TypeRange(wanted)
           << ": what a rank owns of each";
  return verifyResults(*this, {});
}

/// Each state in the file, and in a staging buffer.
SmallVector<AsyncBuffer>
ReadStatesOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<AsyncBuffer> buffers;
  for (auto [index, state] : llvm::enumerate(partition.getStateRange())) {
    addOwned(buffers, partition, state.getName(), state.getType(),
             /*isSharded=*/true, getBegin(), getEnd());
    buffers.back().isRead = true;
    buffers.push_back(stage("staged " + state.getName(), state.getType(),
                            partition.getOwnedElements(getBegin(), getEnd())));
    buffers.back().result = index;
    buffers.back().alignment = kFileAlignment;
  }
  return buffers;
}

SmallVector<AsyncBuffer>
WriteStatesOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<AsyncBuffer> buffers;
  for (auto [index, state] : llvm::enumerate(partition.getStateRange())) {
    buffers.push_back(
        operandOf("staged " + state.getName(), index, getStates()[index]));
    addOwned(buffers, partition, state.getName(), state.getType(),
             /*isSharded=*/true, getBegin(), getEnd());
    buffers.back().isWritten = true;
  }
  return buffers;
}

SmallVector<int64_t> ReadStatesOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t> WriteStatesOp::getOperandOffsets(const PartitionTable &) {
  return {};
}

LinkKind ReadStatesOp::getLink() { return LinkKind::File; }
LinkKind WriteStatesOp::getLink() { return LinkKind::File; }

int64_t ReadStatesOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t WriteStatesOp::getBytes(const PartitionTable &) {
  int64_t bytes = 0;
  for (Type type : getStates().getTypes())
    bytes += tensorBytes(type);
  return bytes;
}

std::string ReadStatesOp::getHandleName() {
  return nameRange("states from file", getPartition(), getBegin(), getEnd());
}
std::string WriteStatesOp::getHandleName() {
  return nameRange("states to file", getPartition(), getBegin(), getEnd());
}

/// The parameters that the range has elements of, the first few of them.
template <typename FileOp> static std::string labelRange(FileOp op) {
  constexpr int kMost = 8;
  std::string label = makeLabel(op, op.getPartition(), {});
  auto partition = SymbolTable::lookupNearestSymbolFrom<PartitionOp>(
      op, op.getPartitionAttr());
  int count = 0;
  for (MemberAttr member : partition.getMemberRange())
    if (member.getOffset() < int64_t(op.getEnd()) &&
        member.getOffset() + member.getSize() > int64_t(op.getBegin()) &&
        ++count <= kMost)
      label += (" " + member.getParameter().getValue()).str();
  if (count > kMost)
    label += " and " + std::to_string(count - kMost) + " more";
  return label;
}

std::string ReadStatesOp::getLabel() { return labelRange(*this); }
std::string WriteStatesOp::getLabel() { return labelRange(*this); }
