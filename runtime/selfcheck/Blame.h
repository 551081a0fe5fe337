// Who has computed something wrongly, and what.
#ifndef ZERO_RUNTIME_SELFCHECK_BLAME_H
#define ZERO_RUNTIME_SELFCHECK_BLAME_H

#include "communicator/Communicator.h"
#include "selfcheck/Attempt.h"
#include "selfcheck/UpdateSamples.h"

#include <optional>
#include <string>

namespace zrt {

/// Ranks, of which each may be the one, and what they have done, as the end of
/// a sentence. Equal on all ranks.
struct Blamed {
  std::vector<int> ranks;
  std::string what;
};

/// Finds the operation at which two attempts at the same update part. Called by
/// all ranks.
Blamed findDifference(const OperationTrace &trace, const Attempt &first,
                      const Attempt &second, Communicator &communicator);

/// Finds the operation that gave the first value that is not finite. Called by
/// all ranks; nothing if no operation gave one.
std::optional<Blamed> findNonFinite(const OperationTrace &trace,
                                    const Attempt &attempt,
                                    const UpdateSamples &samples,
                                    Communicator &communicator);

/// The rank that computes what others compute otherwise: `own` is an attempt
/// on each rank's own samples, and in `other` each rank had those of the next
/// one that has samples. Nothing where what is computed goes with the samples.
/// Called by all ranks.
std::optional<Blamed> findOddRank(const Program &program,
                                  const OperationTrace &trace,
                                  const Attempt &own, const Attempt &other,
                                  Communicator &communicator);

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_BLAME_H
