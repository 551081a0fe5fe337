//===- ValueArrivals.cpp - what is gathered and exchanged while others run ===//
//
// A gather or an exchange that is started gives what other ranks sent, in
// their order; moves behind it bring that into the order of the whole.
//
//===----------------------------------------------------------------------===//

#include "ValueRules.h"
#include "Values.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

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

/// Adds a layout of dimension 0, which has the ranks of another axis, if a rank
/// has one block of another dimension: both may lie in one block.
static void addFront(State &state, ArrayRef<int64_t> shape) {
  if (llvm::any_of(state.layouts, [&](const Layout &layout) {
        return layout.dim != 0 && isOneBlock(layout, shape);
      }))
    state.addLayout(/*dim=*/0, shape[0]);
}

/// The blocks of what is cut, in elements.
static SmallVector<int64_t, 2> elementsOf(Value value, const Layout &layout) {
  const int64_t inner = strideOf(value, layout.dim);
  return llvm::map_to_vector<2>(layout.blocks.sizes,
                                [&](int64_t size) { return size * inner; });
}

/// The ranks of another axis are dimension 0 of what arrives.
LogicalResult Values::gatherOther(StartAllGatherOp op, State state) {
  if (state.kind == State::Sorted || state.kind == State::Placed)
    return op.emitOpError("over ")
           << op.getOver() << " brings together rows in the order of each "
           << "rank's experts over " << axis
           << "; wanted operations between that need no more than a part, or "
              "one of the axes";
  state.isOfAll = false;
  for (Layout &layout : state.layouts)
    ++layout.dim;
  state.uniform <<= 1;
  for (auto &repeat : state.repeats)
    ++repeat.first;
  SmallVector<int64_t> shape{op.getOver().getSize()};
  llvm::append_range(shape, op.getTensorType().getShape());
  addFront(state, shape);
  give(op.getPending(), state);
  return success();
}

LogicalResult Values::visitStartGather(StartAllGatherOp op) {
  if (failed(checkGroup(op, op.getOver())))
    return failure();
  State state = statesOf(op.getValue()).front();
  if (op.getOver() != axis)
    return gatherOther(op, state);
  if (std::optional<Layout> layout =
          isOfSamples() ? std::nullopt : findUniformPart(state, op.getValue()))
    state = State::cut(*layout);
  // A value whose elements are all equal is gathered to equal elements.
  const int64_t rank = op.getTensorType().getRank();
  const uint64_t all = rank < 64 ? (uint64_t(1) << rank) - 1 : 0;
  if (state.kind == State::Same && all != 0 && (state.uniform & all) == all) {
    state.uniform = ~uint64_t(0);
    give(op.getPending(), state);
    return success();
  }
  if ((state.kind != State::Cut || state.isOfAllSamples()) && !isOfRanks(state))
    return op.emitOpError("over ")
           << axis << " brings together what is " << describe(state)
           << ", wanted parts of a dimension";
  State gathered;
  gathered.isOfAll = isOfRanks(state);
  if (state.kind == State::Cut && !state.isOwn) {
    gathered.kind = State::Gathered;
    gathered.stride = op.getTensorType().getNumElements();
    gathered.gathered = elementsOf(op.getValue(), state.layouts.front());
  }
  give(op.getPending(), settled(gathered, op.getTensorType().getShape()));
  return success();
}

/// The layouts whose dimension has several indices on a rank, or all layouts if
/// there is none: a dimension of one index may as well be one that a reshape
/// has inserted.
static SmallVector<Layout, 1> likelyLayouts(Value value, const State &state) {
  auto type = cast<RankedTensorType>(value.getType());
  auto isLong = [&](const Layout &layout) {
    return layout.dim != 0 && type.getDimSize(layout.dim) > 1;
  };
  SmallVector<Layout, 1> likely(llvm::make_filter_range(state.layouts, isLong));
  return likely.empty() ? state.layouts : likely;
}

/// The state after an exchange of the rows of `value`, by the first likely
/// layout of a dimension other than 0; nothing if there is none.
std::optional<State> Values::exchanged(Value value, const State &state) const {
  SmallVector<Layout, 1> likely = likelyLayouts(value, state);
  const Layout *layout = llvm::find_if(
      likely, [](const Layout &layout) { return layout.dim != 0; });
  if (layout == likely.end())
    return std::nullopt;
  State gathered = State::of(State::Gathered);
  gathered.stride = strideOf(value, 0);
  gathered.gathered = elementsOf(value, *layout);
  gathered.isOneIndex = state.isOneIndex;
  // Indices inside the dimension of the ranks are inside a part.
  const int64_t block = state.stride ? state.stride : gathered.stride;
  const int64_t elements =
      strideOf(value, layout->dim) *
      cast<RankedTensorType>(value.getType()).getDimSize(layout->dim);
  const bool isWithin =
      state.stride ? layout->dim > state.front : elements <= block;
  gathered.part = isWithin ? block * axis.getSize() : block;
  return gathered;
}

/// The state after an exchange of each rank's own samples, whose rows go to the
/// ranks that have parts of another dimension.
static State samplesSent(AllToAllOp op, const State &state) {
  int64_t row = strideOf(op.getValue(), 0);
  State sent = partOfBlock(op.getTensorType().getShape(),
                           state.stride ? state.stride : row);
  sent.samples = row;
  return sent;
}

/// Sets what ranks have behind an exchange of the rows of `value` over another
/// axis: where all rows were one block of what is cut, one of them.
static void moveBehind(State &state, Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  SmallVector<Layout, 1> before = std::move(state.layouts);
  state.layouts.clear();
  llvm::copy_if(before, std::back_inserter(state.layouts),
                [](const Layout &layout) { return !isInFront(layout); });
  if (llvm::any_of(before, [&](const Layout &layout) {
        return isInFront(layout) && isOneBlock(layout, shape);
      }))
    state.addUnits(shape);
  addFront(state, shape);
}

/// Follows an exchange that sends rows to the ranks of another axis.
LogicalResult Values::exchangeOther(AllToAllOp op, State state) {
  State behind = state;
  moveBehind(behind, op.getValue());
  if (state.kind == State::Gathered || state.isOwn ||
      (behind.layouts.empty() && !state.layouts.empty()))
    return op.emitOpError("exchanges rows over ")
           << op.getOver() << " of what is over " << axis << ' '
           << describe(state) << "; wanted all rows on each rank";
  state = behind;
  state.uniform &= ~uint64_t(1);
  state.dropRepeats(0);
  give(op.getPending(), state);
  return success();
}

/// Follows an exchange over this axis: rows of dimension 0 go to the ranks, and
/// each rank's part of these rows arrives; behind dimension 0, the parts of the
/// other dimension are in the order of the ranks.
LogicalResult Values::visitAllToAll(AllToAllOp op) {
  State state = statesOf(op.getValue()).front();
  if (!isOver(op.getOver()))
    return exchangeOther(op, state);
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
                         !isOfSamples() && !state.isOfAllSamples() && hasRanks;
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
