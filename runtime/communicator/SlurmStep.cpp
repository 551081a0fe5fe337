#include "communicator/SlurmStep.h"

#include "communicator/Launcher.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

using namespace zrt;

/// Ports that systems leave to programs, below those that connections get.
static constexpr long kFirstPort = 20000, kPorts = 10000;

/// Of each range in brackets its first number.
std::string zrt::firstHostOf(const std::string &list) {
  std::string host;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const size_t end = std::min(list.find(']', at), list.size());
    const std::string ranges = list.substr(at + 1, end - at - 1);
    host += ranges.substr(0, ranges.find_first_of(",-"));
    at = end;
  }
  return host;
}

int zrt::countAt(const std::string &list, int machine) {
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const size_t repeated = entry.find("(x");
    machine -= repeated == entry.npos
                   ? 1
                   : std::max(1, std::atoi(entry.c_str() + repeated + 2));
    if (machine < 0)
      return std::atoi(entry.c_str());
  }
  return 0;
}

std::optional<SlurmStep> zrt::findSlurmStep() {
  SlurmStep step;
  step.rank = int(numberIn("SLURM_PROCID", -1));
  step.ranks = int(numberIn("SLURM_STEP_NUM_TASKS", 1));
  step.host = firstHostOf(textIn("SLURM_STEP_NODELIST"));
  if (step.rank < 0 || step.rank >= step.ranks || step.ranks == 1 ||
      step.host.empty())
    return std::nullopt;
  step.localRank = int(numberIn("SLURM_LOCALID", 0));
  step.localRanks = countAt(textIn("SLURM_STEP_TASKS_PER_NODE"),
                            int(numberIn("SLURM_NODEID", 0)));
  const long job = numberIn("SLURM_JOB_ID", 0),
             number = numberIn("SLURM_STEP_ID", 0);
  step.port = uint16_t(kFirstPort + (job * 37 + number) % kPorts);
  return step;
}
