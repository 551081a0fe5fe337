//===- ValueGathers.cpp - parts of all ranks, on their way to the whole ---===//
//
// What a gather gives has the ranks in front, and moves bring the parts into
// the order of the whole. In the order of memory the elements of one rank are
// blocks, and those of the next rank are `stride` behind.
//
//===----------------------------------------------------------------------===//

#include "ValueRules.h"

#include "zero/Interfaces/Interfaces.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// The distance between neighbouring indices of dimension `dim`, in elements.
static int64_t strideOf(ArrayRef<int64_t> shape, int64_t dim) {
  return llvm::product_of(shape.drop_front(dim + 1));
}

State verify::partOfBlock(ArrayRef<int64_t> shape, int64_t block) {
  State result;
  result.kind = State::Cut;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    int64_t inner = strideOf(shape, static_cast<int64_t>(dim));
    if (block % inner != 0 || (inner * extent) % block != 0 ||
        (block == inner && extent != 1))
      continue;
    Layout &layout = result.layouts.emplace_back();
    layout.dim = dim;
    layout.blocks.sizes.push_back(block / inner);
  }
  return result;
}

/// The layouts in which ranks have the indices of a dimension in turn, because
/// a dimension of the ranks has been merged into it.
static SmallVector<Layout, 1> layoutsInTurn(ArrayRef<int64_t> shape,
                                            int64_t block) {
  SmallVector<Layout, 1> layouts;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (extent == 1 || strideOf(shape, static_cast<int64_t>(dim)) != block)
      continue;
    Layout &layout = layouts.emplace_back();
    layout.dim = dim;
    layout.blocks.sizes.push_back(1);
  }
  return layouts;
}

/// Adds layouts of the dimension around a block: if a rank has one index and a
/// block is the inside of it, the index may be of that dimension as well.
static void readAround(State &state, ArrayRef<int64_t> shape, int64_t block) {
  for (Layout &layout : state.layouts)
    layout.blocks.isOneIndex = true;
  if (!state.layouts.empty())
    llvm::append_range(state.layouts, layoutsInTurn(shape, block));
}

State verify::settled(State state, ArrayRef<int64_t> shape) {
  if (state.kind != State::Gathered ||
      ArrayRef(state.gathered) != ArrayRef(state.stride))
    return state;
  if (state.isOfSamples)
    return State::of(State::Own);
  if (!state.part)
    return State();
  State result = partOfBlock(shape, state.part);
  if (state.isOneIndex)
    readAround(result, shape, state.part);
  return result;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

namespace {
/// The layout of one result of a move in the memory of its operand.
struct Moved {
  ArrayRef<int64_t> from, to;
  TensorLayout layout;

  bool isWhole() const {
    return llvm::product_of(from) == llvm::product_of(to);
  }
  bool isReshape() const { return isWhole() && isDense(layout, to); }
  bool movesOnly(size_t dim) const;
};
} // namespace

static std::optional<Moved> findMoved(Operation *op, unsigned result) {
  auto move = dyn_cast<MoveOpInterface>(op);
  if (!move || op->getNumOperands() != 1)
    return std::nullopt;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0));
  auto layout = move.getResultLayout(result, getDenseLayout(from));
  if (!layout)
    return std::nullopt;
  return Moved{from, shapeOf(op->getResult(result)), *layout};
}

/// Whether all dimensions of the result but `moved` are in the order that they
/// had.
bool Moved::movesOnly(size_t moved) const {
  int64_t last = std::numeric_limits<int64_t>::max();
  for (auto [dim, stride] : llvm::enumerate(layout.strides)) {
    if (dim == moved || to[dim] == 1)
      continue;
    if (stride > last)
      return false;
    last = stride;
  }
  return isWhole();
}

//===----------------------------------------------------------------------===//
// From the parts to the whole
//===----------------------------------------------------------------------===//

/// The state behind a move that takes the dimension of the ranks elsewhere.
static std::optional<State> moveRanks(const Moved &moved, State state,
                                      int64_t ranks) {
  for (auto [dim, stride] : llvm::enumerate(moved.layout.strides)) {
    if (moved.to[dim] != ranks || stride != state.stride)
      continue;
    if (!moved.movesOnly(dim))
      return std::nullopt;
    state.stride = strideOf(moved.to, static_cast<int64_t>(dim));
    return settled(state, moved.to);
  }
  return std::nullopt;
}

/// The one dimension of which the result has a part.
static std::optional<size_t> findCutDim(const Moved &moved) {
  std::optional<size_t> found;
  if (moved.from.size() != moved.to.size())
    return std::nullopt;
  for (size_t dim = 0; dim < moved.from.size(); ++dim) {
    if (moved.from[dim] == moved.to[dim])
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// The blocks, in elements, that a move takes of `blocks` if it takes part of
/// `dim`.
static std::optional<SmallVector<int64_t, 2>>
takeBlocks(const Moved &moved, size_t dim, ArrayRef<int64_t> blocks) {
  int64_t inner = moved.layout.strides[dim];
  Blocks rows;
  rows.sizes.append(blocks.begin(), blocks.end());
  std::optional<Blocks> all = rows.within(inner);
  if (!all || !all->fills(moved.from[dim]))
    return std::nullopt;
  std::optional<Blocks> part =
      all->window(moved.layout.offset / inner, moved.to[dim]);
  if (!part || !part->fills(moved.to[dim]))
    return std::nullopt;
  return llvm::map_to_vector<2>(part->sizes,
                                [&](int64_t size) { return size * inner; });
}

/// The state behind a move that takes some of the blocks of each rank.
static std::optional<State> takePieces(const Moved &moved, State state) {
  std::optional<size_t> dim = findCutDim(moved);
  if (!dim || moved.layout.strides != getDenseLayout(moved.from).strides)
    return std::nullopt;
  int64_t extent = moved.from[*dim];
  if (state.stride % (moved.layout.strides[*dim] * extent) != 0)
    return std::nullopt;
  state.stride = state.stride / extent * moved.to[*dim];
  auto taken = takeBlocks(moved, *dim, state.gathered);
  if (!taken)
    return std::nullopt;
  state.gathered = std::move(*taken);
  return settled(state, moved.to);
}

static std::optional<State> moveGathered(const Moved &moved, const State &state,
                                         int64_t ranks) {
  if (moved.isReshape())
    return state;
  return moved.isWhole() ? moveRanks(moved, state, ranks)
                         : takePieces(moved, state);
}

//===----------------------------------------------------------------------===//
// From the whole to one's own
//===----------------------------------------------------------------------===//

/// Sets `stride`, `front` and `isOneIndex` of `state`, that behind a move, if
/// the move only brings a dimension of the ranks to the front; returns whether.
static bool rememberFront(const Moved &moved, State &state, int64_t ranks) {
  if (moved.to.empty() || moved.to.front() != ranks || !moved.movesOnly(0))
    return false;
  const int64_t stride = moved.layout.strides.front();
  bool isFound = false;
  for (auto [dim, extent] : llvm::enumerate(moved.from)) {
    if (extent != ranks || strideOf(moved.from, int64_t(dim)) != stride)
      continue;
    isFound = true;
    state.stride = stride;
    state.front = dim;
    state.isOneIndex = dim + 1 < moved.from.size() && moved.from[dim + 1] == 1;
  }
  return isFound;
}

/// The state behind a move that brings the dimension of the ranks to the front,
/// where each rank can take its own index; `stride` remembers from where.
static std::optional<State> bringToFront(const Moved &moved, State state,
                                         int64_t ranks) {
  if (state.isUniformSomewhere() || moved.isReshape() ||
      !rememberFront(moved, state, ranks))
    return std::nullopt;
  return state;
}

void verify::setFront(State &state, Operation *op, int64_t ranks) {
  if (std::optional<Moved> moved = findMoved(op, /*result=*/0))
    rememberFront(*moved, state, ranks);
}

/// The state of a rank's own value behind a reshape: the dimensions that whole
/// blocks fill. A number has none.
static std::optional<State> reshapeOwn(ArrayRef<int64_t> shape,
                                       const State &operand) {
  if (!operand.numbers.empty() && shape.empty()) {
    State number = operand;
    number.layouts.clear();
    return number;
  }
  const int64_t block = operand.gathered.front();
  State result = partOfBlock(shape, block);
  if (operand.isOneIndex)
    readAround(result, shape, block);
  // A single element is a rank's own, and also its part of each dimension.
  if (!result.layouts.empty() && llvm::product_of(shape) == 1) {
    result.isOwn = true;
    result.gathered = operand.gathered;
  }
  if (!result.layouts.empty())
    return result;
  // The value is a rank's own, as before; its reader decides of which dimension
  // it is a part.
  result = operand;
  result.gathered.clear();
  result.layouts = layoutsInTurn(shape, block);
  return result.layouts.empty() ? std::nullopt : std::optional(result);
}

//===----------------------------------------------------------------------===//
// Any of them
//===----------------------------------------------------------------------===//

static std::optional<State> move(const Moved &moved, const State &state,
                                 int64_t ranks) {
  switch (state.kind) {
  case State::Gathered:
    return moveGathered(moved, state, ranks);
  case State::Same:
    return bringToFront(moved, state, ranks);
  case State::Cut:
    if (state.isOwn && !state.gathered.empty() && moved.isReshape())
      return reshapeOwn(moved.to, state);
    return std::nullopt;
  case State::None:
  case State::Term:
  case State::Own:
  case State::Sorted:
  case State::Placed:
  case State::Terms:
    return std::nullopt;
  }
  llvm_unreachable("all kinds are covered");
}

std::optional<States> verify::applyMove(Operation *op, const State &operand,
                                        int64_t ranks) {
  States results;
  for (unsigned result = 0; result < op->getNumResults(); ++result) {
    std::optional<Moved> moved = findMoved(op, result);
    std::optional<State> state =
        moved ? move(*moved, operand, ranks) : std::nullopt;
    if (!state)
      return std::nullopt;
    results.push_back(*state);
  }
  return results;
}
