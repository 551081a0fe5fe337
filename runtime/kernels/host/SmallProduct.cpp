#include "kernels/host/SmallProduct.h"

#include <utility>

namespace zrt::host {

namespace {

using Tile = void (*)(int64_t depth, LeftOperand a, const float *b,
                      int64_t bStride, float *c, int64_t cStride, bool add);

/// The sums stay in registers over the whole depth.
template <int rows, int vectors>
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
      Vector factor = splat(left[i * a.row]);
      for (int j = 0; j < vectors; ++j)
        sums[i][j] = fma(factor, right[j], sums[i][j]);
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

template <int rows, int... vectors>
constexpr void fillRow(Table &table, std::integer_sequence<int, vectors...>) {
  ((table.tiles[rows - 1][vectors] = tile<rows, vectors + 1>), ...);
}

template <int... rows>
constexpr Table makeTable(std::integer_sequence<int, rows...>) {
  Table table{};
  (fillRow<rows + 1>(table, std::make_integer_sequence<int, kTileVectors>()),
   ...);
  return table;
}

constexpr Table kTable =
    makeTable(std::make_integer_sequence<int, kTileRows>());

} // namespace

void multiplyTile(int64_t rows, int64_t columns, int64_t depth, LeftOperand a,
                  const float *b, int64_t bStride, float *c, int64_t cStride,
                  bool add) {
  kTable.tiles[rows - 1][columns / kLanes - 1](depth, a, b, bStride, c, cStride,
                                               add);
}

} // namespace zrt::host
