// A program that does nothing but what is to be timed: kernels on flat ranges
// and collectives, over sizes.
#ifndef ZERO_RUNTIME_REPORT_LADDER_H
#define ZERO_RUNTIME_REPORT_LADDER_H

#include "program/Program.h"

namespace zrt {

/// Kernels that other stages, bucket sizes and rank counts of `program` run on
/// flat ranges of other sizes, and collectives of its element types, all in
/// the micro region. Buffers wander through an arena of `bytes` bytes, so that
/// caches help no more than in a step.
Program makeLadder(const Program &program, uint64_t bytes);

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_LADDER_H
