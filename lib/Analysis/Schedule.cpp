//===- Schedule.cpp - what every pass on a schedule asks first ------------===//

#include "zero/Analysis/Schedule.h"

#include "zero/Analysis/Sizes.h"
#include "zero/Dialect/Zero/PartitionTable.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;

// Errors stand at locations, not at operations: a step that is printed hides
// its message.

LogicalResult mlir::zero::verifyOwners(ModuleOp module, StepOp step) {
  PartitionTable partitions(module);
  SymbolTable symbols(module);
  WalkResult walk = step->walk([&](AsyncOpInterface op) {
    StringAttr ownerless;
    op->getAttrDictionary().walk([&](FlatSymbolRefAttr name) {
      if (symbols.lookup<ParameterOp>(name.getValue()) &&
          !partitions.getPartition(name.getAttr()))
        ownerless = name.getAttr();
    });
    if (!ownerless)
      return WalkResult::advance();
    emitError(op->getLoc())
        << "'" << op->getName() << "' names @" << ownerless.getValue()
        << ", which is in no 'zero.partition'; run zero-partition first";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

FailureOr<StepOp> mlir::zero::getConfiguredSchedule(ModuleOp module) {
  auto steps = module.getOps<StepOp>();
  auto count = llvm::range_size(steps);
  if (count != 1)
    return emitError(module.getLoc())
               << "found " << count << " 'zero.step', wanted one",
           failure();
  StepOp step = *steps.begin();
  if (step.isModel())
    return emitError(step.getLoc())
               << "'zero.step' is a model, not a schedule; run "
                  "zero-differentiate first",
           failure();
  if (!step.getTraining())
    return emitError(step.getLoc())
               << "'zero.step' has no 'training'; run zero-configure first",
           failure();
  if (failed(verifyStarts(step)))
    return failure();
  return step;
}

//===----------------------------------------------------------------------===//
// What is started
//===----------------------------------------------------------------------===//

bool mlir::zero::startsOperation(Operation *op) {
  if (isa<AsyncOpInterface>(op))
    return true;
  if (op->hasTrait<PassesPending>())
    return false;
  if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<PendingType>))
    return true;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return false;
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return llvm::any_of(instances, [](const auto &instance) {
    return instance.getResource() == LinkResource::get();
  });
}

LogicalResult mlir::zero::verifyStarts(Operation *within) {
  WalkResult walk = within->walk([](Operation *op) {
    if (isa<AsyncOpInterface>(op) || !startsOperation(op))
      return WalkResult::advance();
    emitError(op->getLoc())
        << "'" << op->getName()
        << "' starts an operation, and what it reads and writes until its wait "
           "is not known; wanted an operation that implements "
           "AsyncOpInterface";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

bool mlir::zero::isReduction(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective &&
         collective.getTrafficClass() == zrt::TrafficClass::Gradient &&
         !collective.combinesReplicas();
}

bool mlir::zero::isPartialReduction(Operation *op) {
  auto exchange = dyn_cast<ExchangeGradientsOp>(op);
  return exchange && exchange.getStep() == ExchangeStep::Within;
}

bool mlir::zero::takesSums(Operation *op) {
  auto exchange = dyn_cast<ExchangeGradientsOp>(op);
  return exchange && exchange.getStep() == ExchangeStep::Between;
}

bool mlir::zero::combinesReplicas(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.combinesReplicas();
}

bool mlir::zero::isCollective(Operation *op) {
  return isa<CollectiveOpInterface>(op);
}

static bool movesParameters(Operation *op, bool givesTensors) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective ||
      collective.getTrafficClass() != zrt::TrafficClass::Parameter)
    return false;
  auto start = cast<AsyncOpInterface>(op);
  auto pending = cast<PendingType>(start.getPending().getType());
  return pending.getTypes().empty() != givesTensors;
}

bool mlir::zero::isGather(Operation *op) { return movesParameters(op, true); }
bool mlir::zero::isRefresh(Operation *op) { return movesParameters(op, false); }

bool mlir::zero::scattersInBackward(TrainingAttr training) {
  if (training.isSilent())
    return false;
  bool everyMicro =
      training.getDeterministic() && training.getAccumulation() > 1;
  return training.getStage() >= 2 || (training.getStage() == 1 && everyMicro);
}

StreamKind mlir::zero::getStream(Operation *op) {
  auto start = dyn_cast<AsyncOpInterface>(op);
  return start ? start.getStream() : StreamKind::Compute;
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

bool mlir::zero::isKernelType(Type type) {
  return type.isF32() || type.isF16() || type.isBF16() || type.isF64() ||
         type.isInteger(1) || type.isInteger(8) || type.isInteger(32) ||
         type.isInteger(64);
}

/// Whether the optimizer's kernels take parameters of `type`.
static bool isParameterType(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

static LogicalResult verifyParameters(ModuleOp module) {
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    if (!isParameterType(parameter.getTensorType().getElementType()))
      return parameter.emitOpError("has type ")
             << parameter.getTensorType()
             << ", which cannot be trained; wanted elements of f32, f16 or "
                "bf16";
  for (PartitionOp partition : module.getOps<PartitionOp>())
    if (!isParameterType(partition.getComputeType()) ||
        !isParameterType(partition.getGradientType()))
      return partition.emitOpError("computes with ")
             << partition.getComputeType() << " and gradients of "
             << partition.getGradientType() << ", wanted f32, f16 or bf16";
  return success();
}

static LogicalResult verifyTensors(StepOp step) {
  auto isStored = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || isKernelType(tensor.getElementType());
  };
  for (BlockArgument argument : step.getArguments())
    if (!isStored(argument.getType()))
      return emitError(argument.getLoc())
             << "input " << argument.getArgNumber() << " has type "
             << argument.getType()
             << ", which no data fills; wanted elements of f32, f16, bf16, "
                "f64, i1, i8, i32 or i64";
  auto result = step->walk([&](Operation *op) {
    // Started operations check their own results: those of states have other
    // types.
    if (isa<WaitOp>(op))
      return WalkResult::advance();
    for (Type type : op->getResultTypes())
      if (!isStored(type)) {
        op->emitOpError("makes a value of type ")
            << type
            << ", which no kernel takes; wanted elements of f32, f16, "
               "bf16, f64, i1, i8, i32 or i64";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult mlir::zero::verifyElementTypes(ModuleOp module, StepOp step) {
  if (failed(verifySizes(module)) || failed(verifyParameters(module)))
    return failure();
  return verifyTensors(step);
}
