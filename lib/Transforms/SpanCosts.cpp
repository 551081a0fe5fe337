//===- SpanCosts.cpp - what the spans of a model cost, measured -----------===//

#include "SpanCosts.h"

#include "zero/Analysis/ActivationLayers.h"
#include "zero/Analysis/Averages.h"
#include "zero/Analysis/InputDependence.h"
#include "zero/Analysis/Reads.h"
#include "zero/Analysis/StateBytes.h"
#include "zero/Analysis/Views.h"
#include "zero/Kernels/KernelSpecs.h"

#include "program/KernelSchema.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The operations of both passes of a span.
struct SpanPasses {
  SmallVector<Operation *> forward, backward;
};

class SpanReader {
public:
  SpanReader(StepOp step, const PipelineStages &spans,
             const Crossings &crossings, const CostModel *model)
      : step(step), spans(spans), crossings(crossings), model(model) {}

  FailureOr<PipelineCosts> read();

private:
  bool findPasses(Block &micro);
  void nameValues();
  void addParameter(ParameterOp parameter, Type type, Attribute optimizer,
                    const MeshAxes &mesh);
  void countParameters();
  void readSpan(size_t index);
  void readTransfers(size_t index, SpanCost &cost);
  void addKept(Value value, SpanCost &cost);
  double workOf(Operation *op);
  int64_t workspaceOf(Operation *op);
  int64_t findPeak(ArrayRef<Operation *> pass);

  StepOp step;
  const PipelineStages &spans;
  const Crossings &crossings;
  const CostModel *model;
  SymbolTableCollection symbols;
  InputDependence dependence;
  SmallVector<SpanPasses> passes;
  /// The pass that an operation is in: 2 i of span i forward, 2 i + 1 backward.
  DenseMap<Operation *, size_t> passOf;
  /// The numbers of values that are handed on, by what they are called where a
  /// span gets them, and of inputs.
  llvm::StringMap<unsigned> named;
  DenseMap<Value, unsigned> inputs;
  DenseMap<Attribute, unsigned> parameterNumbers;
  DenseMap<std::pair<Attribute, Type>, unsigned> groups;
  /// What the span that is read has counted.
  DenseSet<Value> known;
  PipelineCosts costs;
};

} // namespace

/// Forward passes are in the order of spans, and backward passes in the other.
bool SpanReader::findPasses(Block &micro) {
  Operation *backward = findBackward(micro);
  passes.resize(spans.getStages());
  size_t span = 0, boundaries = 0;
  bool isBackward = false;
  for (Operation &op : micro) {
    isBackward |= &op == backward;
    if (isa<StageBoundaryOp>(op)) {
      if (isBackward ? span == 0 : span + 1 == passes.size())
        return false;
      span += isBackward ? -1 : 1;
      ++boundaries;
      continue;
    }
    (isBackward ? passes[span].backward : passes[span].forward).push_back(&op);
    passOf[&op] = 2 * span + isBackward;
  }
  return boundaries == 2 * (passes.size() - 1);
}

/// One value has one number in all spans.
void SpanReader::nameValues() {
  DenseMap<Value, unsigned> numbers;
  for (size_t span = 1; span < passes.size(); ++span)
    for (const auto &[value, crossing] : crossings[span]) {
      auto [known, isNew] = numbers.try_emplace(value, costs.valueBytes.size());
      if (isNew)
        costs.valueBytes.push_back(tensorBytes(value.getType()));
      named[crossing.name.getValue()] = known->second;
    }
  for (BlockArgument input : step.getArguments()) {
    inputs[input] = costs.valueBytes.size();
    costs.valueBytes.push_back(tensorBytes(input.getType()));
    costs.always += costs.valueBytes.back();
  }
}

/// The type in which each parameter is loaded.
static DenseMap<Attribute, Type> findComputeTypes(StepOp step) {
  DenseMap<Attribute, Type> types;
  step.walk([&](LoadOp load) {
    types[load.getParameterAttr()] = load.getType().getElementType();
  });
  return types;
}

/// Parameters of one optimizer and type are in one group.
void SpanReader::addParameter(ParameterOp parameter, Type type,
                              Attribute optimizer, const MeshAxes &mesh) {
  const StateBytes bytes =
      countStateBytes(parameter, type, optimizer, *step.getTraining(), mesh);
  auto [group, isNew] =
      groups.try_emplace({optimizer ? parameter.getGroupAttr() : nullptr, type},
                         costs.intervals.size());
  if (isNew)
    costs.intervals.push_back(bytes.interval);
  ParameterCost &cost = costs.parameters.back();
  cost.bytes = bytes.all;
  cost.received = bytes.received;
  cost.group = group->second;
}

void SpanReader::countParameters() {
  auto module = step->getParentOfType<ModuleOp>();
  std::optional<TrainingAttr> training = step.getTraining();
  llvm::StringMap<Attribute> optimizers;
  for (OptimizerOp optimizer : module.getOps<OptimizerOp>())
    optimizers[optimizer.getGroup()] = optimizer.getOptimizer();
  const DenseMap<Attribute, Type> types = findComputeTypes(step);
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    auto name = FlatSymbolRefAttr::get(parameter);
    parameterNumbers[name] = costs.parameters.size();
    costs.parameters.emplace_back();
    if (!training)
      continue;
    Type type = types.lookup(name);
    Attribute optimizer = parameter.getAverage()
                              ? getAverageUpdate(parameter, *training)
                              : optimizers.lookup(parameter.getGroup());
    addParameter(parameter,
                 type ? type : parameter.getTensorType().getElementType(),
                 parameter.getFrozen() ? Attribute() : optimizer,
                 getMesh(module, *training));
  }
  if (costs.intervals.empty())
    costs.intervals.push_back(0);
}

double SpanReader::workOf(Operation *op) {
  if (model)
    return model->costOf(op);
  std::optional<zrt::KernelSpec> kernel = describeKernel(op, &symbols);
  return kernel ? static_cast<double>(kernel->flops) : 0;
}

int64_t SpanReader::workspaceOf(Operation *op) {
  std::optional<zrt::KernelSpec> kernel = describeKernel(op, &symbols);
  std::optional<TrainingAttr> training = step.getTraining();
  return kernel ? static_cast<int64_t>(zrt::workspaceOf(
                      *kernel, training && training->getDeterministic()))
                : 0;
}

/// What a backward pass reads of a forward pass, as zero-split-forward provides
/// it: views of what is stashed, parameters and what follows from inputs are
/// made again.
void SpanReader::addKept(Value value, SpanCost &cost) {
  if (!known.insert(value).second)
    return;
  if (auto input = inputs.find(value); input != inputs.end())
    return cost.kept.push_back(input->second);
  Operation *maker = value.getDefiningOp();
  if (!maker || !passOf.contains(maker) || passOf[maker] % 2 == 1)
    return;
  if (auto receive = dyn_cast<ReceiveValueOp>(maker))
    return cost.kept.push_back(named.lookup(receive.getName()));
  if (isa<LoadOp>(maker) || maker->hasTrait<OpTrait::ConstantLike>())
    return;
  if (getView(maker) || dependence.isOfInputs(value)) {
    for (Value operand : maker->getOperands())
      addKept(operand, cost);
    return;
  }
  // What is handed on as well has the name that it is sent by.
  for (Operation *user : value.getUsers())
    if (auto send = dyn_cast<SendValueOp>(user); send && !send.getBack())
      return cost.kept.push_back(named.lookup(send.getName()));
  cost.stashed += tensorBytes(value.getType());
}

void SpanReader::readTransfers(size_t index, SpanCost &cost) {
  for (Operation *op : passes[index].forward)
    if (auto send = dyn_cast<SendValueOp>(op))
      cost.sent.push_back(named.lookup(send.getName()));
  for (Operation *op : passes[index].backward)
    if (auto send = dyn_cast<SendValueOp>(op))
      cost.sentBack += tensorBytes(send.getValue().getType());
}

/// The most bytes that are alive at a time of what a pass makes or takes; what
/// lies in the stash or among parameters does not count.
int64_t SpanReader::findPeak(ArrayRef<Operation *> pass) {
  DenseMap<Value, Operation *> lastUse;
  const size_t own = passOf.lookup(pass.front());
  const bool isBackward = own % 2 == 1;
  int64_t alive = 0, peak = 0;
  for (Operation *op : pass)
    for (Value read : getReads(*op)) {
      Value root = getRoot(read);
      Operation *maker = root.getDefiningOp();
      if (!maker || isa<LoadOp>(maker) ||
          maker->hasTrait<OpTrait::ConstantLike>())
        continue;
      // What follows from inputs is made where the pass begins.
      const bool isMadeHere = passOf.lookup(maker) == own;
      if (!isMadeHere && !dependence.isOfInputs(root))
        continue;
      if (lastUse.insert_or_assign(root, op).second && !isMadeHere)
        alive += tensorBytes(root.getType());
    }
  DenseMap<Operation *, SmallVector<Value, 2>> ending;
  for (auto [root, op] : lastUse)
    ending[op].push_back(root);
  peak = alive;
  for (Operation *op : pass) {
    // What a backward pass makes for another one is not in its stash.
    int64_t ofOthers = 0;
    for (Value result : op->getResults())
      if (lastUse.contains(result))
        alive += tensorBytes(result.getType());
      else if (isBackward && getRoot(result) == result)
        ofOthers += tensorBytes(result.getType());
    peak = std::max(peak, alive + ofOthers);
    for (Value root : ending.lookup(op))
      alive -= tensorBytes(root.getType());
  }
  return peak;
}

void SpanReader::readSpan(size_t index) {
  SpanCost &cost = costs.spans[index];
  const SpanPasses &both = passes[index];
  known.clear();
  for (const auto *pass : {&both.forward, &both.backward}) {
    for (Operation *op : *pass) {
      cost.work += workOf(op);
      costs.workspace = std::max(costs.workspace, workspaceOf(op));
      for (Value read : getReads(*op))
        // A stage has the inputs in its stash that any of its passes reads.
        if (pass == &both.backward || inputs.contains(read))
          addKept(read, cost);
    }
    if (!pass->empty())
      cost.working = std::max(cost.working, findPeak(*pass));
  }
  readTransfers(index, cost);
  for (Attribute name : spans.getParameters(index)) {
    cost.parameters.push_back(parameterNumbers.lookup(name));
    ++costs.parameters[cost.parameters.back()].uses;
  }
}

FailureOr<PipelineCosts> SpanReader::read() {
  auto micro = step.getRegionOp<MicroOp>();
  if (!micro || !findPasses(micro.getBody().front()))
    return failure();
  nameValues();
  countParameters();
  costs.spans.resize(passes.size());
  for (size_t index = 0; index < passes.size(); ++index)
    readSpan(index);
  return std::move(costs);
}

FailureOr<PipelineCosts> mlir::zero::readSpanCosts(ModuleOp trial,
                                                   const PipelineStages &spans,
                                                   const Crossings &crossings,
                                                   const CostModel *model) {
  return SpanReader(*trial.getOps<StepOp>().begin(), spans, crossings, model)
      .read();
}
