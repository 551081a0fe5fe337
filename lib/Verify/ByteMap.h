//===- ByteMap.h - what holds which bytes -----------------------*- C++ -*-===//
#ifndef ZERO_LIB_VERIFY_BYTEMAP_H
#define ZERO_LIB_VERIFY_BYTEMAP_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>

namespace mlir::zero {

/// Values that hold ranges of bytes, several to a byte: disjoint pieces, by
/// their first byte. A look-up costs the logarithm of the number of pieces and
/// what it finds.
template <typename T> class ByteMap {
public:
  void add(int64_t begin, int64_t end, const T &value) {
    cut(begin);
    cut(end);
    auto next = pieces.lower_bound(begin);
    for (int64_t at = begin; at < end; ++next) {
      if (next == pieces.end() || next->first > at) {
        int64_t gap = next == pieces.end() ? end : std::min(next->first, end);
        next = pieces.emplace_hint(next, at, Piece{gap, {}});
      }
      next->second.values.push_back(value);
      at = next->second.end;
    }
  }

  /// Takes back what was added to the same range.
  template <typename Predicate>
  void removeIf(int64_t begin, int64_t end, Predicate isGone) {
    for (auto piece = pieces.lower_bound(begin);
         piece != pieces.end() && piece->first < end;) {
      llvm::erase_if(piece->second.values, isGone);
      piece =
          piece->second.values.empty() ? pieces.erase(piece) : std::next(piece);
    }
  }

  /// The first value that holds a byte of [begin, end) and that `isWanted`;
  /// null where there is none.
  template <typename Predicate>
  const T *find(int64_t begin, int64_t end, Predicate isWanted) const {
    auto piece = pieces.upper_bound(begin);
    if (piece != pieces.begin() && std::prev(piece)->second.end > begin)
      --piece;
    for (; piece != pieces.end() && piece->first < end; ++piece)
      for (const T &value : piece->second.values)
        if (isWanted(value))
          return &value;
    return nullptr;
  }

  void clear() { pieces.clear(); }

private:
  struct Piece {
    int64_t end = 0;
    llvm::SmallVector<T, 1> values;
  };

  /// Makes `at` a boundary of the piece that holds it.
  void cut(int64_t at) {
    auto after = pieces.upper_bound(at);
    if (after == pieces.begin())
      return;
    auto piece = std::prev(after);
    if (piece->first == at || piece->second.end <= at)
      return;
    Piece right = piece->second;
    piece->second.end = at;
    pieces.emplace_hint(after, at, std::move(right));
  }

  std::map<int64_t, Piece> pieces;
};

} // namespace mlir::zero

#endif // ZERO_LIB_VERIFY_BYTEMAP_H
