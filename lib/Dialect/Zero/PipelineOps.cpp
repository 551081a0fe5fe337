//===- PipelineOps.cpp - what stages of a pipeline pass on ----------------===//

#include "TierOps.h"

using namespace mlir;
using namespace mlir::zero;

using Memory = AsyncBuffer::Memory;

//===----------------------------------------------------------------------===//
// Passes of a step
//===----------------------------------------------------------------------===//

bool StepOp::beginsBackward(MicroOp region) {
  return region.getLast() || region == getRegionOp<MicroOp>();
}

/// The passes of a stage: forward through chunks 0 to n - 1, and back.
LogicalResult StepOp::verifyChunks() {
  const int64_t chunks = llvm::range_size(getBody().getOps<ForwardOp>());
  int64_t next = 0, left = std::max<int64_t>(chunks, 1);
  auto report = [](Operation *pass, int64_t found, int64_t wanted) {
    return pass->emitOpError("is a pass through chunk ")
           << found << ", wanted chunk " << wanted
           << ": forward passes from chunk 0 on, and backward passes to it";
  };
  for (auto pass : getBody().getOps<ForwardOp>())
    if (const int64_t wanted = next++;
        static_cast<int64_t>(pass.getChunk()) != wanted)
      return report(pass, pass.getChunk(), wanted);
  for (auto pass : getBody().getOps<MicroOp>())
    if (const int64_t wanted = pass.getLast() ? 0 : --left;
        static_cast<int64_t>(pass.getChunk()) != wanted)
      return report(pass, pass.getChunk(), wanted);
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// An error at `op` unless its module is a stage with a neighbour there. With
/// chunks the last stage is before the first one, too.
static LogicalResult verifyNeighbour(Operation *op, bool isBefore) {
  auto module = op->getParentOfType<ModuleOp>();
  auto meshes = module.getOps<MeshOp>();
  MeshOp mesh = meshes.empty() ? MeshOp() : *meshes.begin();
  if (!mesh || !mesh.getStage())
    return op->emitOpError("is about a stage of a pipeline, and no 'zero.mesh' "
                           "says which one this is; zero-cut-pipeline makes "
                           "the stages");
  int64_t other = *mesh.getStage() + (isBefore ? -1 : 1);
  int64_t stages = mesh.getAxes().getStageAxes().getSize();
  if ((other >= 0 && other < stages) || mesh.getChunks() > 1)
    return success();
  return op->emitOpError("is between stage ")
         << *mesh.getStage() << " and stage " << other << ", and there are "
         << stages << " stages, from 0 on";
}

LogicalResult StartSendOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyNeighbour(*this, getBack());
}
LogicalResult StartReceiveOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyNeighbour(*this, !getBack());
}

LogicalResult StartSendOp::verify() {
  if (getPending().getType().getTypes().empty())
    return success();
  return emitOpError("gives ")
         << getPending().getType() << ", wanted a pending without tensors";
}

LogicalResult StartReceiveOp::verify() {
  ArrayRef<Type> types = getPending().getType().getTypes();
  auto tensor = types.size() == 1 ? dyn_cast<RankedTensorType>(types.front())
                                  : RankedTensorType();
  if (tensor && tensor.hasStaticShape())
    return success();
  return emitOpError("gives ")
         << getPending().getType() << ", wanted one tensor of static shape";
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

SmallVector<AsyncBuffer> StartSendOp::getBuffers(const PartitionTable &,
                                                 TrainingAttr) {
  auto type = cast<RankedTensorType>(getValue().getType());
  AsyncBuffer sent = makeBuffer("sent", Memory::Operand, type.getElementType(),
                                type.getNumElements());
  sent.isRead = true;
  return {sent};
}

SmallVector<AsyncBuffer> StartReceiveOp::getBuffers(const PartitionTable &,
                                                    TrainingAttr) {
  RankedTensorType type = getTensorType();
  AsyncBuffer received = makeBuffer(
      "received", Memory::Own, type.getElementType(), type.getNumElements());
  received.isWritten = received.isPlaced = received.isFreed = true;
  received.result = 0;
  return {received};
}

SmallVector<int64_t> StartSendOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
SmallVector<int64_t> StartReceiveOp::getOperandOffsets(const PartitionTable &) {
  return {};
}

LinkKind StartSendOp::getLink() { return LinkKind::Ranks; }
LinkKind StartReceiveOp::getLink() { return LinkKind::Ranks; }

int64_t StartSendOp::getBytes(const PartitionTable &) {
  auto type = cast<RankedTensorType>(getValue().getType());
  return type.getNumElements() * elementBytes(type.getElementType());
}
int64_t StartReceiveOp::getBytes(const PartitionTable &) {
  return bytesOf(getPending().getType());
}

static std::string labelOf(StringRef what, StringRef name, bool isBack) {
  return (what + (isBack ? " gradient of " : " ") + name).str();
}

std::string StartSendOp::getLabel() {
  return labelOf("send", getName(), getBack());
}
std::string StartReceiveOp::getLabel() {
  return labelOf("receive", getName(), getBack());
}
/// One name in each region, of which several may be in flight together.
static std::string handleNameOf(AsyncOpInterface transfer) {
  bool evaluates = isa<EvaluateOp>(transfer->getParentOp());
  return transfer.getLabel() + (evaluates ? " to evaluate" : "");
}
std::string StartSendOp::getHandleName() {
  return handleNameOf(cast<AsyncOpInterface>(getOperation()));
}
std::string StartReceiveOp::getHandleName() {
  return handleNameOf(cast<AsyncOpInterface>(getOperation()));
}

//===----------------------------------------------------------------------===//
// Gradients of what several stages have
//===----------------------------------------------------------------------===//

LogicalResult TieGradientsOp::verifySymbolUses(SymbolTableCollection &tables) {
  PartitionOp partition = lookUpPartition(*this, getPartitionAttr(), tables);
  if (!partition)
    return failure();
  if (partition.isTrainable() && partition.getStages() &&
      partition.getGradientType().isF32())
    return success();
  return emitOpError("adds up gradients of ")
         << getPartitionAttr()
         << ", wanted a trained partition of several 'stages', with gradients "
            "of f32";
}

StreamKind TieGradientsOp::getStream() { return StreamKind::Compute; }
Value TieGradientsOp::getPending() { return {}; }

/// The buffers of the gradients that this rank owns, in runs, and for each
/// other stage those of the rank at the same place.
SmallVector<AsyncBuffer>
TieGradientsOp::getBuffers(const PartitionTable &partitions, TrainingAttr) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  int64_t end = partition.getFlatElements();
  Type type = partition.getGradientType();
  SmallVector<AsyncBuffer> buffers;
  addOwned(buffers, partition, "gradients", type,
           partition.hasShardedGradients(), 0, end);
  for (AsyncBuffer &buffer : buffers)
    buffer.isRead = buffer.isWritten = true;
  for (size_t other = 1; other < partition.getStages()->size(); ++other) {
    AsyncBuffer received =
        makeBuffer("received " + Twine(other - 1), Memory::Own, type,
                   partition.getOwnedElements(0, end));
    received.isWritten = received.isPlaced = true;
    buffers.push_back(std::move(received));
  }
  return buffers;
}

SmallVector<int64_t> TieGradientsOp::getOperandOffsets(const PartitionTable &) {
  return {};
}
LinkKind TieGradientsOp::getLink() { return LinkKind::Ranks; }
int64_t TieGradientsOp::getBytes(const PartitionTable &partitions) {
  PartitionOp partition = partitions.find(getPartitionAttr());
  return partition.getOwnedElements(0, partition.getFlatElements()) *
         elementBytes(partition.getGradientType());
}
std::string TieGradientsOp::getHandleName() { return getLabel(); }
std::string TieGradientsOp::getLabel() {
  return "tie gradients of " + getPartition().str();
}
