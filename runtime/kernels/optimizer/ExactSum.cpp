#include "kernels/optimizer/ExactSum.h"

#include "kernels/optimizer/Rules.h"

#include <cstring>

using namespace zrt;

/// Adds value * 2^bit, in units of the lowest bit.
static void place(int64_t *limbs, uint64_t value, int bit) {
  int limb = bit / 32;
  unsigned __int128 shifted = static_cast<unsigned __int128>(value)
                              << (bit % 32);
  for (; shifted; shifted >>= 32)
    limbs[limb++] += static_cast<int64_t>(shifted & 0xffffffffu);
}

void zrt::flushSquares(uint64_t *tables, int64_t *limbs) {
  // Exponent 255 is inf and NaN, which are counted and not summed.
  for (int table = 0; table < kSquareTables; ++table)
    for (int exponent = 0; exponent < kSquareExponents - 1; ++exponent) {
      uint64_t sum = tables[table * kSquareExponents + exponent];
      // An element is mantissa * 2^(exponent - 150); a subnormal has the
      // scale of exponent 1.
      if (sum)
        place(limbs, sum, 2 * (exponent ? exponent - 1 : 0));
    }
  std::memset(tables, 0, sizeof(uint64_t) * kSquareTables * kSquareExponents);
  normalizeLimbs(limbs);
}
