#include "communicator/Launcher.h"

#include <algorithm>
#include <cstdlib>

using namespace zrt;

namespace {

/// A launcher, and the variables in which a process finds its number and how
/// many there are.
struct Row {
  const char *launcher, *process, *processes;
};
constexpr Row kLaunchers[] = {
    {"mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"a launcher of MPI", "PMI_RANK", "PMI_SIZE"},
    {"a launcher of MPI", "PMIX_RANK", "PMIX_SIZE"},
    {"mpirun of MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    {"flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS"},
    {"Horovod", "HOROVOD_RANK", "HOROVOD_SIZE"},
    {"torchrun or the like", "RANK", "WORLD_SIZE"},
    {"torchrun or the like", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
};

} // namespace

std::string zrt::textIn(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? text : "";
}

long zrt::numberIn(const char *variable, long otherwise) {
  const char *text = std::getenv(variable);
  if (!text || !*text)
    return otherwise;
  char *end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 ? value : otherwise;
}

Launch zrt::findLaunch() {
  for (const Row &row : kLaunchers) {
    const long process = numberIn(row.process, -1);
    // A later process shows by its number alone that there are others.
    const long processes = std::max(numberIn(row.processes, 1), process + 1);
    if (process >= 0 && processes > 1)
      return {row.launcher, std::string(row.process) + " and " + row.processes,
              process, processes};
  }
  return {};
}

std::string zrt::describe(const Launch &launch) {
  return "process " + std::to_string(launch.process) + " of " +
         std::to_string(launch.processes) + " by " + launch.launcher + " (" +
         launch.variables + ")";
}
