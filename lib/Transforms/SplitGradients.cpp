//===- SplitGradients.cpp - large gradients come in blocks of rows --------===//

#include "zero/Analysis/LastUse.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/PartitionLayout.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_SPLITGRADIENTS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// What decides about blocks, from options and training.
struct Settings {
  int64_t bucketElements, alignment;
  bool contiguous;
};

/// A value as rows of its first dimension.
struct Rows {
  int64_t count, elements;
  explicit Rows(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    count = type.getRank() ? type.getDimSize(0) : 1;
    elements = count ? type.getNumElements() / count : 0;
  }
};

/// Builds blocks of values of one block of code. Made before anything changes.
class BlockBuilder {
public:
  BlockBuilder(Block &block, const Handles &handles)
      : order(block), lastUses(findLastUses({&block}, order, handles)) {}

  /// Rows [begin, end) of `value`, in front of `place`, an operation of the
  /// block as it was.
  Value build(OpResult value, int64_t begin, int64_t end, Operation *place);

private:
  Value slice(OpBuilder &builder, Value value, int64_t begin, int64_t end);
  bool isBetterInBlocks(Value value, Operation *place);

  BlockOrder order;
  DenseMap<Value, Operation *> lastUses;
};

struct SplitGradients : public zero::impl::SplitGradientsBase<SplitGradients> {
  using SplitGradientsBase::SplitGradientsBase;
  void runOnOperation() override;

private:
  Settings getSettings(PlanningAttr planning);
};

} // namespace

//===----------------------------------------------------------------------===//
// BlockBuilder
//===----------------------------------------------------------------------===//

static RowBlockOpInterface getMaker(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto maker = result ? dyn_cast<RowBlockOpInterface>(result.getOwner())
                      : RowBlockOpInterface();
  return maker && maker.hasRowBlocks(result.getResultNumber()) ? maker
                                                               : nullptr;
}

Value BlockBuilder::slice(OpBuilder &builder, Value value, int64_t begin,
                          int64_t end) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = end - begin;
  auto attributes = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1);
  offsets.front() = begin;
  return tensor::ExtractSliceOp::create(
      builder, value.getLoc(), type.clone(shape), value, attributes(offsets),
      attributes(shape), attributes(strides));
}

/// Made in blocks at `place`, a value is not whole in the meantime, but what
/// its maker reads lives up to there.
bool BlockBuilder::isBetterInBlocks(Value value, Operation *place) {
  RowBlockOpInterface maker = getMaker(value);
  if (!maker || maker->getBlock() != place->getBlock() || !value.hasOneUse())
    return false;
  int64_t longer = 0;
  for (Value operand : maker->getOperands()) {
    Value root = getRoot(operand);
    if (root.getDefiningOp<LoadOp>())
      return false;
    Operation *last = lastUses.lookup(root);
    if (root.getDefiningOp() && last && order[last] < order[place])
      longer += tensorBytes(root.getType());
  }
  return longer < tensorBytes(value.getType());
}

Value BlockBuilder::build(OpResult value, int64_t begin, int64_t end,
                          Operation *place) {
  OpBuilder builder(place);
  Operation *maker = value.getOwner();
  return getMaker(value).buildRowBlock(
      builder, value.getResultNumber(), begin, end, [&](unsigned operand) {
        Value whole = maker->getOperand(operand);
        return isBetterInBlocks(whole, place)
                   ? build(cast<OpResult>(whole), begin, end, place)
                   : slice(builder, whole, begin, end);
      });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static BlockOptions getBlockOptions(GradientOp gradient, TrainingAttr training,
                                    const Settings &settings) {
  BlockOptions options;
  options.bucketElements = settings.bucketElements;
  if (training.getStage() == 2 && settings.contiguous)
    return options;
  // Segments end where blocks do. At least 16 bytes a rank, as collectives
  // want them.
  Type type = cast<RankedTensorType>(gradient.getValue().getType());
  int64_t least = 16 * 8 / getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  int64_t slices =
      getMesh(gradient->getParentOfType<ModuleOp>(), training).slices();
  options.units = {slices * least};
  if (training.getStage() < 3) {
    options.units.insert(options.units.begin(), slices * settings.alignment);
    if (settings.alignment < least)
      options.units.pop_back();
  }
  return options;
}

/// Erases `op` if nothing needs it, and then what only it needed. What is
/// needed in part may become cheaper.
static void eraseIfDead(Operation *op) {
  llvm::SetVector<Operation *> dead;
  dead.insert(op);
  while (!dead.empty()) {
    Operation *next = dead.pop_back_val();
    if (!isOpTriviallyDead(next)) {
      OpBuilder builder(next);
      if (auto maker = dyn_cast<RowBlockOpInterface>(next))
        maker.dropUnusedResults(builder);
      continue;
    }
    for (Value operand : next->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        dead.insert(maker);
    next->erase();
  }
}

/// Whether nothing but `user` reads `value`, itself or through views.
static bool isReadByOnly(Value value, Operation *user) {
  return value.hasOneUse() &&
         (*value.user_begin() == user ||
          (getView(*value.user_begin()) &&
           isReadByOnly(value.user_begin()->getResult(0), user)));
}

static void split(GradientOp gradient, TrainingAttr training,
                  const Settings &settings, BlockBuilder &builder) {
  Value value = getRoot(gradient.getValue());
  auto keepWhole = [&](const Twine &why) {
    emitRemark(gradient.getLoc())
        << "the gradient of " << gradient.getParameterAttr() << ", "
        << cast<RankedTensorType>(value.getType()).getNumElements()
        << " elements, is made whole, although a bucket has "
        << settings.bucketElements << ": " << why;
  };
  auto type = cast<RankedTensorType>(gradient.getValue().getType());
  if (tensorBytes(value.getType()) != tensorBytes(type))
    return keepWhole("it is a part of a larger value");
  if (!getMaker(value))
    return keepWhole("the operation that makes it has no blocks of rows, which "
                     "RowBlockOpInterface would give it");
  if (!isReadByOnly(value, gradient))
    return keepWhole("it is read elsewhere, too");
  Rows rows(value);
  if (rows.elements > settings.bucketElements)
    return keepWhole("a row of it has " + Twine(rows.elements));
  if (type.getNumElements() / settings.bucketElements >= kMostBuckets)
    return keepWhole("it would be more than " + Twine(kMostBuckets) +
                     " blocks; raise the bucket size");
  SmallVector<int64_t> ends = cutIntoBlocks(
      rows.count, rows.elements, getBlockOptions(gradient, training, settings));
  if (ends.empty())
    return keepWhole(
        "no number of its rows that fits splits evenly over " +
        Twine(
            getMesh(gradient->getParentOfType<ModuleOp>(), training).slices()) +
        " ranks");
  Operation *maker = value.getDefiningOp();
  int64_t begin = 0;
  for (int64_t end : ends) {
    Value block = builder.build(cast<OpResult>(value), begin, end, maker);
    OpBuilder after(maker);
    GradientOp::create(after, gradient.getLoc(), block.getType(),
                       gradient.getParameterAttr(),
                       after.getI64IntegerAttr(begin * rows.elements),
                       after.getI64IntegerAttr(end * rows.elements), block);
    begin = end;
  }
  Operation *last = gradient.getValue().getDefiningOp();
  gradient.erase();
  eraseIfDead(last);
}

/// Erases the kernels that only whole gradients were made by.
static void eraseUnusedKernels(ModuleOp module) {
  SymbolTableCollection tables;
  SymbolUserMap users(tables, module);
  for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (kernel.isPrivate() && users.useEmpty(kernel))
      kernel.erase();
}

Settings SplitGradients::getSettings(PlanningAttr planning) {
  return {getSetting(reduceBucketSize, planning.getReduceBucketSize()),
          getSetting(alignment, planning.getAlignment()),
          contiguous || planning.getContiguous()};
}

/// Nothing travels of what one rank has alone, which is stored whole; and
/// stages of a pipeline have what they share in the same segments, though one
/// of them may make no blocks of it.
static bool isMadeWhole(ParameterOp parameter, const MeshAxes &mesh,
                        TrainingAttr training) {
  AxesAttr over = mesh.all.without(parameter.getCutAxes(mesh.ranks));
  return parameter.getStages() || training.isSilent(over.getSize());
}

void SplitGradients::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  TrainingAttr training = *step->getTraining();
  // Where gradients are stored whole, they are made in their place.
  if (!scattersInBackward(training))
    return;
  Block &block = step->getRegionOp<MicroOp>().getBody().front();
  Settings settings = getSettings(training.getPlanning());
  const MeshAxes mesh = getMesh(getOperation(), training);
  SymbolTable symbols(getOperation());
  SmallVector<GradientOp> large;
  for (auto gradient : block.getOps<GradientOp>())
    if (auto type = cast<RankedTensorType>(gradient.getValue().getType());
        !gradient.isBlock() && gradient->use_empty() &&
        type.getNumElements() > settings.bucketElements &&
        !isMadeWhole(
            symbols.lookup<ParameterOp>(gradient.getParameterAttr().getAttr()),
            mesh, training))
      large.push_back(gradient);
  BlockBuilder builder(block, Handles(*step));
  for (GradientOp gradient : large)
    split(gradient, training, settings, builder);
  if (!large.empty())
    eraseUnusedKernels(getOperation());
}
