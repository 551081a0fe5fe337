//===- ValueLayouts.h - which part of a dimension a rank has ----*- C++ -*-===//
//
// Where the indices of a dimension on one rank are in the whole dimension, and
// how that follows through what operations say of their dimensions. Written
// apart from `Sharding`, which decides what is cut.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_VERIFY_VALUELAYOUTS_H
#define ZERO_VERIFY_VALUELAYOUTS_H

#include "zero/Dialect/Zero/Zero.h"

#include "program/Factors.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zero::verify {

/// A rank's indices of a dimension that is cut: blocks one behind the other,
/// and again from the first. In the whole dimension, each block stands as often
/// as there are ranks, and the r-th is that of rank r.
struct Blocks {
  SmallVector<int64_t, 2> sizes;
  /// The index of the first block at which the dimension begins; what begins or
  /// ends within a block is a window of the dimension.
  int64_t begin = 0;
  /// The dimensions that were made this one, outer to inner, and which of them
  /// is cut; empty where that is not known.
  SmallVector<int64_t, 2> parts;
  unsigned part = 0;
  /// Each rank has one index of the cut dimension, and a block spans the
  /// dimensions inside it; the index may as well belong to the dimension around
  /// it.
  bool isOneIndex = false;

  bool operator==(const Blocks &other) const {
    return sizes == other.sizes && begin == other.begin;
  }
  bool operator!=(const Blocks &other) const { return !(*this == other); }

  /// The one form of equal blocks of a dimension of `extent` indices; nothing
  /// where there are too many.
  std::optional<Blocks> normalized(int64_t extent) const;
  /// Indices [offset, offset + extent).
  std::optional<Blocks> window(int64_t offset, int64_t extent) const;
  /// Whether a rank has one index of each block.
  bool isOneByOne() const;
  /// The same blocks in units of `stride` indices; nothing if a size or `begin`
  /// is no multiple of it.
  std::optional<Blocks> within(int64_t stride) const;
  /// Whether whole blocks fill a dimension of `extent` indices.
  bool fills(int64_t extent) const;
};

/// The blocks of a rank in a dimension that `cut` cuts.
Blocks blocksOf(CutAttr cut);

/// The factors of an operation that are cut, and how.
using CutFactors = llvm::SmallMapVector<size_t, Blocks, 2>;

/// The indices of a dimension, and of a part of it.
int64_t sizeOf(const zrt::Factors &factors, const zrt::FactoredDim &dim);
int64_t sizeOf(const zrt::Factors &factors, const zrt::DimPart &part);

/// All ways to attribute a cut of `dim` to its factors. There is more than one
/// only if a rank has one index of a factor.
SmallVector<CutFactors, 1> findCutFactors(const zrt::Factors &factors,
                                          const zrt::FactoredDim &dim,
                                          const Blocks &blocks);

/// How `dim` is cut where `cut` is. An error is more than one factor, or
/// segments of which some are not cut.
enum class Composed { Whole, Cut, Error };
std::pair<Composed, Blocks> composeBlocks(const zrt::Factors &factors,
                                          const zrt::FactoredDim &dim,
                                          const CutFactors &cut);

/// Whether `dim` has any of a factor that `isWanted`.
bool hasFactor(const zrt::FactoredDim &dim,
               llvm::function_ref<bool(size_t factor)> isWanted);

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VALUELAYOUTS_H
