// The arithmetic of every backend's reductions.
#ifndef ZERO_RUNTIME_COMMUNICATOR_REDUCE_H
#define ZERO_RUNTIME_COMMUNICATOR_REDUCE_H

#include "communicator/Communicator.h"

namespace zrt {

/// Reduces `ranks` arrays of `count` elements element by element, in the
/// order of `sources`, into `destination`, which may be one of the sources.
/// f32, f16 and bf16: ((s0 + s1) + s2) + ... in f32, a prescaled sum times
/// `prescaleOf(ranks)`, rounded to the type once. f64 and integers likewise in
/// their own type; integers wrap around. An element's bits depend on neither
/// its place nor the processor. Reads each source once.
/// \pre isReducible(reduction, type).
void reduceInOrder(Reduction reduction, DataType type,
                   const void *const *sources, int ranks, void *destination,
                   size_t count);

/// Whether `reduction` means something for `type`: there is no sum of i1 and
/// no prescaled sum of integers.
bool isReducible(Reduction reduction, DataType type);

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_REDUCE_H
