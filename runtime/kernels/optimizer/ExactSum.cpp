#include "kernels/optimizer/ExactSum.h"

#include <cmath>
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

void zrt::normalizeLimbs(int64_t *limbs) {
  for (int i = 0; i + 1 < kNormLimbs; ++i) {
    limbs[i + 1] += limbs[i] >> 32;
    limbs[i] &= 0xffffffff;
  }
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

double zrt::limbsToDouble(const int64_t *limbs) {
  int64_t digits[kNormLimbs];
  std::memcpy(digits, limbs, sizeof digits);
  normalizeLimbs(digits);
  int top = kNormLimbs - 1;
  while (top > 0 && digits[top] == 0)
    --top;
  // The leading 64 bits or more; what is below only breaks ties, so it is
  // kept as one sticky bit.
  unsigned __int128 leading = 0;
  for (int i = top; i > top - 3; --i)
    leading = (leading << 32) | static_cast<uint64_t>(i >= 0 ? digits[i] : 0);
  bool sticky = false;
  for (int i = top - 3; i >= 0; --i)
    sticky |= digits[i] != 0;
  int shift = 0;
  for (; leading >> 63; leading >>= 1, ++shift)
    sticky |= leading & 1;
  double value = static_cast<double>(static_cast<uint64_t>(leading) |
                                     static_cast<uint64_t>(sticky));
  return std::ldexp(value, shift + 32 * (top - 2) + kNormLowestBit);
}
