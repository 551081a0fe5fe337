// Gradients that are reduced and not used yet, as a caller understands them.
#ifndef ZERO_RUNTIME_STATE_GRADIENTS_H
#define ZERO_RUNTIME_STATE_GRADIENTS_H

#include "state/Elements.h"

namespace zrt {

/// Whether `command` is the one of an update after which all gradients are
/// reduced and judged, and none of them has been used.
bool judgesGradients(const Program &program, const Command &command);

/// Passes the elements of the gradient of `parameter` that `rank` owns to
/// `sink`: the mean over ranks and micro-batches, without the loss scale and
/// before clipping. The shares of all ranks are the gradient.
/// \pre The update's gradients are judged, and nothing is updated yet.
void readGradient(const Program &program, const Arenas &arenas, int rank,
                  const Parameter &parameter, const ValueSink &sink);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_GRADIENTS_H
