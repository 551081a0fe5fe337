//===- ValueStates.h - what the ranks of an axis have of a value -*- C++
//-*-===//
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
};
using Repeats = SmallVector<Repeat, 2>;

/// What the ranks of an axis have of one value.
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

  /// Same, and Cut: bit d says that all indices of dimension d have one value,
  /// so that every part of it is the same as well.
  uint64_t uniform = 0;
  /// The same of a part of the digits of an index of a dimension.
  SmallVector<std::pair<unsigned, Repeat>, 0> repeats;
  /// Same, and Cut: it may as well be the term of a sum, over what is the same
  /// along its indices, or over a dimension of which a rank has one index. What
  /// reads the value says which.
  bool mayBeTerm = false;
  /// Of what was exchanged: that may as well be Terms, of this `stride`; 0
  /// where it may not.
  int64_t mayBeTerms = 0;
  /// Same: every element is 0.
  bool isZero = false;

  /// Cut: how. Several where that is not known, because a rank has one index
  /// of a dimension: what reads the value says which.
  SmallVector<Layout, 1> layouts;
  /// Cut: each rank has one of as many values as there are ranks, which
  /// operations take as the part of any dimension.
  bool isOwn = false;
  /// Own: an integer of each rank, in their order.
  SmallVector<int64_t, 0> numbers;
  /// Own: whether something that all ranks have is added to the numbers.
  bool isWithin = false;
  /// Own: what ranges give that is combined, perhaps by a sum.
  bool isOfRange = false;

  /// Of integers: which value it is, through views and recomputation. Sorted,
  /// Placed, and where such rows end: of which integers the order was made.
  const void *identity = nullptr, *order = nullptr;
  /// Same, and Term: the samples of all ranks, or what comes of them, one
  /// rank's behind those of the one before in dimension 0.
  bool isOfAll = false;
  /// Sorted: rows that stand for no choice are 0.
  bool hasZeroRows = false;

  /// Cut: what follows from the samples of all ranks, which each has sent to
  /// those that have a part of the dimension that is cut: how far it is in
  /// elements from one rank's to the next one's; 0 where it is not of samples.
  int64_t samples = 0;
  /// Cut, and Term: what is added up over the samples of all ranks.
  bool sumsSamples = false;
  /// Gathered: in order it is of each rank's own samples.
  bool isOfSamples = false;

  /// Gathered: how far it is from the element of one rank to that of the next,
  /// and the blocks, in elements, that are in order. What is sliced next has
  /// the `stride` as well, where ranks were brought to the front, and what is
  /// its own the blocks.
  int64_t stride = 0;
  /// Of what is sent: the dimension that came to the front by `stride`.
  size_t front = 0;
  /// Of what is sent, sliced next, arrives so, or is its own: a rank has one
  /// index of the dimension that comes apart, since that behind the ranks' in
  /// the front has one.
  bool isOneIndex = false;
  SmallVector<int64_t, 2> gathered;
  /// Gathered: of what was exchanged, the elements of a block of the dimension
  /// that each rank has got a part of; 0 where all have the same. Of what is
  /// sent, a dimension of the ranks has come to the front by `stride`. Terms:
  /// `stride` as well; 0 where they are of each rank's own samples.
  int64_t part = 0;

  /// Of a model, where gradients are still to be made: whether the value
  /// depends on what is trained, and whether its gradient is a term on each
  /// rank, which a `zero.replicate` adds up.
  bool isTrained = false, isReplicated = false;

  bool isUniform(unsigned dim) const { return uniform >> dim & 1; }
  /// Whether it is the same along any of a dimension.
  bool isUniformSomewhere() const { return uniform || !repeats.empty(); }
  void dropRepeats(unsigned dim) {
    llvm::erase_if(repeats,
                   [&](const auto &repeat) { return repeat.first == dim; });
  }
  /// What no rank may have whole, which would have the samples of the others.
  bool isOfAllSamples() const { return samples != 0 || sumsSamples; }
  bool isTerm() const { return kind == Term || mayBeTerm; }
  /// The term, or, of what was exchanged, the terms, that it may be.
  std::optional<State> asTerm() const {
    if (!mayBeTerm && !mayBeTerms)
      return std::nullopt;
    State terms = of(mayBeTerms ? Terms : Term);
    terms.stride = mayBeTerms;
    terms.isTrained = isTrained;
    return terms;
  }
  /// One more way in which it may be cut.
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
  /// What was in front may be of any other dimension of one index.
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
