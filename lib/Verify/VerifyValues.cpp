//===- VerifyValues.cpp - ranks compute parts of one model ----------------===//
//
// Follows what the ranks of an axis have of every value: the same, a part, or
// the term of a sum. Where the model is cut, each operation must give parts of
// what it would give of the whole, and what leaves the model is whole: losses,
// outputs, and gradients as their parameters are.
//
//===----------------------------------------------------------------------===//

#include "ValueRules.h"
#include "Values.h"

#include "zero/Analysis/Views.h"
#include "zero/Verify/Verify.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// The states of `values`; one that was not given any is no value of the model.
States Values::statesOf(ValueRange values) const {
  States found;
  for (Value value : values) {
    auto known = states.find(value);
    found.push_back(known == states.end() ? State::none() : known->second);
  }
  return found;
}

/// Records the state of a value. Integers without an identity get the value
/// itself as identity.
void Values::give(Value value, State state) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getElementType().isInteger() && !state.identity)
    state.identity = value.getAsOpaquePointer();
  states[value] = std::move(state);
}

void Values::takeTerm(Value value) {
  State state = statesOf(value).front();
  if (state.mayBeTerm)
    give(value, *state.asTerm());
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Each cut is over one axis of the mesh that cuts parameters.
static LogicalResult verifyCuts(ModuleOp module) {
  SmallVector<AxesAttr> axes = listModelAxes(module);
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    for (CutAttr cut : parameter.getCutList())
      if (!llvm::is_contained(axes, cut.getOver()))
        return parameter.emitOpError("is cut over ")
               << cut.getOver()
               << ", wanted one axis of the mesh that cuts the model";
  return success();
}

static std::optional<Layout> layoutOf(ParameterOp parameter, AxesAttr axis) {
  CutAttr cut = parameter.getCutOver(axis);
  if (!cut)
    return std::nullopt;
  return Layout{static_cast<unsigned>(cut.getDim()), blocksOf(cut)};
}

LogicalResult Values::visitLoad(LoadOp op) {
  auto parameter = symbols.lookup<ParameterOp>(op.getParameter());
  State state;
  if (std::optional<Layout> layout = layoutOf(parameter, axis))
    state = State::cut(*layout);
  state.isTrained = isModel && parameter.isTrained();
  state.isReplicated = state.isTrained && (isOfPositions() || isOfSamples());
  give(op.getResult(), state);
  return success();
}

/// A gradient has what its parameter has of the whole, or as much of it as the
/// block has.
LogicalResult Values::visitGradient(GradientOp op) {
  give(op.getResult(), State::none());
  auto parameter = symbols.lookup<ParameterOp>(op.getParameter());
  State found = statesOf(op.getValue()).front(), wanted;
  std::optional<Layout> layout = layoutOf(parameter, axis);
  if (isOfPositions())
    wanted = State::term();
  if (layout && layout->dim == 0 && op.isBlock()) {
    int64_t row = strideOf(op.getValue(), 0);
    auto [begin, end] = op.getElements();
    if (auto window = layout->blocks.window(begin / row, (end - begin) / row))
      layout->blocks = *window;
  }
  if (layout)
    wanted = State::cut(*layout);
  bool fits = layout ? found.isCutBy(*layout, !isOfSamples())
                     : found.kind == wanted.kind ||
                           (wanted.kind == State::Term && found.isTerm());
  fits &= found.samples == 0;
  // A gradient may come from a rank's own samples, from the rows of all
  // experts, or from no samples: ZeRO takes the mean of all ranks.
  if (isOfSamples() && !layout)
    fits = found.kind == State::Own || found.kind == State::Same ||
           (found.kind == State::Term && found.samples == 0);
  if (fits && wanted.kind == State::Term)
    takeTerm(op.getValue());
  if (fits)
    return success();
  InFlightDiagnostic error = op.emitOpError("of ")
                             << op.getParameterAttr() << " is over " << axis
                             << ' ' << describe(found) << ", wanted "
                             << describe(wanted);
  if (isOfPositions())
    error << ", which ZeRO adds up; behind a use that is the same on all "
             "ranks, by 'zero.count_once'";
  else
    error << ", as the parameter is";
  if (found.kind == State::Term)
    error << "; add it up once, with 'zero.all_reduce_value'";
  error.attachNote(parameter.getLoc()) << "its parameter";
  return error;
}

LogicalResult Values::visitYield(YieldOp op) {
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    const State state = statesOf(value).front();
    bool isSame = state.kind == State::Same ||
                  (state.kind == State::Own && isOfSamples());
    if (!isSame)
      return op.emitOpError("over ")
             << axis << " yields value " << index << ", which is "
             << describe(state) << "; wanted the same on all ranks";
    if (index == 0 && state.isReplicated)
      return op.emitOpError("over ")
             << axis << " yields a loss that each rank would differentiate, "
             << axis.getSize()
             << (isOfPositions()
                     ? " times too often; put a 'zero.count_once' behind the "
                       "parameters on its way"
                     : " times too often; remove the 'zero.replicate' on its "
                       "way");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What computes
//===----------------------------------------------------------------------===//

/// Factors do not cover the values that a region captures, so these must be
/// equal on all ranks.
LogicalResult Values::checkCaptured(Operation *op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (State state = statesOf(value).front(); state.kind != State::Same)
      return op->emitOpError("over ")
             << axis << " reads in its region what is " << describe(state)
             << "; wanted the same on all ranks";
  return success();
}

/// Checks a model, whose gradients are still to be built: if ranks use a value
/// differently, a `zero.replicate` must add up their gradients, each once.
LogicalResult Values::checkReplicas(Operation *op,
                                    MutableArrayRef<State> results) {
  States operands = statesOf(op->getOperands());
  bool differs = false, isTrained = false, isReplicated = false;
  for (const State &state : operands) {
    differs |= state.kind != State::Same;
    isTrained |= state.isTrained;
    isReplicated |= state.isReplicated;
  }
  for (auto [index, state] : llvm::enumerate(operands))
    if (state.kind == State::Same && state.isTrained && !state.isReplicated &&
        (differs || isReplicated))
      return op->emitOpError("over ")
             << axis << " reads operand " << index
             << ", of which each rank gives another gradient; wanted a "
                "'zero.replicate' between, whose gradient is their sum";
  for (auto [value, state] : llvm::zip_equal(op->getResults(), results)) {
    state.isTrained =
        isTrained && isa<FloatType>(getElementTypeOrSelf(value.getType()));
    state.isReplicated = state.isTrained && state.kind == State::Same &&
                         (differs || isReplicated);
  }
  return success();
}

LogicalResult Values::visitOther(Operation *op) {
  // Copies of parameters and gradients are the business of other topics.
  if (isa<ZeroDialect>(op->getDialect()) && !isPure(op)) {
    for (Value result : op->getResults())
      give(result, State::none());
    return success();
  }
  if (op->getNumRegions() != 0 && failed(checkCaptured(op)))
    return failure();
  States operands = statesOf(op->getOperands());
  FailureOr<States> results =
      applyReadings(operands, op, [&](ArrayRef<State> operands, Operation *at) {
        return applyOperation(op, operands, axis, at);
      });
  // An operand that this operation can read in one way only, as a term or as
  // none, is that for later readers too.
  for (auto [value, state] : llvm::zip_equal(op->getOperands(), operands))
    if (statesOf(value).front().asTerm() && !state.asTerm())
      give(value, state);
  if (failed(results) || (isModel && failed(checkReplicas(op, *results))))
    return failure();
  // A reshape keeps the elements in their order.
  if (movesNothing(op)) {
    const State operand = statesOf(op->getOperands()).front();
    results->front().isOfAll = operand.isOfAll;
    results->front().identity = operand.identity;
  }
  for (auto [value, state] : llvm::zip_equal(op->getResults(), *results))
    give(value, state);
  return success();
}

LogicalResult Values::visitStrided(StridedOp op) {
  Block &body = op.getBody().front();
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), op.getInputs()))
    give(argument, statesOf(input).front());
  if (failed(visitBlock(body)))
    return failure();
  for (auto [output, value] :
       llvm::zip_equal(op.getOutputs(), body.getTerminator()->getOperands()))
    give(output, statesOf(value).front());
  return success();
}

/// The result is a copy of the operand, and has its state.
LogicalResult Values::visitSend(Operation *op) {
  give(op->getResult(0), statesOf(op->getOperand(0)).front());
  return success();
}

LogicalResult Values::visit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LoadOp>([&](LoadOp load) { return visitLoad(load); })
      .Case<GradientOp>([&](GradientOp of) { return visitGradient(of); })
      .Case<YieldOp>([&](YieldOp yield) { return visitYield(yield); })
      .Case<ReplicateOp>([&](ReplicateOp of) { return visitReplicate(of); })
      .Case<CountOnceOp>([&](CountOnceOp of) { return visitCountOnce(of); })
      .Case<TermValueOp>([&](TermValueOp of) { return visitTerm(of); })
      .Case<AllReduceValueOp, StartAllReduceOp>(
          [&](auto reduce) { return visitReduce(reduce, reduce.getOver()); })
      .Case<SliceValueOp>([&](SliceValueOp of) { return visitSlice(of); })
      .Case<GatherValueOp>([&](GatherValueOp of) { return visitGather(of); })
      .Case<ScatterValueOp>([&](ScatterValueOp of) { return visitScatter(of); })
      .Case<ExchangeValueOp>(
          [&](ExchangeValueOp of) { return visitExchange(of); })
      .Case<AllToAllOp>([&](AllToAllOp of) { return visitAllToAll(of); })
      .Case<StartAllGatherOp>(
          [&](StartAllGatherOp of) { return visitStartGather(of); })
      .Case<RecomputeOp, OffloadOp, FetchOp>(
          [&](auto of) { return visitSend(of); })
      .Case<ReceiveValueOp>([&](ReceiveValueOp of) {
        return visitReceived(of, of.getCuts(), of.getTrained());
      })
      .Case<StartReceiveOp>([&](StartReceiveOp of) {
        return visitReceived(of, of.getCuts(), /*isTrained=*/false);
      })
      .Case<SendValueOp, StartSendOp>(
          [&](auto of) { return visitSent(of, of.getCuts()); })
      .Case<StashOp>([&](StashOp of) { return visitStash(of); })
      .Case<UnstashOp>([&](UnstashOp of) { return visitUnstash(of); })
      .Case<WaitOp>([&](WaitOp wait) {
        State state = statesOf(wait.getPending()).front();
        for (Value result : wait.getResults())
          give(result, state);
        return success();
      })
      .Case<StridedOp>([&](StridedOp strided) { return visitStrided(strided); })
      .Case<StridedYieldOp>([](StridedYieldOp) { return success(); })
      .Case<LossSeedOp>([&](LossSeedOp seed) {
        give(seed.getResult(), State());
        return success();
      })
      .Case<LaunchOp>([&](LaunchOp launch) -> LogicalResult {
        FailureOr<States> results =
            applyKernel(symbols.lookup<FunctionOpInterface>(launch.getKernel()),
                        statesOf(launch.getInputs()), axis, launch);
        if (failed(results))
          return failure();
        for (auto [value, state] :
             llvm::zip_equal(launch.getResults(), *results))
          give(value, state);
        return success();
      })
      .Default([&](Operation *other) { return visitOther(other); });
}

LogicalResult Values::visitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult Values::run() {
  for (Value argument : step.getBody().getArguments())
    give(argument, State::of(isOfSamples() ? State::Own : State::Same));
  if (isModel)
    return visitBlock(step.getBody().front());
  for (Operation &region : step.getBody().front())
    if (failed(visitBlock(region.getRegion(0).front())))
      return failure();
  return success();
}

LogicalResult verify::verifyValues(ModuleOp module, StepOp step) {
  if (failed(verifyCuts(module)))
    return failure();
  for (AxesAttr axis : listModelAxes(module))
    if (failed(Values(module, step, axis).run()))
      return failure();
  return success();
}
