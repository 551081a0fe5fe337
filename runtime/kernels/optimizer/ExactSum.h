// A sum of squares of f32 values with no rounding at all.
//
// The sum is a fixed-point number of kNormLimbs limbs of 32 bits, the lowest
// bit of weight 2^-298, that of the smallest square. Integer addition has no
// order, so threads, ranks and slices may add in any.
#ifndef ZERO_RUNTIME_KERNELS_OPTIMIZER_EXACTSUM_H
#define ZERO_RUNTIME_KERNELS_OPTIMIZER_EXACTSUM_H

#include "kernels/optimizer/Loops.h"
#include "program/Control.h"

namespace zrt {

/// Adds what `loops::exactSquares` left in `tables` to `limbs`, leaves the
/// tables zero and every limb but the last below 2^32.
void flushSquares(uint64_t *tables, int64_t *limbs);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_OPTIMIZER_EXACTSUM_H
