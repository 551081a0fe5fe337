//===- InsertGathers.cpp - stage 3: bring parameters together -------------===//

#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Persistence.h"
#include "zero/Analysis/Quantization.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_INSERTGATHERS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Uses of one parameter that one gather serves.
struct UseGroup {
  LoadOp load;
  SmallVector<OpOperand *> uses;
};

struct InsertGathers : public zero::impl::InsertGathersBase<InsertGathers> {
  using InsertGathersBase::InsertGathersBase;
  void runOnOperation() override;
};

/// The sharded parameters of one module.
struct Sharded {
  /// Parameters of at most `most` elements stay whole, as long as together they
  /// have at most `mostTogether`.
  Sharded(ModuleOp module, int64_t most, int64_t mostTogether);
  /// Those that do not stay whole, with their elements.
  DenseMap<StringAttr, int64_t> gathered;
  SmallVector<Attribute> resident;
};

/// The uses of one block's loads, in order, cut into groups.
class UseGroups {
public:
  UseGroups(Block &block, const DenseMap<StringAttr, int64_t> &sharded,
            int64_t maxReuseDistance);
  /// By the operation that uses the group first.
  llvm::MapVector<Operation *, SmallVector<UseGroup>> groups;
  SmallVector<LoadOp> loads;

private:
  void rematerialiseViews(LoadOp load);
  void addUse(OpOperand &use, LoadOp load, int64_t distance, bool isFirst);
};

} // namespace

//===----------------------------------------------------------------------===//
// UseGroups
//===----------------------------------------------------------------------===//

/// Gives every user of a view of `load` a view of its own, so that a view made
/// in the forward does not keep the parameter until the backward.
void UseGroups::rematerialiseViews(LoadOp load) {
  SmallVector<Operation *> views;
  for (Operation *user : load->getUsers())
    if (getView(user) && !isa<GradientOp>(user))
      views.push_back(user);
  while (!views.empty()) {
    Operation *view = views.pop_back_val();
    for (OpOperand &use :
         llvm::make_early_inc_range(view->getResult(0).getUses())) {
      OpBuilder builder(use.getOwner());
      Operation *own = builder.clone(*view);
      use.set(own->getResult(0));
      if (getView(use.getOwner()) && !isa<GradientOp>(use.getOwner()))
        views.push_back(use.getOwner());
    }
    view->erase();
  }
}

UseGroups::UseGroups(Block &block, const DenseMap<StringAttr, int64_t> &sharded,
                     int64_t maxReuseDistance) {
  for (LoadOp load : block.getOps<LoadOp>())
    if (!load.getSource() && sharded.count(load.getParameterAttr().getAttr()))
      loads.push_back(load);
  for (LoadOp load : loads)
    rematerialiseViews(load);

  // Elements of parameters used up to a parameter's latest use, and its group.
  struct Latest {
    int64_t used;
    Operation *first;
    size_t group;
  };
  DenseMap<StringAttr, Latest> latest;
  int64_t used = 0;
  for (Operation &op : block) {
    for (OpOperand &operand : op.getOpOperands()) {
      auto load = operand.get().getDefiningOp<LoadOp>();
      if (!load || load.getSource())
        continue;
      StringAttr name = load.getParameterAttr().getAttr();
      auto elements = sharded.find(name);
      if (elements == sharded.end())
        continue;
      auto found = latest.find(name);
      bool near = found != latest.end() &&
                  (used == found->second.used ||
                   used - found->second.used < maxReuseDistance);
      if (!near) {
        auto &atOp = groups[&op];
        atOp.push_back({load, {}});
        latest[name] = {0, &op, atOp.size() - 1};
      } else if (found->second.used != used) {
        used += elements->second;
      }
      if (!near)
        used += elements->second;
      Latest &current = latest[name];
      current.used = used;
      groups[current.first][current.group].uses.push_back(&operand);
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// What is stored quantized is gathered for each use: a whole copy would hold
/// it unpacked.
Sharded::Sharded(ModuleOp module, int64_t most, int64_t mostTogether) {
  PartitionTable partitions(module);
  auto isSharded = [&](ParameterOp parameter) {
    PartitionOp partition = partitions.getPartition(parameter.getSymNameAttr());
    return partition && partition.hasShardedParameters();
  };
  llvm::SetVector<StringAttr> persistent = getPersistentParameters(
      module, most, mostTogether, [&](ParameterOp parameter) {
        return isSharded(parameter) &&
               !partitions.getPartition(parameter.getSymNameAttr())
                    .getQuantized();
      });
  for (StringAttr name : persistent)
    resident.push_back(FlatSymbolRefAttr::get(name));
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (isSharded(parameter) &&
        !persistent.contains(parameter.getSymNameAttr()))
      gathered[parameter.getSymNameAttr()] = parameter.getElements();
}

namespace {

/// Gives each group of uses of one block its gather.
class Gathers {
public:
  /// With `secondary`, gathers of a parameter after its first in the block are
  /// over these axes, of slices that are cut after the first. Others are
  /// quantized as `planning` says.
  Gathers(const PartitionTable &partitions, AxesAttr secondary,
          PlanningAttr planning)
      : partitions(partitions), secondary(secondary), planning(planning) {}
  void insert(UseGroups &uses);

private:
  /// What gathers that travel together share.
  struct Kind {
    /// Of slices that were cut after the first gather.
    bool isAgain = false;
    QuantizationAttr quantization;
    /// The axes that slices are gathered over.
    AxesAttr cut;
    bool operator==(const Kind &other) const {
      return isAgain == other.isAgain && quantization == other.quantization &&
             cut == other.cut;
    }
    int getRank() const { return isAgain ? 2 : quantization ? 1 : 0; }
  };
  Kind kindOf(LoadOp load) const;
  void gather(Operation *op, ArrayRef<UseGroup *> groups, Kind kind);
  void keepSlice(OpBuilder &builder, LoadOp load);

  const PartitionTable &partitions;
  AxesAttr secondary;
  PlanningAttr planning;
  /// By parameter: its gathers that are to come, and this rank's slice.
  DenseMap<StringAttr, int64_t> left;
  DenseMap<StringAttr, Value> slices;
};

} // namespace

static StringAttr nameOf(LoadOp load) {
  return load.getParameterAttr().getAttr();
}

void Gathers::keepSlice(OpBuilder &builder, LoadOp load) {
  auto [begin, end] = partitions.getSegmentsOf(nameOf(load));
  auto type = RankedTensorType::get({(end - begin) / secondary.getSize()},
                                    load.getType().getElementType());
  slices[nameOf(load)] = SecondarySliceOp::create(
      builder, load.getLoc(), type, load.getParameterAttr(), load, secondary);
}

Gathers::Kind Gathers::kindOf(LoadOp load) const {
  if (slices.contains(nameOf(load)))
    return {/*isAgain=*/true, {}, {}};
  return {/*isAgain=*/false,
          getGatherQuantization(planning, partitions, nameOf(load)),
          partitions.getPartition(nameOf(load)).getCut()};
}

void Gathers::gather(Operation *op, ArrayRef<UseGroup *> groups, Kind kind) {
  const bool isAgain = kind.isAgain;
  OpBuilder builder(op);
  SmallVector<Attribute> names;
  SmallVector<Type> types;
  SmallVector<Value> sent;
  for (UseGroup *group : groups) {
    names.push_back(group->load.getParameterAttr());
    types.push_back(group->load.getType());
    if (isAgain)
      sent.push_back(slices.lookup(nameOf(group->load)));
  }
  auto gather = AllGatherOp::create(
      builder, op->getLoc(), PendingType::get(op->getContext(), types),
      builder.getArrayAttr(names), sent, isAgain ? secondary : AxesAttr(),
      kind.quantization, StreamKind::Gather);
  auto wait = WaitOp::create(builder, op->getLoc(), gather.getPending());
  for (auto [group, whole] : llvm::zip_equal(groups, wait.getResults())) {
    auto load = cast<LoadOp>(builder.clone(*group->load));
    load.getSourceMutable().assign(whole);
    for (OpOperand *use : group->uses)
      use->set(load);
    if (--left[nameOf(load)] > 0 && secondary && !isAgain)
      keepSlice(builder, load);
  }
}

void Gathers::insert(UseGroups &uses) {
  for (auto &[op, groups] : uses.groups)
    for (const UseGroup &group : groups)
      ++left[nameOf(group.load)];
  for (auto &[op, groups] : uses.groups) {
    SmallVector<std::pair<Kind, SmallVector<UseGroup *>>> kinds;
    for (UseGroup &group : groups) {
      const Kind kind = kindOf(group.load);
      auto found = llvm::find_if(
          kinds, [&](const auto &entry) { return entry.first == kind; });
      if (found == kinds.end()) {
        kinds.push_back({kind, {}});
        found = std::prev(kinds.end());
      }
      found->second.push_back(&group);
    }
    // What travels as it is goes first, what is gathered again last.
    llvm::stable_sort(kinds, [](const auto &a, const auto &b) {
      return a.first.getRank() < b.first.getRank();
    });
    for (auto &[kind, sent] : kinds)
      gather(op, sent, kind);
  }
}

static void gatherIn(Block &block, const DenseMap<StringAttr, int64_t> &sharded,
                     int64_t maxReuseDistance, Gathers gathers) {
  UseGroups uses(block, sharded, maxReuseDistance);
  gathers.insert(uses);
  for (LoadOp load : uses.loads)
    load.erase();
}

/// What is gathered over the same axes is gathered together.
static void refreshAtStart(StepOp step, ArrayRef<Attribute> resident,
                           const PartitionTable &partitions) {
  if (resident.empty() || step.getRegionOp<InitializeOp>())
    return;
  OpBuilder builder(step.getRegionOp<MicroOp>());
  auto initialize = InitializeOp::create(builder, step.getLoc());
  builder.setInsertionPointToStart(&initialize.getBody().emplaceBlock());
  llvm::MapVector<AxesAttr, SmallVector<Attribute>> byCut;
  for (Attribute name : resident)
    byCut[partitions.getPartition(cast<FlatSymbolRefAttr>(name).getAttr())
              .getCut()]
        .push_back(name);
  for (auto &[cut, names] : byCut) {
    auto refresh = RefreshResidentOp::create(
        builder, step.getLoc(), PendingType::get(step.getContext(), {}),
        builder.getArrayAttr(names), /*slices=*/ValueRange());
    WaitOp::create(builder, step.getLoc(), refresh.getPending());
  }
}

/// Weights that the plan quantizes, of which none travels so, are as they were.
static void remarkOnQuantization(StepOp step) {
  PlanningAttr planning = step.getTraining()->getPlanning();
  if (!planning.getQuantizedWeights())
    return;
  WalkResult walk = step.walk([](AllGatherOp gather) {
    return gather.getQuantized() ? WalkResult::interrupt()
                                 : WalkResult::advance();
  });
  if (!walk.wasInterrupted())
    emitRemark(step.getLoc(), "no weight is quantized: none of which a rank "
                              "has a block of ")
        << planning.getQuantizedWeights().getBlock()
        << " elements is gathered for its uses; lower zero.quantization_block "
           "or stage3_param_persistence_threshold";
}

void InsertGathers::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  PlanningAttr planning = step->getTraining()->getPlanning();
  Sharded sharded(getOperation(),
                  getSetting(parameterPersistenceThreshold,
                             planning.getParamPersistenceThreshold()),
                  getSetting(modelPersistenceThreshold,
                             planning.getModelPersistenceThreshold()));
  int64_t distance =
      getSetting(maxReuseDistance, planning.getMaxReuseDistance());
  PartitionTable partitions(getOperation());
  gatherIn(step->getRegionOp<MicroOp>().getBody().front(), sharded.gathered,
           distance,
           Gathers(partitions,
                   getMesh(getOperation(), *step->getTraining()).secondary,
                   planning));
  // A forward pass gathers each parameter once, as a rule.
  if (auto evaluate = step->getRegionOp<EvaluateOp>())
    gatherIn(evaluate.getBody().front(), sharded.gathered, distance,
             Gathers(partitions, /*secondary=*/{}, planning));
  refreshAtStart(*step, sharded.resident, partitions);
  remarkOnQuantization(*step);
}
