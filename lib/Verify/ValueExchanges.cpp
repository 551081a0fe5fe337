//===- ValueExchanges.cpp - from what ranks have to what others have ------===//

#include "ValueRules.h"
#include "Values.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// Parts are those of one axis.
LogicalResult Values::checkGroup(Operation *op, AxesAttr over) {
  if (over == axis || !isOver(over))
    return success();
  return op->emitOpError("cuts over several axes, ")
         << over << "; wanted one axis at a time";
}

/// What another axis takes or brings together of a dimension of which this one
/// has parts: as much of each block, where blocks consist of whole pieces.
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

/// What layouts become where another axis slices the whole of `cut`, or brings
/// its parts together. Of one dimension an axis of parameters has blocks, and
/// another one parts of each of them, never the other way around.
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
  // What is the same within a part need not be in the whole.
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

/// What no rank may have whole, which would have the samples of the others.
static bool isOfAllSamples(const State &state) {
  return state.samples != 0 || state.sumsSamples;
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
    if ((!state.isTerm() || isOfAllSamples(state)) && !state.isOfRange)
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

/// Each rank takes one index. Where that is of the front, what it takes may
/// have been behind it: what reshapes it says which dimension has the part.
static void makeOwn(SliceValueOp op, const State &whole, State &part) {
  part.isOwn = true;
  const int64_t dim = op.getCut().getDim();
  if (dim == 0)
    part.gathered.sizes.push_back(whole.stride ? whole.stride
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
    // Of what is the same everywhere all parts are, but each rank gives the
    // gradient of its own.
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
  }
  give(op.getResult(), state);
  return success();
}

/// Whether all indices of the dimension are the same, so that its parts are.
static bool isUniform(const State &state, CutAttr cut) {
  return state.kind == State::Same && state.isUniform(cut.getDim());
}

/// Of equal parts each rank gives the gradient of its own, which only a
/// `zero.replicate` before adds up.
LogicalResult Values::checkAddedUp(Operation *op, const State &state,
                                   StringRef does) {
  if (!state.isTrained || state.isReplicated)
    return success();
  return op->emitOpError("over ")
         << axis << ' ' << does
         << " parts of which each rank gives another gradient; wanted a "
            "'zero.replicate' before, whose gradient is their sum";
}

/// What ranks have of their own samples is in one order for all that is brought
/// together, or goes back to them.
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
    if (state.kind != State::Cut || isOfAllSamples(state) || !fits)
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

/// How far it is in `value` from one rank's samples to the next one's, which
/// are those that `rows` has; 0 where they are not one behind the other.
static int64_t findSamples(Value value, CutAttr rows) {
  if (rows.getRepeats() != 1 || rows.getPieces().size() != 1)
    return 0;
  return rows.getPieces().front() / rows.getOver().getSize() *
         strideOf(value, rows.getDim());
}

/// What each rank has of its own samples goes to those that have a part of
/// another dimension, and back.
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

/// The outermost dimension along which all ranks have one value, though not
/// one for all elements: each has a part of it.
static std::optional<Layout> findUniformPart(const State &state, Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  auto isUniform = [&](size_t dim) {
    return shape[dim] == 1 || state.isUniform(dim);
  };
  if (state.kind != State::Same ||
      llvm::all_of(llvm::seq(shape.size()), isUniform))
    return std::nullopt;
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (extent > 1 && isUniform(dim)) {
      Layout layout;
      layout.dim = dim;
      layout.blocks.sizes.push_back(extent);
      return layout;
    }
  return std::nullopt;
}

/// Whether a rank has one block of what is cut.
static bool isOneBlock(const Layout &layout, ArrayRef<int64_t> shape) {
  return layout.blocks.begin == 0 &&
         ArrayRef(layout.blocks.sizes) == shape.slice(layout.dim, 1);
}

static void addLayout(SmallVectorImpl<Layout> &layouts, unsigned dim,
                      int64_t size) {
  Layout layout;
  layout.dim = dim;
  layout.blocks.sizes.push_back(size);
  if (!llvm::is_contained(layouts, layout))
    layouts.push_back(layout);
}

/// What comes of the ranks of another axis, and is in front, may be in one
/// block with the one that a rank has.
static void addFront(SmallVectorImpl<Layout> &layouts,
                     ArrayRef<int64_t> shape) {
  if (llvm::any_of(layouts, [&](const Layout &layout) {
        return layout.dim != 0 && isOneBlock(layout, shape);
      }))
    addLayout(layouts, /*dim=*/0, shape[0]);
}

LogicalResult Values::visitStartGather(StartAllGatherOp op) {
  if (failed(checkGroup(op, op.getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getOver() != axis) {
    if (state.kind == State::Sorted || state.kind == State::Placed)
      return op.emitOpError("over ")
             << op.getOver() << " brings together rows in the order of each "
             << "rank's experts over " << axis
             << "; wanted operations between that need no more than a part, or "
                "one of the axes";
    // The ranks of the other axis are dimension 0 of what arrives.
    state.isOfAll = false;
    for (Layout &layout : state.layouts)
      ++layout.dim;
    state.uniform <<= 1;
    for (auto &repeat : state.repeats)
      ++repeat.first;
    SmallVector<int64_t> shape{op.getOver().getSize()};
    llvm::append_range(
        shape, cast<RankedTensorType>(op.getValue().getType()).getShape());
    addFront(state.layouts, shape);
    give(op.getPending(), state);
    return success();
  }
  if (std::optional<Layout> layout =
          isOfSamples() ? std::nullopt : findUniformPart(state, op.getValue()))
    state = State::cut(*layout);
  // Of what is the same everywhere all parts are.
  const int64_t rank = op.getTensorType().getRank();
  const uint64_t all = rank < 64 ? (uint64_t(1) << rank) - 1 : 0;
  if (state.kind == State::Same && all != 0 && (state.uniform & all) == all) {
    state.uniform = ~uint64_t(0);
    give(op.getPending(), state);
    return success();
  }
  if ((state.kind != State::Cut || isOfAllSamples(state)) && !isOfRanks(state))
    return op.emitOpError("over ")
           << axis << " brings together what is " << describe(state)
           << ", wanted parts of a dimension";
  State gathered;
  gathered.isOfAll = isOfRanks(state);
  if (state.kind == State::Cut && !state.isOwn) {
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

/// Of the dimensions that may be the one that is cut, those of which a rank has
/// several indices, if there are any: one index may as well be of a dimension
/// that a reshape has inserted.
static SmallVector<Layout, 1> likelyLayouts(Value value, const State &state) {
  auto type = cast<RankedTensorType>(value.getType());
  auto isLong = [&](const Layout &layout) {
    return layout.dim != 0 && type.getDimSize(layout.dim) > 1;
  };
  SmallVector<Layout, 1> likely(llvm::make_filter_range(state.layouts, isLong));
  return likely.empty() ? state.layouts : likely;
}

/// What arrives of `value`, whose rows go to the ranks, where that is a part of
/// the first dimension that may be the one that is cut.
std::optional<State> Values::exchanged(Value value, const State &state) const {
  int64_t block = state.stride ? state.stride : strideOf(value, 0);
  for (const Layout &layout : likelyLayouts(value, state)) {
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
    // Indices of what was within the dimension of the ranks are within a part.
    const bool isWithin =
        state.stride ? layout.dim > state.front : inner * extent <= block;
    gathered.part = isWithin ? block * axis.getSize() : block;
    return gathered;
  }
  return std::nullopt;
}

/// What arrives of each rank's own samples, whose rows go to the ranks of
/// another dimension.
static State samplesSent(AllToAllOp op, const State &state) {
  int64_t row = strideOf(op.getValue(), 0);
  State sent = partOfBlock(op.getTensorType().getShape(),
                           state.stride ? state.stride : row);
  sent.samples = row;
  return sent;
}

/// What ranks have behind an exchange of the rows of `value` over another axis:
/// where all rows were one block of what is cut, one of them, of any dimension
/// of one index.
static SmallVector<Layout, 1> layoutsBehind(Value value, const State &state) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<Layout, 1> behind;
  for (const Layout &layout : state.layouts)
    if (layout.dim != 0)
      behind.push_back(layout);
  if (llvm::any_of(state.layouts, [&](const Layout &layout) {
        return layout.dim == 0 && isOneBlock(layout, shape);
      }))
    for (unsigned dim = 1; dim < shape.size(); ++dim)
      if (shape[dim] == 1)
        addLayout(behind, dim, /*size=*/1);
  addFront(behind, shape);
  return behind;
}

/// Rows of the front go to the ranks, and what each of them has of its part
/// comes: behind it the parts of the other dimension are in order of the ranks.
LogicalResult Values::visitAllToAll(AllToAllOp op) {
  State state = statesOf(op.getValue()).front();
  if (!isOver(op.getOver())) {
    SmallVector<Layout, 1> kept = layoutsBehind(op.getValue(), state);
    if (state.kind == State::Gathered || state.isOwn ||
        (kept.empty() && !state.layouts.empty()))
      return op.emitOpError("exchanges rows over ")
             << op.getOver() << " of what is over " << axis << ' '
             << describe(state) << "; wanted all rows on each rank";
    state.layouts = std::move(kept);
    state.uniform &= ~uint64_t(1);
    state.dropRepeats(0);
    give(op.getPending(), state);
    return success();
  }
  if (failed(checkGroup(op, op.getOver())))
    return failure();
  auto type = cast<RankedTensorType>(op.getValue().getType());
  bool hasRanks = type.getDimSize(0) == axis.getSize();
  if (isOfRanks(state) && hasRanks) {
    give(op.getPending(), samplesSent(op, state));
    return success();
  }
  if (state.kind == State::Term && state.isOfAll && isOfSamples() && hasRanks) {
    give(op.getPending(), State::of(State::Terms));
    return success();
  }
  const bool isAddedUp = (state.isTerm() || state.isOfRange) &&
                         !isOfSamples() && !isOfAllSamples(state) && hasRanks;
  State terms = State::of(State::Terms);
  terms.stride = state.stride ? state.stride : strideOf(op.getValue(), 0);
  if (isAddedUp && !state.mayBeTerm) {
    give(op.getPending(), terms);
    return success();
  }
  std::optional<State> gathered;
  if (state.kind == State::Cut && hasRanks &&
      (state.samples == 0 || state.samples == strideOf(op.getValue(), 0)))
    gathered = exchanged(op.getValue(), state);
  if (!gathered && isAddedUp)
    gathered = terms;
  if (!gathered)
    return op.emitOpError("over ")
           << axis << " exchanges what is " << describe(state)
           << ", wanted parts of a dimension, or the terms of a sum, behind "
              "one of the ranks";
  gathered->isOfSamples = state.samples != 0;
  State received = settled(*gathered, type.getShape());
  received.mayBeTerms = isAddedUp ? terms.stride : 0;
  give(op.getPending(), received);
  return success();
}
