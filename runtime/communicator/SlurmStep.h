// What Slurm tells a process of the step that it belongs to.
#ifndef ZERO_RUNTIME_COMMUNICATOR_SLURMSTEP_H
#define ZERO_RUNTIME_COMMUNICATOR_SLURMSTEP_H

#include <cstdint>
#include <optional>
#include <string>

namespace zrt {

struct SlurmStep {
  int rank = 0, ranks = 1;
  int localRank = 0, localRanks = 0; ///< on this machine; 0 where not known
  std::string host;                  ///< the first of the step
  uint16_t port = 0; ///< a number that follows from the job's and the step's
};

/// The step of several processes that `srun` has started this one in.
std::optional<SlurmStep> findSlurmStep();

/// The first host of a list: "n01" of "n[01-03,7],gpu5".
std::string firstHostOf(const std::string &list);

/// The entry for a machine of a list of counts, by its number: of "4(x2),3" it
/// is 4, 4 and 3; 0 where there is none.
int countAt(const std::string &list, int machine);

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_SLURMSTEP_H
