//===- VerifyValues.cpp - ranks compute parts of one model ----------------===//
//
// Follows what the ranks of an axis have of every value: the same, a part, or
// the term of a sum. Where the model is cut, each operation must give parts of
// what it would give of the whole, and what leaves the model is whole: losses,
// outputs, and gradients as their parameters are.
//
//===----------------------------------------------------------------------===//

#include "ValueRules.h"

#include "zero/Verify/Verify.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "program/Mesh.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

/// The values of one step, over one axis.
class Values {
public:
  Values(ModuleOp module, StepOp step, AxesAttr axis)
      : symbols(module), step(step), axis(axis), isModel(step.isModel()) {}

  LogicalResult run();

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visitOther(Operation *op);
  LogicalResult visitLoad(LoadOp op);
  LogicalResult visitGradient(GradientOp op);
  LogicalResult visitYield(YieldOp op);
  LogicalResult visitReplicate(ReplicateOp op);
  LogicalResult visitCountOnce(CountOnceOp op);
  LogicalResult visitTerm(TermValueOp op);
  LogicalResult visitReduce(Operation *op, AxesAttr over);
  LogicalResult visitSlice(SliceValueOp op);
  LogicalResult visitGather(GatherValueOp op);
  LogicalResult visitExchange(ExchangeValueOp op);
  LogicalResult visitStartGather(StartAllGatherOp op);
  LogicalResult visitAllToAll(AllToAllOp op);
  std::optional<State> exchanged(Value value, const State &state) const;
  LogicalResult visitStrided(StridedOp op);
  LogicalResult visitSend(Operation *op);
  LogicalResult checkGroup(Operation *op, AxesAttr over);
  LogicalResult checkCaptured(Operation *op);
  LogicalResult checkReplicas(Operation *op, MutableArrayRef<State> results);
  bool isOver(AxesAttr over) const {
    return llvm::is_contained(over.getNames(), axis.getNames().front());
  }

  /// Whether gradients of parameters are added up over the axis by ZeRO.
  bool isOfPositions() const {
    return zrt::cutsPositions(axis.getNames().front().str());
  }

  States statesOf(ValueRange values) const;
  void give(Value value, State state) { states[value] = std::move(state); }

  SymbolTable symbols;
  StepOp step;
  AxesAttr axis;
  bool isModel;
  DenseMap<Value, State> states;
};

} // namespace

static int64_t strideOf(Value value, unsigned dim) {
  return llvm::product_of(
      cast<RankedTensorType>(value.getType()).getShape().drop_front(dim + 1));
}

/// What has no state of its own is no value of the model.
States Values::statesOf(ValueRange values) const {
  States found;
  for (Value value : values) {
    auto known = states.find(value);
    found.push_back(known == states.end() ? State::none() : known->second);
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static std::optional<Layout> layoutOf(ParameterOp parameter, AxesAttr axis) {
  CutAttr cut = parameter.getCutAttr();
  if (!cut || cut.getOver() != axis)
    return std::nullopt;
  return Layout{static_cast<unsigned>(cut.getDim()), blocksOf(cut)};
}

LogicalResult Values::visitLoad(LoadOp op) {
  auto parameter = symbols.lookup<ParameterOp>(op.getParameter());
  State state;
  if (std::optional<Layout> layout = layoutOf(parameter, axis))
    state = State::cut(*layout);
  state.isTrained =
      isModel && !parameter.getFrozen() && !parameter.getAverage();
  state.isReplicated = state.isTrained && isOfPositions();
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
  bool fits = found.kind == wanted.kind &&
              (!layout || llvm::is_contained(found.layouts, *layout));
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
    if (state.kind != State::Same)
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
// Exchanges
//===----------------------------------------------------------------------===//

/// Parts are those of one axis.
LogicalResult Values::checkGroup(Operation *op, AxesAttr over) {
  if (over == axis || !isOver(over))
    return success();
  return op->emitOpError("cuts over several axes, ")
         << over << "; wanted one axis at a time";
}

LogicalResult Values::visitReplicate(ReplicateOp op) {
  State state = statesOf(op.getValue()).front();
  if (isOver(op.getOver())) {
    if (state.kind != State::Same)
      return op.emitOpError("over ")
             << axis << " takes what is " << describe(state)
             << "; wanted the same on all ranks";
    if (state.isReplicated)
      return op.emitOpError("over ")
             << axis << " is behind another one, so that gradients would be "
             << "added up twice; remove one of them";
    state.isReplicated = state.isTrained;
  }
  give(op.getResult(), state);
  return success();
}

LogicalResult Values::visitCountOnce(CountOnceOp op) {
  State state = statesOf(op.getValue()).front();
  if (isOver(op.getOver())) {
    if (state.kind != State::Same || state.isReplicated != state.isTrained)
      return op.emitOpError("over ")
             << axis << " takes what is "
             << (state.kind == State::Same
                     ? "the same on all ranks, with its gradient"
                     : describe(state))
             << "; wanted a parameter, or what is computed of parameters";
    state.isReplicated = false;
  }
  give(op.getResult(), state);
  return success();
}

LogicalResult Values::visitTerm(TermValueOp op) {
  State state = statesOf(op.getValue()).front();
  if (isOver(op.getOver())) {
    if (state.kind != State::Same)
      return op.emitOpError("over ")
             << axis << " takes what is " << describe(state)
             << "; wanted the same on all ranks";
    State term = State::term();
    term.isTrained = state.isTrained;
    state = term;
  }
  give(op.getResult(), state);
  return success();
}

LogicalResult Values::visitReduce(Operation *op, AxesAttr over) {
  State state = statesOf(op->getOperand(0)).front();
  if (isOver(over)) {
    if (state.kind == State::Same)
      return op->emitOpError("over ")
             << axis << " adds up what is the same on all ranks, "
             << axis.getSize() << " times; remove it";
    if (state.kind != State::Term && !state.isOfRange)
      return op->emitOpError("over ")
             << axis << " adds up what is " << describe(state)
             << "; wanted the terms of a sum";
    State sum;
    sum.isTrained = state.isTrained;
    state = sum;
  }
  give(op->getResult(0), state);
  return success();
}

/// Each rank takes one index.
static void makeOwn(SliceValueOp op, const State &whole, State &part) {
  part.isOwn = true;
  part.gathered.sizes.push_back(
      whole.stride ? whole.stride
                   : strideOf(op.getValue(), op.getCut().getDim()));
  DenseIntElementsAttr numbers;
  auto type = cast<RankedTensorType>(op.getValue().getType());
  if (type.getRank() == 1 && matchPattern(op.getValue(), m_Constant(&numbers)))
    for (const APInt &number : numbers)
      part.numbers.push_back(number.getSExtValue());
}

LogicalResult Values::visitSlice(SliceValueOp op) {
  if (failed(checkGroup(op, op.getCut().getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getCut().getOver() == axis) {
    if (state.kind != State::Same || state.isReplicated)
      return op.emitOpError("over ")
             << axis << " takes a part of what is "
             << (state.isReplicated ? "replicated" : describe(state))
             << "; wanted the same on all ranks";
    // Of what is the same everywhere all parts are.
    if (state.isUniform(op.getCut().getDim())) {
      give(op.getResult(), state);
      return success();
    }
    State part = State::cut(
        {static_cast<unsigned>(op.getCut().getDim()), blocksOf(op.getCut())});
    part.isTrained = state.isTrained;
    if (op.getCut().getWholeSize() == axis.getSize())
      makeOwn(op, state, part);
    state = part;
  }
  give(op.getResult(), state);
  return success();
}

/// Whether all indices of the dimension are the same, so that its parts are.
static bool isUniform(const State &state, CutAttr cut) {
  return state.kind == State::Same && state.isUniform(cut.getDim());
}

LogicalResult Values::visitGather(GatherValueOp op) {
  if (failed(checkGroup(op, op.getCut().getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getCut().getOver() == axis && !isUniform(state, op.getCut())) {
    Layout wanted{static_cast<unsigned>(op.getCut().getDim()),
                  blocksOf(op.getCut())};
    bool fits = llvm::is_contained(state.layouts, wanted) ||
                (state.isOwn && op.getCut().getWholeSize() == axis.getSize());
    if (state.kind != State::Cut || !fits)
      return op.emitOpError("over ")
             << axis << " brings together what is " << describe(state)
             << ", wanted " << describe(wanted);
    State whole;
    whole.isTrained = state.isTrained;
    state = whole;
  }
  give(op.getResult(), state);
  return success();
}

/// Parts of one dimension become those of another.
LogicalResult Values::visitExchange(ExchangeValueOp op) {
  if (failed(checkGroup(op, op.getFrom().getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getFrom().getOver() == axis) {
    Layout wanted{static_cast<unsigned>(op.getFrom().getDim()),
                  blocksOf(op.getFrom())};
    if (isUniform(state, op.getFrom()) && isUniform(state, op.getTo())) {
      give(op.getResult(), state);
      return success();
    }
    if (!isUniform(state, op.getFrom()) &&
        (state.kind != State::Cut ||
         !llvm::is_contained(state.layouts, wanted)))
      return op.emitOpError("over ")
             << axis << " exchanges what is " << describe(state) << ", wanted "
             << describe(wanted);
    State part = State::cut(
        {static_cast<unsigned>(op.getTo().getDim()), blocksOf(op.getTo())});
    part.isTrained = state.isTrained;
    state = part;
  }
  give(op.getResult(), state);
  return success();
}

LogicalResult Values::visitStartGather(StartAllGatherOp op) {
  if (failed(checkGroup(op, op.getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getOver() != axis) {
    for (Layout &layout : state.layouts)
      ++layout.dim;
    state.uniform <<= 1;
    give(op.getPending(), state);
    return success();
  }
  if (state.kind != State::Cut)
    return op.emitOpError("over ")
           << axis << " brings together what is " << describe(state)
           << ", wanted parts of a dimension";
  State gathered;
  if (!state.isOwn) {
    const Layout &layout = state.layouts.front();
    gathered.kind = State::Gathered;
    gathered.stride = op.getTensorType().getNumElements();
    for (int64_t size : layout.blocks.sizes)
      gathered.gathered.sizes.push_back(size *
                                        strideOf(op.getValue(), layout.dim));
  }
  give(op.getPending(), settled(gathered, op.getTensorType().getShape()));
  return success();
}

/// What arrives of `value`, whose rows go to the ranks. Of all dimensions that
/// may be the one that is cut the blocks are the same elements.
std::optional<State> Values::exchanged(Value value, const State &state) const {
  int64_t block = state.stride ? state.stride : strideOf(value, 0);
  std::optional<State> found;
  for (const Layout &layout : state.layouts) {
    if (layout.dim == 0)
      continue;
    int64_t inner = strideOf(value, layout.dim);
    int64_t extent =
        cast<RankedTensorType>(value.getType()).getDimSize(layout.dim);
    State gathered;
    gathered.kind = State::Gathered;
    gathered.stride = strideOf(value, 0);
    for (int64_t size : layout.blocks.sizes)
      gathered.gathered.sizes.push_back(size * inner);
    gathered.part = inner * extent <= block ? block * axis.getSize() : block;
    if (found &&
        (found->gathered != gathered.gathered || found->part != gathered.part))
      return std::nullopt;
    found = gathered;
  }
  return found;
}

/// Rows of the front go to the ranks, and what each of them has of its part
/// comes: behind it the parts of the other dimension are in order of the ranks.
LogicalResult Values::visitAllToAll(AllToAllOp op) {
  State state = statesOf(op.getValue()).front();
  if (!isOver(op.getOver())) {
    give(op.getPending(), state);
    return success();
  }
  if (failed(checkGroup(op, op.getOver())))
    return failure();
  auto type = cast<RankedTensorType>(op.getValue().getType());
  std::optional<State> gathered;
  if (state.kind == State::Cut && type.getDimSize(0) == axis.getSize())
    gathered = exchanged(op.getValue(), state);
  if (!gathered)
    return op.emitOpError("over ")
           << axis << " exchanges what is " << describe(state)
           << ", wanted parts of a dimension, behind one of the ranks";
  give(op.getPending(), settled(*gathered, type.getShape()));
  return success();
}

//===----------------------------------------------------------------------===//
// What computes
//===----------------------------------------------------------------------===//

/// What a region reads of values around it, no factors tell.
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

/// Where gradients are still to be made: those of what ranks use differently
/// are added up by the gradient of a `zero.replicate`, each once.
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
  FailureOr<States> results =
      applyOperation(op, statesOf(op->getOperands()), axis, op);
  if (failed(results) || (isModel && failed(checkReplicas(op, *results))))
    return failure();
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

/// What comes back is what was sent.
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
      .Case<ExchangeValueOp>(
          [&](ExchangeValueOp of) { return visitExchange(of); })
      .Case<AllToAllOp>([&](AllToAllOp of) { return visitAllToAll(of); })
      .Case<StartAllGatherOp>(
          [&](StartAllGatherOp of) { return visitStartGather(of); })
      .Case<RecomputeOp, OffloadOp, FetchOp>(
          [&](auto of) { return visitSend(of); })
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
    give(argument, State());
  if (isModel)
    return visitBlock(step.getBody().front());
  for (Operation &region : step.getBody().front())
    if (failed(visitBlock(region.getRegion(0).front())))
      return failure();
  return success();
}

LogicalResult verify::verifyValues(ModuleOp module, StepOp step) {
  for (AxesAttr axis : listModelAxes(module))
    if (failed(Values(module, step, axis).run()))
      return failure();
  return success();
}
