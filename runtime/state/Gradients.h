// Gradients that are reduced and not used yet, as a caller understands them.
#ifndef ZERO_RUNTIME_STATE_GRADIENTS_H
#define ZERO_RUNTIME_STATE_GRADIENTS_H

#include "state/Elements.h"

#include <cstdint>
#include <functional>

namespace zrt {

/// Whether `command` is the one of an update after which all gradients are
/// reduced and judged, and none of them has been used.
bool judgesGradients(const Program &program, const Command &command);

/// Whether `command` of an update has a part in judging gradients: it measures
/// them, adds what ranks have measured, or judges.
bool measuresGradients(const Program &program, const Command &command);

/// Whether `command` copies reduced gradients to where an update beside the
/// device reads them. Some are copied before all of them are judged.
bool copiesGradients(const Program &program, const Command &command);

/// Calls `body` with each piece of the gradient of `parameter` that `rank`
/// answers for, in rising order. The pieces of all ranks are the gradient.
void forEachGradientShare(const Program &program, const Parameter &parameter,
                          int rank,
                          const std::function<void(const Piece &)> &body);

/// Passes the elements of the gradient of `parameter` that `rank` owns to
/// `sink`: the mean over ranks and micro-batches, without the loss scale and
/// before clipping. The shares of all ranks are the gradient.
/// \pre The update's gradients are judged, and nothing is updated yet.
void readGradient(const Program &program, const Arenas &arenas, int rank,
                  const Parameter &parameter, const ValueSink &sink);

/// Sets what `rank` stores of elements [element, element + count) of the
/// gradient, rounded to the type in which the sum over ranks and micro-batches
/// is kept. The commands that measure gradients, and those that have copied
/// them, must run again afterwards.
/// \pre As for `readGradient`.
void setGradient(const Program &program, const Arenas &arenas, int rank,
                 const Parameter &parameter, uint64_t element, uint64_t count,
                 const ValueSource &source);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_GRADIENTS_H
