// Records that runs have left behind.
#ifndef ZERO_RUNTIME_TRAINER_OLDFLIGHTS_H
#define ZERO_RUNTIME_TRAINER_OLDFLIGHTS_H

#include <cstddef>
#include <string>

namespace zrt {

/// The beginning of the names of folders of records.
inline constexpr const char *kFlightFolder = "zero-flight-";

/// Removes the folders of records in `place` that no process writes to, but the
/// newest `keep`: a run that is killed and started again and again must not
/// fill the memory. What cannot be removed stays.
void removeOldFlights(const std::string &place, size_t keep);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_OLDFLIGHTS_H
