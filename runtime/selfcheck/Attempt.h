// What ranks have computed of an update before anything is updated.
#ifndef ZERO_RUNTIME_SELFCHECK_ATTEMPT_H
#define ZERO_RUNTIME_SELFCHECK_ATTEMPT_H

#include "engine/Backend.h"
#include "selfcheck/OperationTrace.h"

#include <vector>

namespace zrt {

/// The sums and the digest that one rank computes of its losses and gradients.
struct Measure {
  double loss = 0, weight = 0; ///< sums over micro-batches
  double squares = 0;          ///< of what it stores of gradients
  int64_t digest = 0;          ///< of all that and of the gradients
};

struct Attempt {
  std::vector<Measure> measures;           ///< of all ranks
  std::vector<TracedOperation> operations; ///< of this one, where traced
};

/// Measures what this rank has, and gathers that of all, which all call it.
std::vector<Measure> measureGradients(const Program &program,
                                      const Backend &backend,
                                      Communicator &communicator);

/// The mean over all of them.
double lossOf(const Program &program, const std::vector<Measure> &measures);
/// The norm of gradients as ranks store them, reduced or not.
double normOf(const std::vector<Measure> &measures);
bool areFinite(const std::vector<Measure> &measures);
/// Whether both attempts are bitwise equal on all ranks.
bool areEqual(const Attempt &a, const Attempt &b);

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_ATTEMPT_H
