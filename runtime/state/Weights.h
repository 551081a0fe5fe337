// A model's weights in a safetensors file. No rank ever holds the whole model.
#ifndef ZERO_RUNTIME_STATE_WEIGHTS_H
#define ZERO_RUNTIME_STATE_WEIGHTS_H

#include "communicator/Communicator.h"
#include "state/Arenas.h"

#include <stdexcept>
#include <string>

namespace zrt {

/// Sets all parameters from the file at `path`: each rank reads what it
/// stores. Names and shapes must be the program's, each parameter once and
/// nothing else; types F32, or the parameter's own. Called by all ranks; where
/// one fails, all throw std::runtime_error, which lists the names concerned.
void loadWeights(const std::string &path, const Program &program,
                 const Arenas &arenas, Communicator &communicator);

/// Writes all parameters to `path`: from the f32 master where there is one, as
/// F32, and in the parameter's own type otherwise. Rank 0 sizes the file and
/// each rank writes its share; `path` is replaced at the end, at once, or not
/// at all. Called by all ranks, which see one file system; where one fails,
/// all throw std::runtime_error.
void saveWeights(const std::string &path, const Program &program,
                 const Arenas &arenas, Communicator &communicator);

/// Another rank failed, which `what()` names.
class PeerError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws on all ranks where `error` is not empty on one: there
/// std::runtime_error with `error`, elsewhere PeerError with the same and the
/// rank's number. Called by all ranks.
void failTogether(Communicator &communicator, const std::string &error);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_WEIGHTS_H
