//===- Translate.cpp - a planned schedule as a program --------------------===//

#include "zero/Conversion/Translate.h"

#include "CommandBuilder.h"

#include "zero/Analysis/GivenGradients.h"
#include "zero/Analysis/PipelinePasses.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Traffic.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

class Translator {
public:
  Translator(ModuleOp module, StepOp step,
             DenseMap<Operation *, size_t> *firstCommands)
      : module(module), step(step), state(module),
        mesh(getMesh(module, *step.getTraining())),
        firstCommands(firstCommands) {}

  FailureOr<zrt::Program> run();

private:
  void translateTraining();
  void translatePartitions();
  LogicalResult translateParameters();
  bool hasNoLoss();
  void translateStoredTensors();
  void translateResidents();
  void translateInputs();
  void translateGiven(FlatSymbolRefAttr parameter, AtAttr place);
  zrt::Region &regionOf(Operation *op);
  LogicalResult translateRegions();
  void measureArenas();
  void computeTraffic();
  void reportMemory();

  ModuleOp module;
  StepOp step;
  StatePlaces state;
  MeshAxes mesh;
  DenseMap<Operation *, size_t> *firstCommands;
  zrt::Program program;
  KernelTable kernels;
  DenseMap<StringRef, int32_t> partitionNumbers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

void Translator::translateTraining() {
  TrainingAttr from = *step.getTraining();
  zrt::Training &to = program.training;
  program.name = step.getSymName().str();
  program.pretrained = step->hasAttr("zero.pretrained");
  to.stage = from.getStage();
  to.ranks = from.getRanks() * (mesh.model ? mesh.model.getSize() : 1);
  program.mesh = describeMesh(mesh);
  if (step.getRegionOp<ForwardOp>())
    program.pipeline = describePipeline(step, mesh);
  program.pipeline.group = numberOf(mesh.pipe, mesh, program.mesh);
  to.accumulation = from.getAccumulation();
  to.deterministic = from.getDeterministic();
  to.clip = from.getClip();
  if (LossScaleAttr scale = from.getLossScale()) {
    to.lossScale.kind = scale.getDynamic() ? zrt::LossScaleKind::Dynamic
                                           : zrt::LossScaleKind::Static;
    to.lossScale.initial = scale.getInitial();
    to.lossScale.minimum = scale.getMinimum();
    to.lossScale.window = scale.getWindow();
    to.lossScale.hysteresis = scale.getHysteresis();
    to.lossScale.consecutiveHysteresis = scale.getConsecutiveHysteresis();
  }
  if (ScheduleAttr schedule = from.getSchedule()) {
    to.schedule.kind = toRuntime(schedule.getType());
    to.schedule.warmupMin = schedule.getMin();
    to.schedule.warmupMax = schedule.getMax();
    to.schedule.warmupSteps = schedule.getWarmup();
    to.schedule.totalSteps = schedule.getTotal();
    to.schedule.logWarmup = schedule.getLog();
    to.schedule.warmupMinRatio = schedule.getWarmupMinRatio();
    to.schedule.cosineMinRatio = schedule.getCosMinRatio();
  }
  OffloadAttr offload = from.getPlanning().getOffload();
  if (FilesAttr files = offload ? offload.getFiles() : FilesAttr())
    program.files = {files.getFolder().str(),
                     static_cast<uint64_t>(files.getBlockBytes()),
                     static_cast<uint32_t>(files.getQueueDepth())};
}

//===----------------------------------------------------------------------===//
// Parameters and partitions
//===----------------------------------------------------------------------===//

static zrt::Optimizer toOptimizer(std::optional<Attribute> attribute) {
  zrt::Optimizer optimizer;
  if (!attribute)
    return optimizer;
  auto rule = cast<OptimizerAttrInterface>(*attribute);
  optimizer.name = rule.getTitle().str();
  optimizer.learningRate = rule.getLr();
  optimizer.weightDecay = rule.getWeightDecay();
  return optimizer;
}

static zrt::State toState(PartitionOp partition, StateAttr from,
                          const OptimizerState &description) {
  zrt::State to;
  to.name = from.getName().str();
  to.type = *toDataType(from.getType());
  to.start = description.start;
  to.constant = description.value;
  for (StateRangeAttr range : from.getRanges()) {
    auto [begin, end] = partition.getBounds(range);
    to.ranges.push_back({static_cast<uint64_t>(begin),
                         static_cast<uint64_t>(end),
                         toBufferRef(range.getAt())});
  }
  return to;
}

static zrt::Partition toPartition(PartitionOp from) {
  zrt::Partition to;
  to.name = from.getSymName().str();
  ArrayRef<int64_t> segments = from.getSegments();
  for (size_t i = 1; i < segments.size(); ++i)
    to.segments.push_back(
        {static_cast<uint64_t>(segments[i - 1]),
         static_cast<uint64_t>(segments[i] - segments[i - 1])});
  to.optimizer = toOptimizer(from.getOptimizer());
  to.trainable = from.isTrainable();
  to.shardedParameters = from.hasShardedParameters();
  to.shardedGradients = to.trainable && from.hasShardedGradients();
  to.shardedOptimizer = to.trainable && from.hasShardedOptimizer();
  to.computeType = *toDataType(from.getComputeType());
  to.gradientType = *toDataType(from.getGradientType());
  if (QuantizationAttr quantized = from.getQuantizedAttr())
    to.quantized = {quantized.getBits(), quantized.getBlock()};
  auto place = [&](StringRef name, zrt::BufferRef &ref) {
    if (auto at = from.getAt()->getAs<AtAttr>(name))
      ref = toBufferRef(at);
  };
  place("parameters", to.parameters);
  place("gradients", to.gradients);
  for (auto [state, description] :
       llvm::zip_equal(from.getStateRange(), from.describeStates()))
    to.states.push_back(toState(from, state, description));
  return to;
}

void Translator::translatePartitions() {
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    partitionNumbers[partition.getSymName()] = program.partitions.size();
    program.partitions.push_back(toPartition(partition));
    program.partitions.back().group =
        numberOf(partition.getCut(), mesh, program.mesh);
  }
}

static zrt::Initializer toInitializer(Attribute attribute) {
  using zrt::InitKind;
  return llvm::TypeSwitch<Attribute, zrt::Initializer>(attribute)
      .Case([](OnesAttr) { return zrt::Initializer{InitKind::Ones, 0, 0}; })
      .Case([](ConstantAttr value) {
        return zrt::Initializer{InitKind::Constant, value.getValue(), 0};
      })
      .Case([](NormalAttr normal) {
        return zrt::Initializer{InitKind::Normal, normal.getMean(),
                                normal.getStd()};
      })
      .Case([](UniformAttr uniform) {
        return zrt::Initializer{InitKind::Uniform, uniform.getLow(),
                                uniform.getHigh()};
      })
      .Default([](Attribute) { return zrt::Initializer{}; });
}

LogicalResult Translator::translateParameters() {
  for (ParameterOp from : module.getOps<ParameterOp>()) {
    PartitionOp partition = state.getPartition(from.getSymNameAttr());
    if (!partition)
      return from.emitOpError("is a member of no partition; remove it, or run "
                              "zero-partition on the model again");
    zrt::Parameter to;
    to.name = from.getSymName().str();
    RankedTensorType type = from.getFileType();
    to.shape = type.getShape().vec();
    for (CutAttr cut : from.getCutList())
      to.cuts.push_back({static_cast<uint32_t>(cut.getDim()), cut.getRepeats(),
                         cut.getPieces().vec(),
                         numberOf(cut.getOver(), mesh, program.mesh)});
    to.padding = from.getWholeType().getNumElements() - type.getNumElements();
    to.modelType = *toDataType(from.getTensorType().getElementType());
    to.computeType = *toDataType(partition.getComputeType());
    to.init = toInitializer(from.getInit());
    to.trainable = partition.isTrainable();
    to.partition = partitionNumbers.lookup(partition.getSymName());
    // What a partition trains is of one group.
    if (to.trainable && !from.getAverage())
      program.partitions[to.partition].optimizer.group = from.getGroup().str();
    to.memberOffset = state.getMember(from.getSymNameAttr()).getOffset();
    if (partition.getQuantized())
      to.packedOffset = state.getPackedOffset(partition, to.memberOffset);
    to.location = describeLocation(from);
    program.parameters.push_back(to);
  }
  return success();
}

void Translator::translateStoredTensors() {
  for (StoredTensorOp from : module.getOps<StoredTensorOp>())
    program.fileTensors.push_back({from.getTensor().str(),
                                   from.getParameter().value_or("").str(),
                                   from.getDigest().value_or("").str()});
}

void Translator::translateResidents() {
  llvm::StringMap<uint32_t> numbers;
  for (auto [index, parameter] : llvm::enumerate(program.parameters))
    numbers[parameter.name] = index;
  for (FlatSymbolRefAttr symbol : getResidentParameters(step))
    program.residents.push_back(
        {numbers.lookup(symbol.getValue()),
         toBufferRef(state.getWhole(symbol.getAttr()))});
}

void Translator::translateGiven(FlatSymbolRefAttr parameter, AtAttr place) {
  const auto found =
      llvm::find_if(program.parameters, [&](const zrt::Parameter &candidate) {
        return candidate.name == parameter.getValue();
      });
  program.given.push_back(
      {static_cast<uint32_t>(found - program.parameters.begin()),
       toBufferRef(place)});
}

void Translator::translateInputs() {
  auto places = step->getAttrOfType<ArrayAttr>(kPlaces);
  for (auto [index, type] : llvm::enumerate(step.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    if (FlatSymbolRefAttr parameter = getGradientOf(step, index)) {
      translateGiven(parameter, cast<AtAttr>(places[index]));
      continue;
    }
    zrt::Input input;
    auto name = step.getArgAttrOfType<StringAttr>(index, kInput);
    input.name = name ? name.str() : "input" + std::to_string(index);
    input.type.type = *toDataType(tensor.getElementType());
    input.type.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    input.buffer = toBufferRef(cast<AtAttr>(places[index]));
    program.inputs.push_back(input);
  }
  program.replacesGradients = !program.given.empty() && hasNoLoss();
}

/// Whether a micro-batch's loss is 0, as `zero-take-gradients` leaves it where
/// nothing computes one.
bool Translator::hasNoLoss() {
  Operation &yield = step.getRegionOp<MicroOp>().getBody().front().back();
  return matchPattern(yield.getOperand(0), m_AnyZeroFloat());
}

//===----------------------------------------------------------------------===//
// Regions and reports
//===----------------------------------------------------------------------===//

zrt::Region &Translator::regionOf(Operation *op) {
  if (auto forward = dyn_cast<ForwardOp>(op))
    return program.forward[forward.getChunk()];
  if (auto micro = dyn_cast<MicroOp>(op)) {
    if (program.pipeline.isCut())
      return program.backward[micro.getChunk()];
    return micro.getLast() ? program.microLast : program.micro;
  }
  return isa<ApplyOp>(op)      ? program.apply
         : isa<EvaluateOp>(op) ? program.evaluate
                               : program.initialize;
}

LogicalResult Translator::translateRegions() {
  program.forward.resize(llvm::range_size(step.getBody().getOps<ForwardOp>()));
  program.backward.resize(program.forward.size());
  Handles handles(step);
  Tickets tickets;
  for (Operation &op : step.getBody().front()) {
    zrt::Region &region = regionOf(&op);
    CommandBuilder builder(program, state, step, partitionNumbers, kernels,
                           handles, tickets);
    if (failed(builder.build(op.getRegion(0).front(), region, firstCommands)))
      return failure();
  }
  return success();
}

void Translator::measureArenas() {
  auto measure = [&](Attribute attribute) {
    auto place = dyn_cast_or_null<AtAttr>(attribute);
    if (!place)
      return;
    uint64_t &bytes = program.arenaBytes[place.getSpace().index()];
    uint64_t end =
        place.getEnd() + place.getStride() * (mesh.slicesOf(place) - 1);
    bytes = std::max(bytes, end);
  };
  for (PartitionOp partition : module.getOps<PartitionOp>())
    for (const auto &[name, place] : partition.getPlaces())
      measure(place);
  step->walk([&](Operation *op) { llvm::for_each(listPlaces(op), measure); });
  program.arenaBytes[static_cast<int>(zrt::Arena::Stash)] =
      static_cast<uint64_t>(stashBytes(step, mesh));
  program.arenaBytes[static_cast<int>(zrt::Arena::Control)] =
      sizeof(zrt::Control);
}

/// The ranks among which `part`, of the closed form, travels.
static AxesAttr findGroup(const TrafficPart &part, const PartitionTable &state,
                          AxesAttr within, AxesAttr secondary) {
  if (part.kind == TrafficKind::Activations)
    return cast<CollectiveOpInterface>(part.op).getGroup(state);
  auto partition = cast<PartitionOp>(part.op);
  switch (part.kind) {
  case TrafficKind::GradientsWithin:
    return within;
  case TrafficKind::QuantizedGradients:
    return within ? partition.getCut().without(within) : partition.getCut();
  case TrafficKind::Regathers:
    return secondary;
  case TrafficKind::Replicas:
    return partition.getOver().without(partition.getCut());
  default:
    return partition.getCut();
  }
}

static zrt::TrafficClass classOf(TrafficKind kind) {
  switch (kind) {
  case TrafficKind::Activations:
  case TrafficKind::Transfers:
    return zrt::TrafficClass::Activation;
  case TrafficKind::Refreshes:
  case TrafficKind::Gathers:
  case TrafficKind::Quantized:
  case TrafficKind::Regathers:
    return zrt::TrafficClass::Parameter;
  default:
    return zrt::TrafficClass::Gradient;
  }
}

/// What the communicators are to count: the closed form. Of n ranks of a group,
/// times (n-1)/n; in units of 1/ranks.
void Translator::computeTraffic() {
  uint64_t ranks = program.training.ranks;
  PlanningAttr planning = step.getTraining()->getPlanning();
  for (const TrafficPart &part :
       TrafficAnalysis(module, step).expected(planning.getMaxReuseDistance())) {
    const bool isTransfer = part.kind == TrafficKind::Transfers ||
                            part.kind == TrafficKind::TiedGradients;
    uint32_t group = numberOf(
        isTransfer ? mesh.pipe
                   : findGroup(part, state, planning.getGradientsWithin(),
                               mesh.secondary),
        mesh, program.mesh);
    uint64_t size = program.ranksOf(group);
    uint64_t sent = isTransfer ? ranks * part.elements
                               : ranks / size * (size - 1) * part.elements;
    auto traffic = static_cast<int>(classOf(part.kind));
    program.expectedTraffic[traffic] += sent;
    program.expectedByGroup.resize(program.mesh.groups.size());
    if (!program.expectedByGroup.empty())
      program.expectedByGroup[group].elements[traffic] += sent;
  }
  program.expectedByGroup.resize(program.mesh.groups.size());
}

void Translator::reportMemory() {
  uint64_t parameters = 0, gradients = 0, optimizer = 0;
  for (const zrt::Parameter &parameter : program.parameters) {
    const zrt::Partition &partition = program.partitions[parameter.partition];
    uint64_t elements = program.elementsOf(parameter),
             slices = program.ranksOf(partition.group);
    auto share = [&](bool sharded) {
      return sharded ? llvm::divideCeil(elements, slices) : elements;
    };
    parameters += partition.isQuantized()
                      ? partition.quantized.packedBytes(share(true))
                      : share(partition.shardedParameters) *
                            zrt::sizeOf(partition.computeType);
    if (!partition.trainable)
      continue;
    gradients +=
        share(partition.shardedGradients) * zrt::sizeOf(partition.gradientType);
    uint64_t bytes = 0;
    for (const zrt::State &state : partition.states)
      bytes += zrt::sizeOf(state.type);
    optimizer += share(partition.shardedOptimizer) * bytes;
  }
  uint64_t errors = 0;
  for (PartitionOp partition : module.getOps<PartitionOp>())
    for (auto [step, each] :
         llvm::enumerate(partition.getErrors().value_or(ArrayRef<int64_t>())))
      errors += partition.getAt()
                    ->getAs<AtAttr>(PartitionOp::getErrorsName(step > 0))
                    .getBytes();
  program.memory.push_back({"parameters by formula", parameters});
  program.memory.push_back({"gradients by formula", gradients});
  if (errors)
    program.memory.push_back({"errors of quantized gradients", errors});
  program.memory.push_back({"optimizer by formula", optimizer});
  uint64_t resident = 0;
  for (const zrt::ResidentCopy &copy : program.residents)
    resident += copy.buffer.bytes;
  program.memory.push_back(
      {"resident copies of persisted parameters", resident});
}

FailureOr<zrt::Program> Translator::run() {
  translateTraining();
  translatePartitions();
  if (program.partitions.size() > zrt::kMaxGroups)
    return emitError(step.getLoc())
               << "found " << program.partitions.size()
               << " partitions, wanted at most " << zrt::kMaxGroups,
           failure();
  if (failed(translateParameters()))
    return failure();
  translateStoredTensors();
  translateResidents();
  translateInputs();
  if (failed(translateRegions()))
    return failure();
  measureArenas();
  computeTraffic();
  reportMemory();
  return std::move(program);
}

FailureOr<zrt::Program>
mlir::zero::translateToProgram(ModuleOp module,
                               DenseMap<Operation *, size_t> *firstCommands) {
  FailureOr<StepOp> step = getConfiguredSchedule(module);
  if (failed(step) || failed(verifyElementTypes(module, *step)))
    return failure();
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (!partition.getAt() ||
        llvm::any_of(partition.getPlaces(),
                     [](const auto &entry) { return !entry.second; }))
      return partition.emitOpError("has no places; run zero-plan-memory first"),
             failure();
  if (!(*step)->hasAttr(kPlaces))
    return emitError(step->getLoc())
               << "'zero.step' is not planned; run zero-plan-memory first",
           failure();
  return Translator(module, *step, firstCommands).run();
}
