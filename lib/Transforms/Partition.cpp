//===- Partition.cpp - decide who owns which slice of which state ---------===//

#include "zero/Analysis/Averages.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/PartitionLayout.h"
#include "zero/Analysis/Persistence.h"
#include "zero/Analysis/Quantization.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Transforms/Passes.h"

#include "StateTiers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "program/ByteCount.h"
#include "program/Control.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <set>
#include <string>

namespace mlir::zero {
#define GEN_PASS_DEF_PARTITION
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

/// A rank's slice of what is gathered is a multiple of these bytes.
static constexpr int64_t kGatherBytes = 16;

namespace {

/// Parameters that share a partition, in declaration order.
struct Group {
  SmallVector<ParameterOp> parameters;
  /// Positions of their gradients in the backward; empty where untrained.
  SmallVector<unsigned> ready;
  /// The type of their gradients; null where untrained.
  Type gradientType;
  /// Where their gradients' blocks end; empty for those made whole.
  SmallVector<SmallVector<int64_t>> blocks;
  Attribute optimizer;
  MemoryTier parameterTier = MemoryTier::Device;
  /// How slices are stored; null: as they are.
  QuantizationAttr quantization;
  /// The axes that the parameters themselves are cut over; null: none.
  AxesAttr parts;
  /// The axes that gradients are reduced over, and states cut: those of the
  /// mesh without these.
  AxesAttr over, cut;
  /// Of a pipeline, those that have the one parameter; null: only this one.
  DenseI64ArrayAttr stages;
};

struct Partition : public zero::impl::PartitionBase<Partition> {
  using PartitionBase::PartitionBase;
  void runOnOperation() override;
};

/// What decides about segments, from options and training.
struct Settings {
  int64_t bucketElements, alignment;
  bool contiguous, splitMaster;
};

/// Cuts the parameters of one module.
class Partitioner {
public:
  Partitioner(ModuleOp module, StepOp step, Settings settings)
      : module(module), step(step), training(*step.getTraining()),
        settings(settings), mesh(getMesh(module, training)) {}
  LogicalResult run();

private:
  LogicalResult addLoad(LoadOp load);
  LogicalResult collectUses();
  LogicalResult collectGroups();
  LogicalResult verifyCount();
  LogicalResult verifySize(const Group &group);
  LogicalResult verifyIntervals(const Group &group, int64_t elements);
  LogicalResult verifyTraffic(int64_t elements);
  LogicalResult verifyTiers();
  void placeStates(PartitionOp partition);
  void createPartition(const Group &group, Type computeType, unsigned index);
  int64_t unitBytes(const Group &group) const;
  QuantizationAttr chooseQuantization(ParameterOp parameter, Type type);
  Group makeGroup(AxesAttr parts);
  LayoutKind chooseLayout(const Group &group);
  FlatLayout layOut(LayoutKind layout, const Group &group, Type computeType);

  ModuleOp module;
  StepOp step;
  TrainingAttr training;
  Settings settings;
  MeshAxes mesh;
  /// From a parameter to its compute type, and to its gradient's type and
  /// position.
  DenseMap<StringAttr, Type> computeTypes, gradientTypes;
  DenseMap<StringAttr, unsigned> readiness;
  /// Boundaries between chunks of a stage that stand before the gradient.
  DenseMap<StringAttr, unsigned> passes;
  DenseMap<StringAttr, SmallVector<int64_t>> blockEnds;
  /// Parameters of which ranks keep whole copies; asked for where what is not
  /// trained is quantized.
  llvm::SetVector<StringAttr> persistent;
  /// By optimizer group (of averages, what moves them; null: untrained),
  /// compute type, tier and quantization of parameters, and the axes that they
  /// are cut over, in order.
  /// One that several stages of a pipeline have is a group by itself, so that
  /// all of them lay it out alike. Each chunk of a stage has groups of its own,
  /// whose gradients are ready in one pass.
  llvm::MapVector<std::tuple<Attribute, Type, int, QuantizationAttr, AxesAttr,
                             StringAttr, unsigned>,
                  Group>
      groups;
  ParameterTiers tiers{OffloadAttr(), 1};
  /// The names of all states.
  std::set<std::string> states;
};

} // namespace

/// A partition stores a parameter in one type.
LogicalResult Partitioner::addLoad(LoadOp load) {
  Type type = load.getType().getElementType();
  auto [known, isNew] =
      computeTypes.try_emplace(load.getParameterAttr().getAttr(), type);
  if (known->second == type)
    return success();
  return load.emitOpError("reads ")
         << load.getParameterAttr() << " as " << type
         << ", and an earlier one as " << known->second
         << ": load it with one type, and convert with arith.extf or "
            "arith.truncf";
}

/// A gradient in blocks is ready with its last one; blocks come in order.
LogicalResult Partitioner::collectUses() {
  bool isWhole = !scattersInBackward(training);
  unsigned position = 0, pass = 0;
  WalkResult walk = step.walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op); load && failed(addLoad(load)))
      return WalkResult::interrupt();
    pass += isa<StageBoundaryOp>(op);
    auto gradient = dyn_cast<GradientOp>(op);
    if (!gradient)
      return WalkResult::advance();
    StringAttr name = gradient.getParameterAttr().getAttr();
    readiness[name] = position++;
    gradientTypes[name] =
        cast<RankedTensorType>(gradient.getValue().getType()).getElementType();
    passes[name] = pass;
    if (!gradient.isBlock())
      return WalkResult::advance();
    if (isWhole) {
      gradient.emitOpError("is a block of ")
          << gradient.getParameterAttr() << ", and stage "
          << training.getStage() << " on " << training.getRanks()
          << " ranks stores gradients whole; run zero-split-gradients with the "
             "training of this step";
      return WalkResult::interrupt();
    }
    SmallVector<int64_t> &ends = blockEnds[name];
    auto [begin, end] = gradient.getElements();
    int64_t wanted = ends.empty() ? 0 : ends.back();
    ends.push_back(end);
    if (begin == wanted)
      return WalkResult::advance();
    gradient.emitOpError("begins at element ")
        << begin << " of " << gradient.getParameterAttr() << ", wanted "
        << wanted << ": blocks come in order";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

Group Partitioner::makeGroup(AxesAttr parts) {
  Group group;
  group.parts = parts;
  group.over = mesh.all.without(parts);
  group.cut = mesh.cut.without(parts);
  return group;
}

/// How slices of `parameter` are stored: what is trained, not sharded, or whole
/// on every rank besides, as it is.
QuantizationAttr Partitioner::chooseQuantization(ParameterOp parameter,
                                                 Type type) {
  StringAttr name = parameter.getSymNameAttr();
  if (readiness.count(name) || persistent.contains(name) ||
      chooseLayout(makeGroup({})) != LayoutKind::Parameter)
    return {};
  const int64_t slice =
      llvm::divideCeilSigned(parameter.getElements(), mesh.slices());
  return getStoredQuantization(
      training.getPlanning(),
      llvm::alignTo(slice, kGatherBytes * 8 / type.getIntOrFloatBitWidth()));
}

LogicalResult Partitioner::collectGroups() {
  llvm::StringMap<Attribute> optimizers;
  for (OptimizerOp optimizer : module.getOps<OptimizerOp>())
    optimizers[optimizer.getGroup()] = optimizer.getOptimizer();
  PlanningAttr planning = training.getPlanning();
  if (planning.getQuantizedFrozen())
    persistent =
        getPersistentParameters(module, planning.getParamPersistenceThreshold(),
                                planning.getModelPersistenceThreshold(),
                                [](ParameterOp) { return true; });
  // Sharded parameters may be elsewhere.
  if (chooseLayout(makeGroup({})) == LayoutKind::Parameter)
    tiers = ParameterTiers(planning.getOffload(), mesh.slices());
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    StringAttr name = parameter.getSymNameAttr();
    Type type = computeTypes.lookup(name);
    if (!type)
      type = parameter.getTensorType().getElementType();
    bool trained = readiness.count(name);
    Attribute optimizer = parameter.getAverage()
                              ? getAverageUpdate(parameter, training)
                              : optimizers.lookup(parameter.getGroup());
    if (trained && !optimizer)
      return parameter.emitOpError("is in the group '")
             << parameter.getGroup() << "', which has no 'zero.optimizer'";
    Attribute key;
    if (trained)
      key = parameter.getAverage() ? optimizer : parameter.getGroupAttr();
    QuantizationAttr quantization = chooseQuantization(parameter, type);
    MemoryTier tier = tiers.choose(parameter, type, quantization);
    AxesAttr parts = parameter.getCutAxes(mesh.ranks);
    Group &group =
        groups
            .try_emplace({key, type, static_cast<int>(tier), quantization,
                          parts, parameter.getStages() ? name : nullptr,
                          passes.lookup(name)},
                         makeGroup(parts))
            .first->second;
    group.parameters.push_back(parameter);
    group.stages = parameter.getStagesAttr();
    group.quantization = quantization;
    group.parameterTier = tier;
    if (trained) {
      group.ready.push_back(readiness.lookup(name));
      SmallVector<int64_t> ends = blockEnds.lookup(name);
      if (!ends.empty() && ends.back() != parameter.getElements())
        return parameter.emitOpError("has a gradient of its first ")
               << ends.back() << " elements, wanted all "
               << parameter.getElements();
      group.blocks.push_back(ends);
      group.optimizer = optimizer;
      group.gradientType = gradientTypes.lookup(name);
    }
  }
  return success();
}

/// What a rank sends in an update is counted in 64 bits, in parts of an
/// element, each 1/ranks of it. Three times the padded elements a micro-batch
/// are usual, but a parameter may be gathered for each use.
LogicalResult Partitioner::verifyTraffic(int64_t elements) {
  constexpr int64_t kTimes = 16;
  int64_t ranks = training.getRanks(), sent = elements;
  if (ranks == 1 ||
      (!llvm::MulOverflow(sent, kTimes, sent) &&
       !llvm::MulOverflow(sent, ranks, sent) &&
       !llvm::MulOverflow(sent, training.getAccumulation(), sent)))
    return success();
  return emitError(step.getLoc())
         << "up to " << elements << " padded elements over " << ranks
         << " ranks and "
         << zrt::plural(training.getAccumulation(), "micro-batch", "es")
         << " send more than 64 bits count; give fewer ranks, or "
            "lower the alignment, "
         << settings.alignment;
}

/// A plan has operations for each interval.
LogicalResult Partitioner::verifyIntervals(const Group &group,
                                           int64_t elements) {
  int64_t size = std::max(settings.bucketElements,
                          settings.alignment * training.getRanks());
  if (chooseLayout(group) != LayoutKind::Interval ||
      elements / size < kMostBuckets)
    return success();
  return emitError(step.getLoc())
         << elements << " elements in intervals of " << size
         << " are more than the " << kMostBuckets
         << " that a plan may have; raise the bucket size (reduce_bucket_size) "
            "to at least "
         << elements / kMostBuckets + 1;
}

/// What a rank's slice of a parameter is padded to: what a gather wants, or in
/// files, where that is little of each, what a disk reads past the system's
/// cache. Where something is quantized, blocks begin with slices, and files
/// would change what is computed.
int64_t Partitioner::unitBytes(const Group &group) const {
  constexpr int64_t kLeastBlocks = 16;
  PlanningAttr planning = training.getPlanning();
  if (group.parameterTier != MemoryTier::File || group.quantization ||
      planning.getQuantizedWeights() || planning.getQuantizedGradients())
    return kGatherBytes;
  return planning.getOffload().getFiles().getLeastBytes() >=
                 kLeastBlocks * kFileAlignment
             ? kFileAlignment
             : kGatherBytes;
}

/// Offsets and places are 64 bits, padding included. An upper bound will do:
/// every member, and the whole once more, padded by one unit and doubled by
/// intervals.
LogicalResult Partitioner::verifySize(const Group &group) {
  if (settings.alignment < 1)
    return emitError(step.getLoc())
           << "found alignment " << settings.alignment << ", wanted 1 or more";
  // Eight bytes an element: more than any state has.
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / 8;
  // A gather pads a rank's slice to 16 bytes, at most 16 elements, and in files
  // to a block of a disk.
  int64_t unit = std::max<int64_t>(settings.alignment, unitBytes(group)),
          elements = 0;
  bool overflows = llvm::MulOverflow(unit, training.getRanks(), unit);
  for (ParameterOp parameter : group.parameters) {
    overflows |= llvm::AddOverflow(elements, parameter.getElements(), elements);
    overflows |= llvm::AddOverflow(elements, unit, elements);
  }
  overflows |= llvm::AddOverflow(elements, unit, elements);
  if (!overflows && elements <= most / 2)
    return failed(verifyIntervals(group, elements)) ? failure()
                                                    : verifyTraffic(elements);
  return emitError(step.getLoc())
         << "parameters padded to multiples of alignment " << settings.alignment
         << " for each of " << training.getRanks()
         << " ranks have no 64-bit addresses; lower the alignment";
}

LayoutKind Partitioner::chooseLayout(const Group &group) {
  switch (training.isSilent(group.over.getSize()) ? 0 : training.getStage()) {
  case 0:
    return LayoutKind::Whole;
  case 1:
    if (!group.optimizer)
      return LayoutKind::Whole;
    // The boundaries of intervals cut gradients: a bucket that ends at one has
    // no memory of its own without a copy.
    return scattersInBackward(training) ? LayoutKind::Bucketed
                                        : LayoutKind::Interval;
  case 2:
    if (!group.optimizer)
      return LayoutKind::Whole;
    return settings.contiguous ? LayoutKind::Contiguous : LayoutKind::Bucketed;
  default:
    return LayoutKind::Parameter;
  }
}

FlatLayout Partitioner::layOut(LayoutKind layout, const Group &group,
                               Type computeType) {
  LayoutOptions options;
  options.slices = group.cut.getSize();
  options.alignment = settings.alignment;
  options.bucketElements = settings.bucketElements;
  SmallVector<int64_t> sizes;
  for (ParameterOp parameter : group.parameters)
    sizes.push_back(parameter.getElements());
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, sizes.size()));
  if (group.optimizer)
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return group.ready[a] < group.ready[b];
    });
  // A gather wants 16 bytes a rank, whatever the alignment of buckets.
  int64_t gatherUnit =
      unitBytes(group) * 8 / computeType.getIntOrFloatBitWidth();
  switch (layout) {
  case LayoutKind::Whole:
    return layOutBuckets(sizes, order, options, /*owned=*/false);
  case LayoutKind::Interval:
    return layOutIntervals(sizes, options);
  case LayoutKind::Bucketed:
    return layOutBuckets(sizes, order, options, /*owned=*/true, group.blocks);
  case LayoutKind::Contiguous:
    return layOutContiguous(sizes, options);
  case LayoutKind::Parameter:
    return layOutParameters(sizes, order, options.slices, gatherUnit,
                            group.blocks);
  }
  llvm_unreachable("all layouts are covered");
}

void Partitioner::createPartition(const Group &group, Type computeType,
                                  unsigned index) {
  LayoutKind layout = chooseLayout(group);
  FlatLayout flat = layOut(layout, group, computeType);
  SmallVector<Attribute> members;
  for (auto [member, offset] : llvm::zip_equal(flat.order, flat.offsets)) {
    ParameterOp parameter = group.parameters[member];
    members.push_back(MemberAttr::get(
        step.getContext(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()),
        offset, parameter.getElements()));
  }
  OpBuilder builder(step);
  // Sums over micro-batches are f32; a single one is stored as it is computed.
  const Type wireType = group.gradientType ? group.gradientType : computeType;
  Type gradientType =
      training.getAccumulation() > 1 ? builder.getF32Type() : wireType;
  std::string name = "p" + std::to_string(index);
  while (SymbolTable::lookupSymbolIn(module, name))
    name += "_";
  auto partition = PartitionOp::create(
      builder, step.getLoc(), name, layout, group.over, group.cut, group.parts,
      training.getStage(), flat.segments, builder.getArrayAttr(members),
      computeType, gradientType,
      wireType == computeType ? TypeAttr() : TypeAttr::get(wireType),
      group.parameterTier, group.quantization,
      settings.splitMaster && group.optimizer && computeType.isBF16(),
      group.optimizer, /*states=*/ArrayAttr(),
      /*errors=*/DenseI64ArrayAttr(), group.stages, /*at=*/DictionaryAttr());
  if (group.optimizer)
    placeStates(partition);
  SmallVector<int64_t> errors = getErrors(training.getPlanning(), partition);
  if (!errors.empty())
    partition.setErrors(errors);
}

void Partitioner::placeStates(PartitionOp partition) {
  for (StateAttr state : partition.getStateRange())
    states.insert(state.getName().str());
  partition.setStatesAttr(chooseTiers(partition, training.getPlanning()));
}

LogicalResult Partitioner::verifyTiers() {
  DictionaryAttr tiers = training.getPlanning().getStateTiers();
  if (!tiers)
    return success();
  for (NamedAttribute entry : tiers)
    if (!states.count(entry.getName().str()))
      return emitError(step.getLoc())
             << "the tier of '" << entry.getName().getValue()
             << "' is given, which no optimizer of this step keeps; wanted "
             << (states.empty() ? "no tier, since they keep nothing"
                                : "states of " + llvm::join(states, ", "));
  return success();
}

LogicalResult Partitioner::verifyCount() {
  if (groups.size() <= zrt::kMaxGroups)
    return success();
  return emitError(step.getLoc())
         << "found " << groups.size()
         << " partitions (one for each optimizer group and compute type, and "
            "for what is not trained), wanted at most "
         << zrt::kMaxGroups << "; give parameters fewer groups";
}

/// Where what is not trained is to be quantized, and nothing is.
static void remarkOnQuantization(ModuleOp module, StepOp step) {
  QuantizationAttr quantization =
      step.getTraining()->getPlanning().getQuantizedFrozen();
  if (!quantization ||
      llvm::any_of(module.getOps<PartitionOp>(), [](PartitionOp partition) {
        return partition.getQuantized().has_value();
      }))
    return;
  emitRemark(step.getLoc(),
             "no weight is stored quantized: each is trained, "
             "or persistent, or a rank has less than a block of ")
      << quantization.getBlock()
      << " elements of it; freeze parameters, or lower "
         "zero.quantization_block or stage3_param_persistence_threshold";
}

LogicalResult Partitioner::run() {
  if (failed(verifyMesh(module, training)))
    return failure();
  for (PartitionOp known : module.getOps<PartitionOp>())
    return known.emitOpError("is there already; parameters are cut once");
  if (failed(collectUses()))
    return failure();
  if (failed(collectGroups()) || failed(verifyCount()))
    return failure();
  for (auto &[key, group] : groups)
    if (failed(verifySize(group)))
      return failure();
  unsigned index = 0;
  for (auto &[key, group] : groups)
    createPartition(group, std::get<Type>(key), index++);
  remarkOnFiles(module, step, tiers.getTooLarge());
  remarkOnQuantization(module, step);
  return verifyTiers();
}

void Partition::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  PlanningAttr planning = step->getTraining()->getPlanning();
  Settings settings{
      getSetting(reduceBucketSize, planning.getReduceBucketSize()),
      getSetting(alignment, planning.getAlignment()),
      contiguous || planning.getContiguous(),
      splitMaster || planning.getSplitMaster()};
  if (failed(Partitioner(getOperation(), *step, settings).run()))
    signalPassFailure();
}
