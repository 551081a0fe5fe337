//===- UploadParameters.cpp - bring offloaded slices to gathers -----------===//

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

namespace {

/// A slice that a gather sends and that is not on the device.
struct Slice {
  FlatSymbolRefAttr parameter;
  Type type; ///< of a copy of it
  bool isInFile = false;
};

/// Gives the gathers of one region what they send.
class Uploads {
public:
  Uploads(Block &block, const PartitionTable &partitions, TrainingAttr training,
          size_t buffers)
      : block(block), partitions(partitions), training(training),
        isApply(isa<ApplyOp>(block.getParentOp())), ahead(limit(buffers - 1)),
        fileAhead(limit(std::min<size_t>(std::max<size_t>(buffers, 2) - 2, 1))),
        first(&block.front()) {}
  LogicalResult run();

private:
  /// Slices change in `zero.apply` only, where starts are one gather ahead at
  /// most: elsewhere the first ones come with the region.
  size_t limit(size_t gathers) const {
    return isApply ? std::min<size_t>(gathers, 1) : gathers;
  }
  FailureOr<SmallVector<Slice>> findSlices(CollectiveOpInterface op) const;
  void bring(CollectiveOpInterface op, ArrayRef<Slice> slices);
  WaitOp read(CollectiveOpInterface op, ArrayRef<Slice> slices);
  UploadOp upload(CollectiveOpInterface op, ArrayRef<Slice> slices,
                  WaitOp read);
  Operation *findPlace(Operation *op, size_t gathers, Operation *last) const;

  Block &block;
  const PartitionTable &partitions;
  TrainingAttr training;
  bool isApply;
  /// How many gathers before their own uploads and reads start; and uploads of
  /// what was read.
  size_t ahead, fileAhead;
  /// Of the region as it was; what started there.
  Operation *first, *lastUpload = nullptr, *lastRead = nullptr;
  SmallVector<Operation *> gathers;
  /// By gather, the last of the waits for its uploads.
  SmallVector<Operation *> waits;
};

} // namespace

static SmallVector<Type> typesOf(ArrayRef<Slice> slices) {
  return llvm::map_to_vector(slices,
                             [](const Slice &slice) { return slice.type; });
}

static ArrayAttr namesOf(MLIRContext *context, ArrayRef<Slice> slices) {
  return ArrayAttr::get(context,
                        llvm::map_to_vector(slices, [](const Slice &slice) {
                          return Attribute(slice.parameter);
                        }));
}

/// The slices that `op` reads and that are not on the device, in order.
FailureOr<SmallVector<Slice>>
Uploads::findSlices(CollectiveOpInterface op) const {
  SmallVector<Slice> slices;
  bool readsDevice = false;
  ArrayAttr names = op.getParameterNames();
  for (const AsyncBuffer &buffer : op.getBuffers(partitions, training)) {
    if (buffer.memory != AsyncBuffer::Memory::State || !buffer.isRead ||
        buffer.state != "parameters")
      continue;
    PartitionOp partition = partitions.find(buffer.partition);
    if (!partition || !partition.hasOffloadedParameters()) {
      readsDevice = true;
      continue;
    }
    Slice slice;
    if (names && slices.size() < names.size())
      slice.parameter = cast<FlatSymbolRefAttr>(names[slices.size()]);
    slice.type = RankedTensorType::get({buffer.elements}, buffer.type);
    slice.isInFile = partition.hasParametersInFile();
    slices.push_back(slice);
  }
  if (slices.empty() ||
      (!readsDevice && op->hasTrait<GathersSlices>() && names))
    return slices;
  return op->emitOpError("reads parameters that are not on the device")
         << (readsDevice ? " and others that are; wanted gathers of either"
                         : ", and takes no copies of them");
}

/// Where something starts that is wanted at `op`: `gathers` gathers before, or
/// with the region, after what started there `last`.
Operation *Uploads::findPlace(Operation *op, size_t ahead,
                              Operation *last) const {
  if (ahead > 0 && gathers.size() >= ahead)
    return gathers[gathers.size() - ahead];
  if (ahead > 0 && !isApply)
    return last ? last->getNextNode() : first;
  return op;
}

/// Reads slices from a file, and waits where their upload is to start. A read
/// starts before what is waited for at the same gather.
WaitOp Uploads::read(CollectiveOpInterface op, ArrayRef<Slice> slices) {
  Operation *place = findPlace(op, ahead, lastRead);
  if (ahead > 0 && gathers.size() >= ahead)
    place = waits[waits.size() - ahead]->getNextNode();
  OpBuilder builder(place);
  auto read = ReadParametersOp::create(
      builder, op.getLoc(), PendingType::get(op.getContext(), typesOf(slices)),
      namesOf(op.getContext(), slices), StreamKind::Read);
  lastRead = read;
  builder.setInsertionPoint(findPlace(op, fileAhead, lastRead));
  return WaitOp::create(builder, op.getLoc(), read.getPending());
}

/// Copies slices, which are in host memory or come with `read`, to the device.
UploadOp Uploads::upload(CollectiveOpInterface op, ArrayRef<Slice> slices,
                         WaitOp read) {
  Operation *place =
      read ? read->getNextNode() : findPlace(op, ahead, lastUpload);
  OpBuilder builder(place);
  auto upload = UploadOp::create(
      builder, op.getLoc(), PendingType::get(op.getContext(), typesOf(slices)),
      namesOf(op.getContext(), slices),
      read ? ValueRange(read.getResults()) : ValueRange(), StreamKind::Upload);
  if (!read)
    lastUpload = upload;
  return upload;
}

/// Starts what brings `slices` to `op`, and waits for it where `op` starts.
void Uploads::bring(CollectiveOpInterface op, ArrayRef<Slice> slices) {
  llvm::DenseMap<Attribute, Value> copies;
  Operation *wait = nullptr;
  for (bool isInFile : {false, true}) {
    auto part = llvm::to_vector(
        llvm::make_filter_range(slices, [&](const Slice &slice) {
          return slice.isInFile == isInFile;
        }));
    if (part.empty())
      continue;
    UploadOp start = upload(op, part, isInFile ? read(op, part) : WaitOp());
    OpBuilder builder(op);
    wait = WaitOp::create(builder, op.getLoc(), start.getPending());
    for (auto [slice, copy] : llvm::zip_equal(part, wait->getResults()))
      copies[slice.parameter] = copy;
  }
  op->setOperands(llvm::map_to_vector(slices, [&](const Slice &slice) {
    return copies.lookup(slice.parameter);
  }));
  gathers.push_back(op);
  waits.push_back(wait);
}

LogicalResult Uploads::run() {
  for (auto op :
       llvm::make_early_inc_range(block.getOps<CollectiveOpInterface>())) {
    FailureOr<SmallVector<Slice>> slices = findSlices(op);
    if (failed(slices))
      return failure();
    if (!slices->empty())
      bring(op, *slices);
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
    if (failed(Uploads(region.getRegion(0).front(), partitions,
                       *step->getTraining(), buffers)
                   .run()))
      return signalPassFailure();
}
