// How a run starts: parameters, constants and the control block.
#ifndef ZERO_RUNTIME_STATE_INITIALIZE_H
#define ZERO_RUNTIME_STATE_INITIALIZE_H

#include "state/Arenas.h"

#include <cstdint>

namespace zrt {

class ThreadPool;

/// Writes the initial values of elements [begin, begin + count) of
/// `parameter`. A value is a function of seed, parameter name and element, so
/// that any rank can make any slice. Normal values are Box-Muller on
/// Philox4x32-10, in f64.
void initialValues(const Parameter &parameter, uint64_t seed, uint64_t begin,
                   uint64_t count, float *out);

/// Sets all elements that `rank` stores of all parameters to their initial
/// values; padding and optimizer state stay zero. `pool` may be null.
void initializeParameters(const Program &program, const Arenas &arenas,
                          int rank, uint64_t seed, ThreadPool *pool);

/// Copies the program's constants to their places.
void initializeConstants(const Program &program, const Arenas &arenas,
                         int rank);

/// Sets the control block to what precedes the first update.
void initializeControl(const Program &program, const Arenas &arenas,
                       uint64_t seed);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_INITIALIZE_H
