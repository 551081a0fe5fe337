// A model's weights in a safetensors file. No rank ever holds the whole model.
#ifndef ZERO_RUNTIME_STATE_WEIGHTS_H
#define ZERO_RUNTIME_STATE_WEIGHTS_H

#include "communicator/Communicator.h"
#include "io/SafeTensors.h"
#include "io/Together.h"
#include "state/Arenas.h"
#include "state/Elements.h"

#include <functional>
#include <string>

namespace zrt {

/// Writes `count` values that `parameter` had when the run started, from
/// `element` on, to `out`. Values that training does not change are still
/// these.
using StartingValues = std::function<void(
    const Parameter &parameter, uint64_t element, uint64_t count, float *out)>;

/// The starting values of a run from `seed`.
StartingValues initialValuesOf(uint64_t seed);

/// The type that a parameter's values have in files: nothing of a master is
/// lost.
TensorDataType writtenType(const Program &program, const Parameter &parameter);

/// Whether the values of the start are all that tells a parameter exactly: it
/// is frozen, and computed in fewer bits than the model's.
bool isRoundedStart(const Program &program, const Parameter &parameter);

/// Passes `rank`'s share of `parameter`, as `readParameter` does, but exactly
/// where it is a rounded start.
void readModelValues(const Program &program, const Arenas &arenas, int rank,
                     const Parameter &parameter, const StartingValues &start,
                     const ValueSink &sink);

/// Sets all parameters from what is at `path`, a file, an index of shards or a
/// folder (see `TensorFiles`): each rank reads what it stores. Names and shapes
/// must be the program's, each parameter once and nothing else but what
/// `Program::fileTensors` has, with the values that it says; types F32, F16
/// or BF16, whatever the parameter's is: wider values are rounded to nearest,
/// and one that is too large for the parameter's type is an error. Called by
/// all ranks; where one fails, all throw std::runtime_error, which lists the
/// names concerned. The result reads the files, which stay open as long as it
/// lives; so does `program`.
StartingValues loadWeights(const std::string &path, const Program &program,
                           const Arenas &arenas, Communicator &communicator);

/// Writes all parameters to `path`: from the f32 master where there is one, as
/// F32, and in the model's type otherwise. A frozen parameter that is computed
/// in fewer bits than the model's is written as it was at the start, bit by
/// bit. Rank 0 sizes a file beside `path`, of a name of its own, and each rank
/// writes its share; it replaces `path` at the end, at once, or not at all: of
/// several runs the last stays. Called by all ranks, which see one file system;
/// where one fails, all throw std::runtime_error.
void saveWeights(const std::string &path, const Program &program,
                 const Arenas &arenas, Communicator &communicator,
                 const StartingValues &start);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_WEIGHTS_H
