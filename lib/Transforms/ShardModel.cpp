//===- ShardModel.cpp - cut a model to what one rank computes -------------===//

#include "LocalExperts.h"
#include "LocalModel.h"
#include "LocalPlaces.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Dialect/NN/Counts.h"
#include "zero/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <memory>

namespace mlir::zero {
#define GEN_PASS_DEF_SHARDMODEL
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {
struct ShardModel : public zero::impl::ShardModelBase<ShardModel> {
  using ShardModelBase::ShardModelBase;

  void runOnOperation() override {
    SmallVector<AxesAttr> axes = listModelAxes(getOperation());
    if (axes.empty())
      return;
    if (failed(verifyAxes(axes)) || failed(verifyWhole()))
      return signalPassFailure();
    // Each axis cuts what the others have left. The one of all parameters comes
    // first: what positions are exchanged for is what it leaves on a rank, and
    // its sums are of a rank's own samples, before these go to experts.
    llvm::stable_sort(axes, [](AxesAttr a, AxesAttr b) {
      return a.getPartAxes() && !b.getPartAxes();
    });
    for (StepOp step : getOperation().getOps<StepOp>())
      if (step.isModel() && failed(shard(step, axes)))
        return signalPassFailure();
  }

private:
  LogicalResult verifyAxes(ArrayRef<AxesAttr> axes);
  LogicalResult verifyWhole();
  LogicalResult shard(StepOp step, ArrayRef<AxesAttr> axes);
  LogicalResult shard(StepOp step, AxesAttr over);
  LogicalResult shardExperts(StepOp step, AxesAttr over);
};
} // namespace

/// How a parameter is cut; null: it is whole.
using CutOf = llvm::function_ref<CutAttr(ParameterOp)>;

/// Cuts the parameters themselves, once all that reads them is rewritten.
static void cutParameters(ModuleOp module, CutOf cutOf) {
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (CutAttr cut = cutOf(parameter))
      parameter.addCut(cut);
}

static InFlightDiagnostic reportParameters(StepOp step, AxesAttr over,
                                           CutOf cutOf) {
  int64_t parameters = 0, cut = 0, elements = 0, cutElements = 0;
  for (ParameterOp parameter :
       step->getParentOfType<ModuleOp>().getOps<ParameterOp>()) {
    ++parameters;
    elements += parameter.getElements();
    if (!cutOf(parameter))
      continue;
    ++cut;
    cutElements += parameter.getElements();
  }
  return emitRemark(step.getLoc())
         << "over " << over << ' ' << cut << " of " << parameters
         << " parameters are cut, with " << cutElements << " of " << elements
         << " elements; what is left is whole on every rank of the "
            "axis";
}

/// Why the others are whole, with the largest of them for each reason.
static void reportWhole(InFlightDiagnostic &remark, StepOp step,
                        const Sharding &sharding) {
  using Reason = Sharding::WholeReason;
  struct Whole {
    Reason reason;
    StringRef text;
    int64_t count = 0;
    ParameterOp largest = {};
  };
  Whole wholes[] = {
      {Reason::Said, "the model or zero.sharding says so"},
      {Reason::Needed, "they have no dimension that can be cut"},
      {Reason::Cheap, "the exchanges would cost more than the cut saves"},
      {Reason::Excluded, "another dimension is cut where they are used"}};
  for (ParameterOp parameter :
       step->getParentOfType<ModuleOp>().getOps<ParameterOp>()) {
    if (sharding.cutOf(parameter))
      continue;
    const Reason reason = sharding.whyWhole(parameter);
    Whole &whole = *llvm::find_if(
        wholes, [&](const Whole &each) { return each.reason == reason; });
    ++whole.count;
    if (!whole.largest || whole.largest.getElements() < parameter.getElements())
      whole.largest = parameter;
  }
  for (Whole &whole : wholes)
    if (whole.count > 0)
      remark.attachNote(whole.largest.getLoc())
          << whole.count << " left whole: " << whole.text
          << "; the largest is @" << whole.largest.getSymName() << ", "
          << whole.largest.getElements() << " elements";
}

/// What is whole costs each rank the memory and the time of all positions.
static void reportPositions(const Sharding &sharding) {
  const int64_t ranks = sharding.getOver().getSize();
  for (Operation *op : sharding.getWhole()) {
    InFlightDiagnostic remark = emitRemark(op->getLoc());
    remark << "over " << sharding.getOver() << " every rank computes '"
           << op->getName() << "' of all positions, which it needs";
    std::optional<Sharding::OtherDim> other = sharding.findIndivisible(op);
    if (!other) {
      remark << ", and nothing else of it can be cut";
      continue;
    }
    remark << ": dimension " << other->dim << " of operand " << other->operand
           << " could be cut instead, but has " << other->size
           << " units that stay together for " << ranks << " ranks";
    if (other->isOneEach)
      remark << ", which beside another axis must have one each; give the axis "
             << other->size << " ranks";
    else
      remark << "; give the axis a divisor of " << other->size;
  }
}

/// Averages are means over samples, and not over positions.
static LogicalResult verifyTracked(StepOp step, AxesAttr over) {
  for (auto track : step.getBody().getOps<TrackOp>())
    return track.emitOpError("moves an average, which ")
           << over << " would count once a rank; leave the axis out";
  return success();
}

/// Means over elements that count become sums, over the number of those of all
/// ranks.
static void divideByCounts(StepOp step) {
  SmallVector<CountedMeanOpInterface> means;
  for (auto mean : step.getBody().getOps<CountedMeanOpInterface>())
    if (!mean.isSum())
      means.push_back(mean);
  for (CountedMeanOpInterface mean : means) {
    OpBuilder builder(mean);
    Value loss = mean->getResult(0);
    Value count = nn::buildCount(builder, mean.getLoc(), mean.getCounted(),
                                 cast<RankedTensorType>(loss.getType()));
    builder.setInsertionPointAfter(mean);
    auto quotient = arith::DivFOp::create(builder, mean.getLoc(), loss, count);
    loss.replaceAllUsesExcept(quotient, quotient);
    mean.makeSum();
  }
}

/// What gives `value`, and what only that reads, where nobody reads it.
static void eraseUnread(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  llvm::for_each(operands, eraseUnread);
}

namespace {
/// An operation that reads copies of what is shared, instead of `operands`.
struct Repeated {
  SharedOpInterface op;
  SmallVector<Value> operands, copies;

  /// Whether each rank reads some of the copies.
  bool isCut(const Sharding &sharding) {
    return sharding.isCut(op) && llvm::all_of(copies, [&](Value copy) {
             return !!sharding.cutOf(copy, op);
           });
  }
  void undo() {
    op->setOperands(operands);
    llvm::for_each(copies, eraseUnread);
  }
};
} // namespace

/// Where there are more ranks than what is shared, each rank may read one of as
/// many copies. An axis of parameters cuts what shares the only one instead. Of
/// what such an axis has left, a copy could not be told from a part.
static SmallVector<Repeated> repeatShared(StepOp step, AxesAttr over) {
  const int64_t ranks = over.getSize();
  SmallVector<Repeated> repeated;
  if (llvm::any_of(step->getParentOfType<ModuleOp>().getOps<ParameterOp>(),
                   [](ParameterOp parameter) { return !!parameter.getCuts(); }))
    return repeated;
  SmallVector<SharedOpInterface> found(
      step.getBody().getOps<SharedOpInterface>());
  for (SharedOpInterface op : found) {
    const int64_t shared = op.getShared();
    if (shared % ranks == 0 || ranks % shared != 0 ||
        op.getSharing() % ranks != 0 || (shared == 1 && !cutsPositions(over)))
      continue;
    OpBuilder builder(op);
    Repeated &each = repeated.emplace_back();
    each.op = op;
    llvm::append_range(each.operands, op->getOperands());
    each.copies = op.repeatShared(builder, ranks);
  }
  return repeated;
}

/// What is cut, with copies where ranks read parts of these.
static std::unique_ptr<Sharding> decide(StepOp step, AxesAttr over,
                                        bool cutRows) {
  SmallVector<Repeated> repeated = repeatShared(step, over);
  for (;;) {
    SmallVector<Value> copies;
    for (Repeated &each : repeated)
      llvm::append_range(copies, each.copies);
    auto sharding = std::make_unique<Sharding>(step, over, cutRows, copies);
    const size_t count = repeated.size();
    llvm::erase_if(repeated, [&](Repeated &each) {
      const bool isCut = each.isCut(*sharding);
      if (!isCut)
        each.undo();
      return !isCut;
    });
    if (repeated.size() == count)
      return sharding;
  }
}

/// Layers whose experts have places, and then those that sort all rows.
LogicalResult ShardModel::shardExperts(StepOp step, AxesAttr over) {
  PlaceSharding places(step, over);
  if (failed(places.verify()))
    return failure();
  LocalPlaces(step, places).run();
  ExpertSharding sorted(step, over);
  if (failed(sorted.verify(/*isNeeded=*/places.isEmpty())))
    return failure();
  auto cutOf = [&](ParameterOp parameter) {
    CutAttr cut = places.cutOf(parameter);
    return cut ? cut : sorted.cutOf(parameter);
  };
  (void)reportParameters(step, over, cutOf);
  LocalExperts(step, sorted).run();
  cutParameters(getOperation(), cutOf);
  return success();
}

LogicalResult ShardModel::verifyAxes(ArrayRef<AxesAttr> axes) {
  if (cutRows)
    for (AxesAttr axis : axes)
      if (cutsPositions(axis))
        return emitError(getOperation().getLoc())
               << "cannot cut rows over an axis 'tensor' beside " << axis
               << ", which cuts the positions; leave zero.cut_rows out";
  for (size_t i = 1; i < axes.size(); ++i)
    for (AxesAttr other : axes.take_front(i))
      if (!cutTogether(axes[i], other))
        return emitError(getOperation().getLoc())
               << "cannot cut a model over " << other << " and over " << axes[i]
               << " at once; give one of them 1 rank";
  return success();
}

LogicalResult ShardModel::verifyWhole() {
  for (ParameterOp parameter : getOperation().getOps<ParameterOp>())
    if (parameter.getCuts())
      return parameter.emitOpError("is cut already; give the model as it was "
                                   "before zero-shard-model");
  return success();
}

LogicalResult ShardModel::shard(StepOp step, AxesAttr over) {
  if (cutsExperts(over))
    return shardExperts(step, over);
  if (cutsPositions(over) && failed(verifyTracked(step, over)))
    return failure();
  const std::unique_ptr<Sharding> decided = decide(step, over, cutRows);
  const Sharding &sharding = *decided;
  if (failed(sharding.verify()))
    return failure();
  auto cutOf = [&](ParameterOp parameter) { return sharding.cutOf(parameter); };
  if (sharding.isOfSequence()) {
    reportPositions(sharding);
  } else {
    InFlightDiagnostic remark = reportParameters(step, over, cutOf);
    reportWhole(remark, step, sharding);
    if (cutRows)
      remark.attachNote() << "of " << sharding.countOfRows()
                          << " operations between what is cut each rank "
                             "computes some of the rows";
  }
  LocalModel(step, sharding).run();
  cutParameters(getOperation(), cutOf);
  return success();
}

LogicalResult ShardModel::shard(StepOp step, ArrayRef<AxesAttr> axes) {
  // Before ranks have ranges of what a loss is computed of.
  if (llvm::any_of(axes, cutsPositions))
    divideByCounts(step);
  for (AxesAttr axis : axes)
    if (failed(shard(step, axis)))
      return failure();
  return success();
}
