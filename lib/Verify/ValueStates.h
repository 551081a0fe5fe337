//===- ValueStates.h - what ranks have of a value ---------------*- C++ -*-===//
#ifndef ZERO_VERIFY_VALUESTATES_H
#define ZERO_VERIFY_VALUESTATES_H

#include "ValueLayouts.h"

namespace mlir::zero::verify {

/// A dimension that is cut.
struct Layout {
  unsigned dim = 0;
  Blocks blocks;

  bool operator==(const Layout &other) const {
    return dim == other.dim && blocks == other.blocks;
  }
};

/// Along a dimension, indices that differ only in index / stride % (span /
/// stride) have one value.
struct Repeat {
  int64_t stride, span;
  /// Whether all parts of a dimension, of which a rank has `blocks`, are equal.
  bool holdsFor(const Blocks &blocks) const {
    std::optional<Blocks> digits = blocks.within(stride);
    return digits && digits->fills(span / stride);
  }
};
using Repeats = SmallVector<Repeat, 2>;

/// The state of a value over an axis: the part of it that each rank has.
struct State {
  enum Kind {
    None,     ///< nothing that an operation of the model may read
    Same,     ///< all have the same
    Cut,      ///< each has a part
    Term,     ///< each has a term of a sum
    Gathered, ///< all have the parts of all of them, in the order of ranks
    Own,      ///< each has what follows from samples of its own
    Sorted,   ///< each has rows in an order of its own, of its experts
    Placed,   ///< each has integers that say where such rows are
    Terms, ///< each has a term of all ranks for its part, one behind the other
  };
  Kind kind = Same;

  /// Of `Same` and `Cut`: bit d says that all indices of dimension d have one
  /// value, so that all parts of the dimension are equal as well.
  uint64_t uniform = 0;
  /// Dimensions along which the value is equal only for some digits of the
  /// index.
  SmallVector<std::pair<unsigned, Repeat>, 0> repeats;
  /// Of `Same` and `Cut`: the value may also be read as the term of a sum,
  /// either because its operands are equal along the indices that were summed,
  /// or because a rank has one index of that dimension. The reader of the value
  /// decides.
  bool mayBeTerm = false;
  /// Of an exchanged value: the `stride` of the `Terms` as which it may also be
  /// read; 0 if it may not.
  int64_t mayBeTerms = 0;
  /// Of `Same`: every element is 0.
  bool isZero = false;

  /// Of `Cut`: how the value is cut. There are several layouts if a rank has
  /// one index of a dimension, so that they cannot be told apart; the reader of
  /// the value decides.
  SmallVector<Layout, 1> layouts;
  /// Of `Cut`: the value is one of a list with one value per rank; operations
  /// may read it as a part of any dimension.
  bool isOwn = false;
  /// Of an own value: the integer that each rank has, in the order of the
  /// ranks.
  SmallVector<int64_t, 0> numbers;
  /// Of `numbers`: whether a value that is equal on all ranks was added to
  /// them.
  bool isWithin = false;
  /// Of an own value: the result of an operation on a range of each rank, which
  /// is still to be combined over the ranks, perhaps by a sum.
  bool isOfRange = false;

  /// `identity`, of integers: the value that they are, through views and
  /// recomputation. `order`, of sorted rows and all that goes with them: the
  /// integers that decided the order.
  const void *identity = nullptr, *order = nullptr;
  /// Of `Same` and `Term`: dimension 0 has the samples of all ranks, or values
  /// computed from them, in the order of the ranks.
  bool isOfAll = false;
  /// Of `Sorted`: rows that stand for no choice are 0.
  bool hasZeroRows = false;

  /// Of `Cut`: the distance, in elements, between the samples of one rank and
  /// those of the next, if the value depends on the samples of all ranks, which
  /// were sent to the ranks that have a part of the dimension; 0 otherwise.
  int64_t samples = 0;
  /// Of `Cut` and `Term`: the value is a sum over the samples of all ranks.
  bool sumsSamples = false;
  /// Of `Gathered`: once in order, the value is of each rank's own samples.
  bool isOfSamples = false;

  /// Of `Gathered`: the distance, in elements, between an element of one rank
  /// and that of the next; `gathered` has the sizes, in elements, of the blocks
  /// that are in order. A value that is sliced next has the same `stride`, if a
  /// dimension of the ranks was moved to the front; a rank's own value has the
  /// same block.
  int64_t stride = 0;
  /// Of a value to be sent or sliced: the dimension that was moved to the
  /// front.
  size_t front = 0;
  /// Of a value to be sent or sliced, one that has arrived so, or a rank's own:
  /// a rank has one index of the dimension that was taken apart, since the
  /// dimension behind that of the ranks has one.
  bool isOneIndex = false;
  SmallVector<int64_t, 2> gathered;
  /// Of `Gathered`, after an exchange: the elements of a block of the dimension
  /// of which each rank has got a part; 0 if all ranks have the same value.
  /// `stride` is set as well for a value to be sent, if a dimension of the
  /// ranks was moved to the front, and for `Terms`, unless they are of each
  /// rank's own samples.
  int64_t part = 0;

  /// In a model, whose gradients are still to be built: whether the value
  /// depends on trained parameters, and whether its gradient is a term on each
  /// rank, which a `zero.replicate` adds up.
  bool isTrained = false, isReplicated = false;

  bool isUniform(unsigned dim) const { return uniform >> dim & 1; }
  /// Whether each rank has the part that `layout` gives it: the value is cut
  /// so or, `orEqual`, equal on all ranks and for all of these parts.
  bool isCutBy(const Layout &layout, bool orEqual) const;
  /// Whether the value is equal along some dimension, or for some digits of an
  /// index.
  bool isUniformSomewhere() const { return uniform || !repeats.empty(); }
  void dropRepeats(unsigned dim) {
    llvm::erase_if(repeats,
                   [&](const auto &repeat) { return repeat.first == dim; });
  }
  /// Whether the value depends on the samples of all ranks, so that no rank may
  /// have all of it.
  bool isOfAllSamples() const { return samples != 0 || sumsSamples; }
  bool isTerm() const { return kind == Term || mayBeTerm; }
  /// The state of this value read as a term or, after an exchange, as terms;
  /// nothing if it may not be read so.
  std::optional<State> asTerm() const {
    if (!mayBeTerm && !mayBeTerms)
      return std::nullopt;
    State terms = of(mayBeTerms ? Terms : Term);
    terms.stride = mayBeTerms;
    terms.isTrained = isTrained;
    return terms;
  }
  /// Adds another way in which the value may be cut.
  void addLayout(const Layout &layout) {
    if (!llvm::is_contained(layouts, layout))
      layouts.push_back(layout);
  }
  void addLayout(unsigned dim, int64_t size) {
    Layout layout;
    layout.dim = dim;
    layout.blocks.sizes.push_back(size);
    addLayout(layout);
  }
  /// Adds a layout for each dimension of size 1 behind the first: the leading
  /// dimension may have been any of them.
  void addUnits(ArrayRef<int64_t> shape) {
    for (unsigned dim = 1; dim < shape.size(); ++dim)
      if (shape[dim] == 1)
        addLayout(dim, /*size=*/1);
  }
  static State none() { return of(None); }
  static State of(Kind kind) {
    State state;
    state.kind = kind;
    return state;
  }
  static State term() { return of(Term); }
  static State cut(Layout layout) {
    State state;
    state.kind = Cut;
    state.layouts.push_back(std::move(layout));
    return state;
  }
};

/// For messages: "cut in dimension 1, 16 then 8 indices of each piece a rank".
std::string describe(const State &state);
std::string describe(const Layout &layout);

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VALUESTATES_H
