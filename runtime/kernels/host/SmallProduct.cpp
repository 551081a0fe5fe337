#include "kernels/host/SmallProduct.h"

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

#include <utility>

namespace zrt::host {

namespace {

using Tile = void (*)(int64_t depth, LeftOperand a, const float *b,
                      int64_t bStride, float *c, int64_t cStride, bool add);

/// c + a b.
template <Word word>
ZERO_INLINE Vector addProduct(Vector a, Vector b, Vector c) {
#ifdef __AVX512BF16__
  if constexpr (word == Word::Pair)
    return reinterpret_cast<Vector>(_mm512_dpbf16_ps(
        reinterpret_cast<__m512>(c), reinterpret_cast<__m512bh>(a),
        reinterpret_cast<__m512bh>(b)));
#endif
  return fma(a, b, c);
}

/// The word in all lanes: the bits of a pair are no number.
template <Word word> ZERO_INLINE Vector repeat(const float *from) {
  if constexpr (word == Word::Float)
    return splat(*from);
  uint32_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  WordVector words = bits - WordVector{};
  return vectorOf(words);
}

/// The sums stay in registers over the whole depth.
template <Word word, int rows, int vectors>
void tile(int64_t depth, LeftOperand a, const float *b, int64_t bStride,
          float *c, int64_t cStride, bool add) {
  Vector sums[rows][vectors];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < vectors; ++j)
      sums[i][j] = add ? load(c + i * cStride + j * kLanes) : splat(0);
  const float *left = a.data;
  for (int64_t k = 0; k < depth; ++k) {
    Vector right[vectors];
    for (int j = 0; j < vectors; ++j)
      right[j] = load(b + j * kLanes);
    for (int i = 0; i < rows; ++i) {
      Vector factor = repeat<word>(left + i * a.row);
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = addProduct<word>(factor, right[j], sums[i][j]);
    }
    left += a.column;
    b += bStride;
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < vectors; ++j)
      store(c + i * cStride + j * kLanes, sums[i][j]);
}

struct Table {
  Tile tiles[kTileRows][kTileVectors];
};

template <Word word, int rows, int... vectors>
constexpr void fillRow(Table &table, std::integer_sequence<int, vectors...>) {
  ((table.tiles[rows - 1][vectors] = tile<word, rows, vectors + 1>), ...);
}

template <Word word, int... rows>
constexpr Table makeTable(std::integer_sequence<int, rows...>) {
  Table table{};
  (fillRow<word, rows + 1>(table,
                           std::make_integer_sequence<int, kTileVectors>()),
   ...);
  return table;
}

template <Word word>
constexpr Table kTable =
    makeTable<word>(std::make_integer_sequence<int, kTileRows>());

} // namespace

template <Word word>
void multiplyTile(int64_t rows, int64_t columns, int64_t depth, LeftOperand a,
                  const float *b, int64_t bStride, float *c, int64_t cStride,
                  bool add) {
  kTable<word>.tiles[rows - 1][columns / kLanes - 1](depth, a, b, bStride, c,
                                                     cStride, add);
}

template void multiplyTile<Word::Float>(int64_t, int64_t, int64_t, LeftOperand,
                                        const float *, int64_t, float *,
                                        int64_t, bool);
#ifdef __AVX512BF16__
template void multiplyTile<Word::Pair>(int64_t, int64_t, int64_t, LeftOperand,
                                       const float *, int64_t, float *, int64_t,
                                       bool);
#endif

} // namespace zrt::host
