//===- TierOps.cpp - copies between tiers, and updates on the host --------===//

#include "TierOps.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Checks that an operand has the owned elements of the range, one after the
/// other.
template <typename TierOp>
static LogicalResult verifyOwned(TierOp op, PartitionOp partition, Type found,
                                 Type element, StringRef what) {
  RankedTensorType wanted =
      partition.getOwnedType(op.getBegin(), op.getEnd(), element);
  if (found == wanted)
    return success();
  return op.emitOpError("has ") << what << " of type " << found << ", wanted "
                                << wanted << ": what a rank owns of the range";
}

/// The one tensor that `op` gives after its wait.
template <typename TierOp>
static LogicalResult verifyResult(TierOp op, PartitionOp partition,
                                  Type element) {
  ArrayRef<Type> types = op.getPending().getType().getTypes();
  if (types.size() != 1)
    return op.emitOpError("gives ")
           << op.getPending().getType() << ", wanted one tensor";
  return verifyOwned(op, partition, types.front(), element, "a result");
}

LogicalResult CopyToHostOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = verifyTarget(*this, tables);
  if (!partition)
    return failure();
  if (getState() == "gradients")
    return verifyResult(*this, partition, partition.getGradientType());
  if (getState() == "parameters" && partition.hasOffloadedParameters())
    return emitOpError("copies parameters to the host, where ")
           << getPartitionAttr() << " keeps them";
  if (getState() == "parameters")
    return verifyResult(*this, partition, partition.getComputeType());
  return emitOpError("copies '")
         << getState() << "', wanted 'gradients' or 'parameters'";
}

LogicalResult UpdateOnHostOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = verifyTarget(*this, tables);
  if (!partition)
    return failure();
  std::optional<MemoryTier> tier = partition.getStateTier(getBegin(), getEnd());
  if (!tier || *tier == MemoryTier::Device) // (C1)
    return emitOpError("updates [")
           << getBegin() << " to " << getEnd() << "] of " << getPartitionAttr()
           << " on the host, wanted all of its states there, or all in a file";
  bool wantsCopy =
      partition.readsParameters() && !partition.hasOffloadedParameters();
  if (wantsCopy != (getParameters() != nullptr)) // (C2)
    return emitOpError(wantsCopy
                           ? "updates parameters that it is not given, wanted "
                             "a copy of them: 'in'"
                           : "is given parameters, which its rule does not "
                             "read or has on the host; wanted no 'in'");
  if (failed(verifyOwned(*this, partition, getGradients().getType(),
                         partition.getGradientType(), "gradients")))
    return failure();
  if (getParameters() &&
      failed(verifyOwned(*this, partition, getParameters().getType(),
                         partition.getComputeType(), "parameters")))
    return failure();
  SmallVector<Type> results;
  if (!partition.hasOffloadedParameters())
    results.push_back(partition.getOwnedType(getBegin(), getEnd(),
                                             partition.getComputeType()));
  SmallVector<Type> states =
      partition.getOwnedTypesInFile(getBegin(), getEnd());
  if (getStates().getTypes() != TypeRange(states)) // (C1)
    return emitOpError("has the states ")
           << getStates().getTypes() << ", wanted " << TypeRange(states)
           << (states.empty() ? ": they are where it updates them"
                              : ": copies of all that a file keeps");
  llvm::append_range(results, states);
  return verifyResults(*this, results, // (C3)
                       partition.hasParametersOnHost()
                           ? "it updates parameters where they are"
                           : "what a rank owns of the range");
}

LogicalResult CopyToDeviceOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = verifyTarget(*this, tables);
  if (!partition || failed(verifyOwned(*this, partition, getValue().getType(),
                                       partition.getComputeType(), "a value")))
    return failure();
  if (partition.hasOffloadedParameters())
    return emitOpError("copies parameters to the device, and ")
           << getPartitionAttr() << " keeps them in "
           << (partition.hasParametersOnHost() ? "host memory" : "a file");
  if (getPending().getType().getTypes().empty()) // (C2)
    return success();
  return emitOpError("gives ")
         << getPending().getType() << ", wanted a pending without tensors";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void mlir::zero::addOwned(SmallVectorImpl<AsyncBuffer> &buffers,
                          PartitionOp partition, StringRef state, Type type,
                          bool isSharded, int64_t begin, int64_t end) {
  SmallVector<std::pair<int64_t, int64_t>> runs = {{begin, end}};
  if (partition.hasShardedOptimizer() && !isSharded)
    runs = partition.getSegmentsIn(begin, end);
  auto form = partition.hasShardedOptimizer() ? AccumulateForm::Slice
                                              : AccumulateForm::Whole;
  for (auto [index, run] : llvm::enumerate(runs)) {
    auto [first, last] = run;
    AsyncBuffer buffer =
        makeBuffer(runs.size() > 1 ? state + " " + Twine(index) : Twine(state),
                   AsyncBuffer::Memory::State, type,
                   partition.getOwnedElements(first, last));
    buffers.push_back(
        holdRange(std::move(buffer), partition, state, first, last, form));
  }
}

AsyncBuffer mlir::zero::stage(const Twine &name, Type type, int64_t elements) {
  AsyncBuffer staged =
      makeBuffer(name, AsyncBuffer::Memory::Own, type, elements);
  staged.tier = MemoryTier::Host;
  staged.isWritten = staged.isPlaced = true;
  staged.result = 0;
  return staged;
}

AsyncBuffer mlir::zero::operandOf(const Twine &name, unsigned index,
                                  Value operand) {
  auto type = cast<RankedTensorType>(operand.getType());
  AsyncBuffer buffer = makeBuffer(name, AsyncBuffer::Memory::Operand,
                                  type.getElementType(), type.getNumElements());
  buffer.index = index;
  buffer.isRead = true;
  return buffer;
}

static bool isSharded(PartitionOp partition, StringRef state) {
  return state == "parameters" ? partition.hasShardedParameters()
                               : partition.hasShardedGradients();
}

SmallVector<AsyncBuffer>
CopyToHostOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  Type type = elementTypeOf(getPending().getType());
  SmallVector<AsyncBuffer> buffers;
  addOwned(buffers, partition, getState(), type,
           isSharded(partition, getState()), getBegin(), getEnd());
  for (AsyncBuffer &buffer : buffers)
    buffer.isRead = true;
  buffers.push_back(
      stage("staged", type, partition.getOwnedElements(getBegin(), getEnd())));
  return buffers;
}

/// The buffer of a state or parameters that the host updates in place.
static AsyncBuffer describeInPlace(UpdateOnHostOp op, PartitionOp partition,
                                   const UpdateOperand &operand) {
  SmallVector<AsyncBuffer> buffers;
  addOwned(buffers, partition, operand.name, operand.type, /*isSharded=*/true,
           op.getBegin(), op.getEnd());
  buffers.back().isRead = operand.isRead;
  buffers.back().isWritten = operand.isWritten;
  return buffers.back();
}

/// The buffer of copy `index`, of a state in a file, that the host updates. A
/// skipped update leaves all of it as it was, also elements that its rule does
/// not read, since the copy is written back.
static AsyncBuffer describeCopy(UpdateOnHostOp op, PartitionOp partition,
                                const UpdateOperand &operand, unsigned index) {
  unsigned first = op.getStates().getBeginOperandIndex();
  AsyncBuffer buffer =
      operandOf(operand.name, first + index, op.getStates()[index]);
  buffer.isWritten = operand.isWritten;
  buffer.isPlaced = true;
  buffer.result = index + !partition.hasOffloadedParameters();
  return buffer;
}

/// Parameters that go back to the device.
static AsyncBuffer describeParameters(UpdateOnHostOp op, PartitionOp partition,
                                      const UpdateOperand &operand) {
  if (!op.getParameters())
    return stage("parameters", operand.type,
                 partition.getOwnedElements(op.getBegin(), op.getEnd()));
  AsyncBuffer buffer = operandOf("parameters", 1, op.getParameters());
  buffer.isWritten = buffer.isPlaced = true;
  buffer.result = 0;
  return buffer;
}

SmallVector<AsyncBuffer>
UpdateOnHostOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<UpdateOperand> inFile =
      partition.getOperandsInFile(getBegin(), getEnd());
  SmallVector<AsyncBuffer> buffers;
  unsigned copies = 0;
  for (const UpdateOperand &operand : partition.getUpdateOperands()) {
    bool isCopied = llvm::any_of(inFile, [&](const UpdateOperand &other) {
      return other.name == operand.name;
    });
    if (operand.kind == UpdateOperand::Gradients)
      buffers.push_back(operandOf("gradients", 0, getGradients()));
    else if (isCopied)
      buffers.push_back(describeCopy(*this, partition, operand, copies++));
    else if (operand.kind == UpdateOperand::Parameters &&
             !partition.hasOffloadedParameters())
      buffers.push_back(describeParameters(*this, partition, operand));
    else
      buffers.push_back(describeInPlace(*this, partition, operand));
  }
  return buffers;
}

SmallVector<AsyncBuffer>
CopyToDeviceOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  SmallVector<AsyncBuffer> buffers;
  buffers.push_back(operandOf("updated", 0, getValue()));
  addOwned(buffers, partition, "parameters", partition.getComputeType(),
           partition.hasShardedParameters(), getBegin(), getEnd());
  for (AsyncBuffer &buffer : llvm::drop_begin(buffers))
    buffer.isWritten = true;
  return buffers;
}

//===----------------------------------------------------------------------===//
// Other answers
//===----------------------------------------------------------------------===//

SmallVector<int64_t> CopyToHostOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t> UpdateOnHostOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t> CopyToDeviceOp::getOperandOffsets(const PartitionTable &) {
  return {};
}

LinkKind CopyToHostOp::getLink() { return LinkKind::Bus; }
LinkKind UpdateOnHostOp::getLink() { return LinkKind::HostMemory; }
LinkKind CopyToDeviceOp::getLink() { return LinkKind::Bus; }

int64_t CopyToHostOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}
/// The bytes that an update reads and writes.
int64_t UpdateOnHostOp::getBytes(const PartitionTable &partitions) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  int64_t bytes = 0;
  for (const UpdateOperand &operand : partition.getUpdateOperands())
    bytes += elementBytes(operand.type) * (operand.isRead + operand.isWritten);
  return bytes * partition.getOwnedElements(getBegin(), getEnd());
}
int64_t CopyToDeviceOp::getBytes(const PartitionTable &) {
  auto type = cast<RankedTensorType>(getValue().getType());
  return type.getNumElements() * elementBytes(type.getElementType());
}

std::string CopyToHostOp::getHandleName() {
  return nameRange((getState() + " to host").str(), getPartition(), getBegin(),
                   getEnd());
}
std::string UpdateOnHostOp::getHandleName() {
  return nameRange("update on host", getPartition(), getBegin(), getEnd());
}
std::string CopyToDeviceOp::getHandleName() {
  return nameRange("parameters to device", getPartition(), getBegin(),
                   getEnd());
}

std::string CopyToHostOp::getLabel() {
  return makeLabel(*this, getPartition(), {}) + " " + getState().str();
}
std::string UpdateOnHostOp::getLabel() {
  return makeLabel(*this, getPartition(), {});
}
std::string CopyToDeviceOp::getLabel() {
  return makeLabel(*this, getPartition(), {});
}
