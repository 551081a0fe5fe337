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

/// Starts the upload for each gather before the gather before it, and waits for
/// it where its own gather starts. Slices change in `zero.apply` only:
/// elsewhere the first upload starts with the region.
static LogicalResult uploadIn(Block &block, const PartitionTable &partitions,
                              TrainingAttr training) {
  Operation *previous =
      isa<ApplyOp>(block.getParentOp()) ? nullptr : &block.front();
  for (auto op :
       llvm::make_early_inc_range(block.getOps<CollectiveOpInterface>())) {
    FailureOr<SmallVector<Type>> types =
        findSlicesOnHost(op, partitions, training);
    if (failed(types))
      return failure();
    if (types->empty())
      continue;
    Location loc = op.getLoc();
    OpBuilder builder(previous ? previous : op.getOperation());
    auto upload = UploadOp::create(builder, loc,
                                   PendingType::get(op.getContext(), *types),
                                   op.getParameterNames(), StreamKind::Upload);
    builder.setInsertionPoint(op);
    auto wait = WaitOp::create(builder, loc, upload.getPending());
    op->setOperands(wait.getResults());
    previous = op;
  }
  return success();
}

void UploadParameters::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  PartitionTable partitions(*step);
  for (Operation &region : step->getBody().front())
    if (failed(uploadIn(region.getRegion(0).front(), partitions,
                        *step->getTraining())))
      return signalPassFailure();
}
