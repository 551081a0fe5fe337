//===- UploadParameters.cpp - bring slices from host memory to gathers ----===//

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace mlir::zero {
#define GEN_PASS_DEF_UPLOADPARAMETERS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct UploadParameters
    : public zero::impl::UploadParametersBase<UploadParameters> {
  using UploadParametersBase::UploadParametersBase;
  void runOnOperation() override;
};
} // namespace

/// The slices in host memory that `op` reads: the types of copies of them.
static FailureOr<SmallVector<Type>>
findSlicesOnHost(CollectiveOpInterface op, const PartitionTable &partitions,
                 TrainingAttr training) {
  SmallVector<Type> types;
  bool readsDevice = false;
  for (const AsyncBuffer &buffer : op.getBuffers(partitions, training)) {
    if (buffer.memory != AsyncBuffer::Memory::State || !buffer.isRead ||
        buffer.state != "parameters")
      continue;
    if (PartitionOp partition = partitions.find(buffer.partition);
        partition && partition.hasParametersOnHost())
      types.push_back(RankedTensorType::get({buffer.elements}, buffer.type));
    else
      readsDevice = true;
  }
  if (types.empty() ||
      (!readsDevice && op->hasTrait<GathersSlices>() && op.getParameterNames()))
    return types;
  return op->emitOpError("reads parameters in host memory")
         << (readsDevice ? " and others on the device; wanted gathers of "
                           "either"
                         : ", and takes no copies of them");
}

/// Starts the upload for each gather before the gather that is `buffers` - 1
/// before it, and waits for it where its own gather starts. Slices change in
/// `zero.apply` only, where uploads start one gather ahead at most: elsewhere
/// the first ones start with the region.
static LogicalResult uploadIn(Block &block, const PartitionTable &partitions,
                              TrainingAttr training, size_t buffers) {
  const bool isApply = isa<ApplyOp>(block.getParentOp());
  const size_t ahead = isApply ? std::min<size_t>(buffers - 1, 1) : buffers - 1;
  SmallVector<Operation *> gathers;
  Operation *first = &block.front(), *last = nullptr; // What started there.
  for (auto op :
       llvm::make_early_inc_range(block.getOps<CollectiveOpInterface>())) {
    FailureOr<SmallVector<Type>> types =
        findSlicesOnHost(op, partitions, training);
    if (failed(types))
      return failure();
    if (types->empty())
      continue;
    Location loc = op.getLoc();
    OpBuilder builder(op);
    if (ahead > 0 && gathers.size() >= ahead)
      builder.setInsertionPoint(gathers[gathers.size() - ahead]);
    else if (ahead > 0 && !isApply)
      builder.setInsertionPoint(last ? last->getNextNode() : first);
    auto upload = UploadOp::create(builder, loc,
                                   PendingType::get(op.getContext(), *types),
                                   op.getParameterNames(), StreamKind::Upload);
    last = upload;
    builder.setInsertionPoint(op);
    auto wait = WaitOp::create(builder, loc, upload.getPending());
    op->setOperands(wait.getResults());
    gathers.push_back(op);
  }
  return success();
}

void UploadParameters::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  PartitionTable partitions(*step);
  OffloadAttr offload = step->getTraining()->getPlanning().getOffload();
  const size_t buffers = offload ? offload.getUploadBuffers() : 2;
  for (Operation &region : step->getBody().front())
    if (failed(uploadIn(region.getRegion(0).front(), partitions,
                        *step->getTraining(), buffers)))
      return signalPassFailure();
}
