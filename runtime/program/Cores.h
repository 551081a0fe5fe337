// How many cores a process may use.
#ifndef ZERO_RUNTIME_PROGRAM_CORES_H
#define ZERO_RUNTIME_PROGRAM_CORES_H

#include <string>

namespace zrt {

/// Cores of the process's affinity, and no more than the time that its control
/// groups give it, as containers limit it: at least one.
int coresOfProcess();

/// The least quota of time, in cores, of a process's control groups and of
/// those around them; infinity where none has one. `groups` is the text of
/// /proc/self/cgroup, `root` the folder where control groups are mounted.
double coresOfQuota(const std::string &groups, const std::string &root);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_CORES_H
