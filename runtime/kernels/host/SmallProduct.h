// Products of small matrices that lie in cache, with f32 sums.
#ifndef ZERO_RUNTIME_KERNELS_HOST_SMALLPRODUCT_H
#define ZERO_RUNTIME_KERNELS_HOST_SMALLPRODUCT_H

#include "kernels/Vector.h"

namespace zrt::host {

/// Rows and columns of the part of a result that stays in registers.
inline constexpr int64_t kTileRows = 6;
#if defined(__AVX512F__)
inline constexpr int64_t kTileVectors = 4;
#else
inline constexpr int64_t kTileVectors = 1;
#endif
inline constexpr int64_t kTileColumns = kTileVectors * kLanes;

/// What 32 bits of an operand are: an element, or two bf16 elements that are
/// neighbours along the depth, the first in the lower half.
enum class Word { Float, Pair };
#ifdef __AVX512BF16__
inline constexpr bool kHasPairs = true;
#else
inline constexpr bool kHasPairs = false;
#endif

/// The left operand: word (i, k) at `data[i * row + k * column]`.
struct LeftOperand {
  const float *data;
  int64_t row, column;
};

/// c (+)= a b for `rows` <= kTileRows and `columns` <= kTileColumns, a multiple
/// of 16, and a depth of so many words. Rows of `b` and `c` are `bStride` and
/// `cStride` apart. Each element is one chain of multiply-adds over k in order,
/// fused for `Float`. `Pair` is there where `kHasPairs`; it takes subnormals
/// for zero.
template <Word word = Word::Float>
void multiplyTile(int64_t rows, int64_t columns, int64_t depth, LeftOperand a,
                  const float *b, int64_t bStride, float *c, int64_t cStride,
                  bool add);

/// The same for one group of at most kTileRows rows and any number of columns
/// that is a multiple of 16.
template <Word word = Word::Float>
inline void multiplyRows(int64_t rows, int64_t columns, int64_t depth,
                         LeftOperand a, const float *b, int64_t bStride,
                         float *c, int64_t cStride, bool add) {
  for (int64_t j = 0; j < columns; j += kTileColumns) {
    int64_t width = columns - j < kTileColumns ? columns - j : kTileColumns;
    multiplyTile<word>(rows, width, depth, a, b + j, bStride, c + j, cStride,
                       add);
  }
}

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_SMALLPRODUCT_H
