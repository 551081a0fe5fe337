//===- FileOps.cpp - states and parameters in files -----------------------===//

#include "TierOps.h"

using namespace mlir;
using namespace mlir::zero;

/// An error unless the range has something in a file.
template <typename FileOp>
static LogicalResult verifyInFile(FileOp op, PartitionOp partition) {
  if (!partition.getOperandsInFile(op.getBegin(), op.getEnd()).empty())
    return success();
  return op.emitOpError("is about [")
         << op.getBegin() << " to " << op.getEnd() << "] of "
         << op.getPartitionAttr()
         << ", wanted states or parameters of it in a file";
}

LogicalResult ReadStatesOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = verifyTarget(*this, tables);
  if (!partition || failed(verifyInFile(*this, partition))) // (C1)
    return failure();
  return verifyResults(
      *this, partition.getOwnedTypesInFile(getBegin(), getEnd())); // (C2)
}

LogicalResult WriteStatesOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = verifyTarget(*this, tables);
  if (!partition || failed(verifyInFile(*this, partition))) // (C1)
    return failure();
  SmallVector<Type> wanted =
      partition.getOwnedTypesInFile(getBegin(), getEnd());
  if (getStates().getTypes() != TypeRange(wanted)) // (C2)
    return emitOpError("has the states ")
           << getStates().getTypes() << ", wanted " << TypeRange(wanted)
           << ": what a rank owns of each";
  return verifyResults(*this, {});
}

/// A buffer that a file is read to.
static AsyncBuffer stageRead(const Twine &name, Type type, int64_t elements,
                             int result) {
  AsyncBuffer staged = stage(name, type, elements);
  staged.result = result;
  staged.alignment = kFileAlignment;
  return staged;
}

/// The buffers of a read: for each state the place in the file and a staging
/// buffer.
SmallVector<AsyncBuffer>
ReadStatesOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<AsyncBuffer> buffers;
  for (auto [index, operand] :
       llvm::enumerate(partition.getOperandsInFile(getBegin(), getEnd()))) {
    addOwned(buffers, partition, operand.name, operand.type,
             /*isSharded=*/true, getBegin(), getEnd());
    buffers.back().isRead = true;
    buffers.push_back(
        stageRead("staged " + operand.name, operand.type,
                  partition.getOwnedElements(getBegin(), getEnd()), index));
  }
  return buffers;
}

SmallVector<AsyncBuffer>
WriteStatesOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<AsyncBuffer> buffers;
  for (auto [index, operand] :
       llvm::enumerate(partition.getOperandsInFile(getBegin(), getEnd()))) {
    buffers.push_back(
        operandOf("staged " + operand.name, index, getStates()[index]));
    addOwned(buffers, partition, operand.name, operand.type,
             /*isSharded=*/true, getBegin(), getEnd());
    buffers.back().isWritten = true;
  }
  return buffers;
}

LogicalResult
ReadParametersOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getParameters().size() !=
      getPending().getType().getTypes().size()) // (C1)
    return emitOpError("reads slices of ")
           << getParameters().size() << " parameters into "
           << getPending().getType();
  return verifyAreParameters(*this, getParameters(), tables);
}

/// For each parameter its slice in the file, then the staging buffer.
SmallVector<AsyncBuffer>
ReadParametersOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  SmallVector<AsyncBuffer> buffers;
  for (auto [index, name] :
       llvm::enumerate(getParameters().getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = partitions.getPartition(name.getAttr());
    auto [begin, end] = partitions.getSegmentsOf(name.getAttr());
    buffers.push_back(
        storedSlice("slice of " + name.getValue(), partition, begin, end));
    buffers.push_back(stageRead("staged " + name.getValue(),
                                buffers.back().type, buffers.back().elements,
                                index));
  }
  return buffers;
}

SmallVector<int64_t> ReadStatesOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t>
ReadParametersOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t> WriteStatesOp::getOperandOffsets(const PartitionTable &) {
  return {};
}

LinkKind ReadStatesOp::getLink() { return LinkKind::File; }
LinkKind ReadParametersOp::getLink() { return LinkKind::File; }
LinkKind WriteStatesOp::getLink() { return LinkKind::File; }

int64_t ReadStatesOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
int64_t ReadParametersOp::getBytes(const PartitionTable &) {
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
std::string ReadParametersOp::getHandleName() { return getLabel(); }
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
std::string ReadParametersOp::getLabel() {
  return makeLabel(*this, "", getParameters());
}
std::string WriteStatesOp::getLabel() { return labelRange(*this); }
