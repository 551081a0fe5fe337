// Whether ranks that ought to hold the same bytes do.
#ifndef ZERO_RUNTIME_SELFCHECK_REPLICAS_H
#define ZERO_RUNTIME_SELFCHECK_REPLICAS_H

#include "communicator/Communicator.h"
#include "selfcheck/KeptStates.h"

namespace zrt {

/// Hashes of a rank's states, by state and block.
using StateHashes = std::vector<std::vector<uint64_t>>;

/// Compares hashes of ranks that have the same place. Called by all ranks.
/// Where some differ, all throw as `failTogether`: the text names the rank
/// that is alone with its value, or all of them, the element and the values,
/// and ends with `advice`.
void compareReplicas(const Program &program,
                     const std::vector<KeptState> &states,
                     const StateHashes &hashes, const Arenas &arenas,
                     Communicator &communicator, const std::string &advice);

/// "", or which of this rank's states is not what `earlier` says.
std::string findChanged(const Program &program,
                        const std::vector<KeptState> &states,
                        const StateHashes &earlier, const StateHashes &now,
                        int rank);

/// Sorts ranks by a value of each: the most common one first. `values` are of
/// `ranks`.
std::vector<std::vector<int>>
groupByValue(const std::vector<int> &ranks,
             const std::vector<std::string> &values);

} // namespace zrt

#endif // ZERO_RUNTIME_SELFCHECK_REPLICAS_H
