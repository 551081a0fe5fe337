//===- ValueExchanges.cpp - from what ranks have to what others have ------===//

#include "ValueRules.h"
#include "Values.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// Refuses an operation that cuts over several axes, if the verified axis is
/// one of them.
LogicalResult Values::checkGroup(Operation *op, AxesAttr over) {
  if (over == axis || !isOver(over))
    return success();
  return op->emitOpError("cuts over several axes, ")
         << over << "; wanted one axis at a time";
}

/// The blocks of a dimension that is cut over this axis, after another axis has
/// sliced or gathered it: as much of each block, if blocks consist of whole
/// pieces.
static std::optional<Blocks> scale(const Blocks &blocks, int64_t piece,
                                   int64_t from, int64_t to) {
  Blocks scaled;
  if (blocks.begin != 0)
    return std::nullopt;
  for (int64_t size : blocks.sizes) {
    if (size % (piece * from) != 0)
      return std::nullopt;
    scaled.sizes.push_back(size / from * to);
  }
  return scaled;
}

/// Updates the layouts of `state` where another axis slices the whole of `cut`,
/// or gathers its parts. If both axes cut one dimension, the axis of parameters
/// has blocks, and the other one parts of each block, never the other way
/// around.
LogicalResult Values::scaleLayouts(Operation *op, State &state, CutAttr cut,
                                   bool isWhole) {
  int64_t ranks = cut.getOver().getSize();
  int64_t whole = llvm::sum_of(cut.getPieces(), int64_t(0));
  SmallVector<Layout, 1> kept;
  for (Layout &layout : state.layouts) {
    if (static_cast<int64_t>(layout.dim) == cut.getDim()) {
      if (!axis.getPartAxes())
        continue;
      std::optional<Blocks> blocks =
          isWhole ? scale(layout.blocks, whole / ranks, ranks, 1)
                  : scale(layout.blocks, whole / ranks, 1, ranks);
      if (!blocks)
        continue;
      layout.blocks = *blocks;
    }
    kept.push_back(layout);
  }
  if (kept.empty() && !state.layouts.empty())
    return op->emitOpError("over ")
           << cut.getOver() << " needs dimension " << cut.getDim()
           << " of what is over " << axis << ' ' << describe(state)
           << "; wanted as much of each part";
  state.layouts = std::move(kept);
  state.dropRepeats(cut.getDim());
  // Values that are equal within a part may differ in the whole.
  if (!isWhole)
    state.uniform &= ~(uint64_t(1) << cut.getDim());
  return success();
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
    if (state.kind == State::Same && !state.mayBeTerm)
      return op->emitOpError("over ")
             << axis << " adds up what is the same on all ranks, "
             << axis.getSize() << " times; remove it";
    if (state.kind == State::Same && failed(checkAddedUp(op, state, "adds up")))
      return failure();
    if ((!state.isTerm() || state.isOfAllSamples()) && !state.isOfRange)
      return op->emitOpError("over ")
             << axis << " adds up what is " << describe(state)
             << "; wanted the terms of a sum";
    takeTerm(op->getOperand(0));
    State sum;
    sum.isTrained = state.isTrained;
    state = sum;
  }
  give(op->getResult(0), state);
  return success();
}

/// Marks `part` as a rank's own: each rank takes one index. If the sliced
/// dimension is in front, it may have been moved there; the reshape that
/// follows says which dimension has the part.
static void makeOwn(SliceValueOp op, const State &whole, State &part) {
  part.isOwn = true;
  part.isOneIndex = whole.isOneIndex;
  const int64_t dim = op.getCut().getDim();
  if (dim == 0)
    part.gathered.push_back(whole.stride ? whole.stride
                                         : strideOf(op.getValue(), dim));
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
    // All parts of a dimension of equal indices are equal, but each rank gives
    // the gradient of its own part.
    if (state.isUniform(op.getCut().getDim())) {
      state.isReplicated = state.isTrained;
      give(op.getResult(), state);
      return success();
    }
    State part = State::cut(
        {static_cast<unsigned>(op.getCut().getDim()), blocksOf(op.getCut())});
    part.isTrained = state.isTrained;
    if (op.getCut().getWholeSize() == axis.getSize())
      makeOwn(op, state, part);
    state = part;
  } else if (failed(scaleLayouts(op, state, op.getCut(), /*isWhole=*/true))) {
    return failure();
  } else if (shapeOf(op.getResult()).take_front() == ArrayRef<int64_t>(1) &&
             op.getCut().getDim() == 0 &&
             llvm::any_of(state.layouts, isInFront)) {
    // If the rows in front lay in one block of the cut dimension, one is left.
    state.addUnits(shapeOf(op.getResult()));
  }
  give(op.getResult(), state);
  return success();
}

/// Whether all indices of the dimension that `cut` cuts are equal, so that its
/// parts are equal as well.
static bool isUniform(const State &state, CutAttr cut) {
  return state.kind == State::Same && state.isUniform(cut.getDim());
}

/// Each rank gives another gradient for parts of a value that all ranks have; a
/// `zero.replicate` in front of it must add them up.
LogicalResult Values::checkAddedUp(Operation *op, const State &state,
                                   StringRef does) {
  if (!state.isTrained || state.isReplicated)
    return success();
  return op->emitOpError("over ")
         << axis << ' ' << does
         << " parts of which each rank gives another gradient; wanted a "
            "'zero.replicate' before, whose gradient is their sum";
}

/// Checks that a gather or a scatter of the ranks' samples has them in one
/// piece of dimension 0, in the order of the ranks.
static LogicalResult checkSamples(Operation *op, CutAttr cut) {
  if (cut.getDim() == 0 && cut.getRepeats() == 1 && cut.getPieces().size() == 1)
    return success();
  return op->emitOpError("over ")
         << cut.getOver() << " has what is of each rank's samples as " << cut
         << "; wanted one piece of dimension 0, in the order of ranks";
}

LogicalResult Values::visitGather(GatherValueOp op) {
  if (failed(checkGroup(op, op.getCut().getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  // Samples of each, though what follows from them may be the same.
  bool isOfRanks =
      isOfSamples() && (state.kind == State::Own || state.kind == State::Same);
  if (op.getCut().getOver() == axis && isOfRanks) {
    if (failed(checkSamples(op, op.getCut())))
      return failure();
    State all;
    all.isOfAll = true;
    all.isTrained = state.isTrained;
    all.isReplicated = state.isTrained && op.getReplicated();
    state = all;
  } else if (op.getCut().getOver() == axis && isUniform(state, op.getCut())) {
    if (failed(checkAddedUp(op, state, "brings together")))
      return failure();
    state.isReplicated = state.isTrained && op.getReplicated();
  } else if (op.getCut().getOver() == axis) {
    Layout wanted{static_cast<unsigned>(op.getCut().getDim()),
                  blocksOf(op.getCut())};
    bool fits = llvm::is_contained(state.layouts, wanted) ||
                (state.isOwn && op.getCut().getWholeSize() == axis.getSize());
    if (state.kind != State::Cut || state.isOfAllSamples() || !fits)
      return op.emitOpError("over ")
             << axis << " brings together what is " << describe(state)
             << ", wanted " << describe(wanted);
    State whole;
    whole.isTrained = state.isTrained;
    whole.isReplicated = state.isTrained && op.getReplicated();
    state = whole;
  } else if (op.getCut().getOver() != axis &&
             failed(scaleLayouts(op, state, op.getCut(), /*isWhole=*/false))) {
    return failure();
  }
  give(op.getResult(), state);
  return success();
}

/// Each rank gets its part of the sum, or what is of its own samples.
LogicalResult Values::visitScatter(ScatterValueOp op) {
  if (failed(checkGroup(op, op.getCut().getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getCut().getOver() == axis) {
    if (!state.isTerm() && !state.isOfRange)
      return op.emitOpError("over ")
             << axis << " adds up what is " << describe(state)
             << ", wanted the terms of a sum";
    if (state.kind == State::Same && failed(checkAddedUp(op, state, "adds up")))
      return failure();
    takeTerm(op.getValue());
    if (isOfSamples() && failed(checkSamples(op, op.getCut())))
      return failure();
    if (isOfSamples() && !state.isOfAll)
      return op.emitOpError("over ")
             << axis
             << " gives ranks their rows of what is not in the order of "
                "the samples of all; wanted what comes back of those";
    State part = isOfSamples()
                     ? State::of(State::Own)
                     : State::cut({static_cast<unsigned>(op.getCut().getDim()),
                                   blocksOf(op.getCut())});
    part.isTrained = state.isTrained;
    state = part;
  } else if (failed(scaleLayouts(op, state, op.getCut(), /*isWhole=*/true))) {
    return failure();
  }
  give(op.getResult(), state);
  return success();
}

/// The distance, in elements of `value`, between the samples of one rank and
/// those of the next, as `rows` has them; 0 if they are not contiguous.
static int64_t findSamples(Value value, CutAttr rows) {
  if (rows.getRepeats() != 1 || rows.getPieces().size() != 1)
    return 0;
  return rows.getPieces().front() / rows.getOver().getSize() *
         strideOf(value, rows.getDim());
}

/// Follows an exchange that sends each rank's samples to the ranks that have a
/// part of another dimension, or that sends them back.
LogicalResult Values::visitSamples(ExchangeValueOp op, const State &state) {
  bool isSent = state.samples == 0;
  CutAttr rows = isSent ? op.getFrom() : op.getTo();
  int64_t samples = findSamples(isSent ? op.getResult() : op.getValue(), rows);
  State result = State::of(State::Own);
  bool fits = samples != 0;
  if (isSent) {
    result = State::cut(
        {static_cast<unsigned>(op.getTo().getDim()), blocksOf(op.getTo())});
    result.samples = samples;
  } else {
    Layout wanted{static_cast<unsigned>(op.getFrom().getDim()),
                  blocksOf(op.getFrom())};
    fits &=
        samples == state.samples && llvm::is_contained(state.layouts, wanted);
  }
  if (!fits)
    return op.emitOpError("over ")
           << axis << " exchanges what is " << describe(state) << " as " << rows
           << "; wanted the samples of the ranks one behind the other";
  result.isTrained = state.isTrained;
  give(op.getResult(), result);
  return success();
}

/// Parts of one dimension become those of another.
LogicalResult Values::visitExchange(ExchangeValueOp op) {
  if (failed(checkGroup(op, op.getFrom().getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getFrom().getOver() == axis) {
    if (isOfRanks(state) || state.samples != 0)
      return visitSamples(op, state);
    Layout wanted{static_cast<unsigned>(op.getFrom().getDim()),
                  blocksOf(op.getFrom())};
    if (isUniform(state, op.getFrom()) &&
        failed(checkAddedUp(op, state, "exchanges")))
      return failure();
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
  } else if (failed(scaleLayouts(op, state, op.getFrom(), /*isWhole=*/false)) ||
             failed(scaleLayouts(op, state, op.getTo(), /*isWhole=*/true))) {
    return failure();
  }
  give(op.getResult(), state);
  return success();
}
