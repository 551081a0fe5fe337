// Parameter values going into and out of the arenas, as f32, in bounded
// portions.
#ifndef ZERO_RUNTIME_STATE_ELEMENTS_H
#define ZERO_RUNTIME_STATE_ELEMENTS_H

#include "io/StoredElements.h"
#include "state/Arenas.h"
#include "state/Pieces.h"

#include <functional>
#include <stdexcept>
#include <string>

namespace zrt {

/// Runs `move`, which reads or writes memory. That of a file may fail, and does
/// not know what is there: `describe` says it.
template <typename Move, typename Describe>
void named(Move move, Describe describe) {
  try {
    move();
  } catch (const std::runtime_error &failure) {
    throw std::runtime_error(describe() + ": " + failure.what());
  }
}

/// Writes `count` values of a parameter from `element` on to `out`.
using ValueSource =
    std::function<void(uint64_t element, uint64_t count, float *out)>;

/// Receives them.
using ValueSink =
    std::function<void(uint64_t element, uint64_t count, const float *values)>;

/// Sets what `rank` stores of `parameter`: its elements of states that start as
/// the parameter or a part of it, and of the compute parameter, which is packed
/// where the partition is quantized.
void setParameter(const Program &program, const Arenas &arenas, int rank,
                  const Parameter &parameter, const ValueSource &source);

/// Fills the states that start as a constant, padding included.
void setConstantStates(const Program &program, const Arenas &arenas, int rank);

/// Passes `rank`'s share of `parameter` to `sink`: from the master where there
/// is one. The shares of all ranks are the parameter, each element once.
void readParameter(const Program &program, const Arenas &arenas, int rank,
                   const Parameter &parameter, const ValueSink &sink);

/// Whether ranks store slices of what `readParameter` reads.
bool isValueSharded(const Partition &partition);

/// Whether an earlier stage of a pipeline has the parameter as well, and writes
/// it to files.
bool isWrittenElsewhere(const Program &program, const Parameter &parameter);

/// Calls `body` with each piece that is `rank`'s to write of what it stores of
/// `parameter`, in rising order. The pieces of all ranks are the parameter,
/// each element once.
void forEachShare(const Program &program, const Parameter &parameter,
                  bool sharded, int rank,
                  const std::function<void(const Piece &)> &body);

/// Calls `body` as `forEachShare` does, with portions of the pieces.
void forEachSharePortion(const Program &program, const Parameter &parameter,
                         bool sharded, int rank,
                         const std::function<void(const Piece &)> &body);

/// `readParameter` and `setParameter` of one state of the parameter's
/// partition that does not start as the parameter.
void readState(const Program &program, const Arenas &arenas, int rank,
               const Parameter &parameter, const State &state,
               const ValueSink &sink);
void setState(const Program &program, const Arenas &arenas, int rank,
              const Parameter &parameter, const State &state,
              const ValueSource &source);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_ELEMENTS_H
