#include "program/Cores.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sched.h>
#include <sstream>
#include <vector>

using namespace zrt;

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

/// Quotas of a folder: "max 100000" or "200000 100000" of one hierarchy, -1 or
/// a number of microseconds a period of a controller's own.
double quotaIn(const std::string &folder) {
  std::ifstream limit(folder + "/cpu.max");
  std::ifstream quotaFile(folder + "/cpu.cfs_quota_us");
  std::ifstream periodFile(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if ((limit >> quota >> period ||
       quotaFile >> quota && periodFile >> period) &&
      quota > 0 && period > 0)
    return quota / period;
  return kAny;
}

/// The least of a group and of those around it. In a container the path may be
/// that outside, of which the container sees no folder.
double leastQuota(const std::string &mount, std::string path) {
  double least = quotaIn(mount);
  while (path.size() > 1) {
    least = std::min(least, quotaIn(mount + path));
    path.resize(path.rfind('/'));
  }
  return least;
}

/// Whether `controllers`, such as "cpu,cpuacct", are of the time of cores.
bool countTime(const std::string &controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu")
      return true;
  return false;
}

/// A set that is smaller than the kernel's is refused.
int coresOfAffinity() {
  for (std::vector<cpu_set_t> cores(1); cores.size() <= 1024;
       cores.resize(2 * cores.size())) {
    const size_t bytes = cores.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, cores.data()) == 0)
      return CPU_COUNT_S(bytes, cores.data());
  }
  return 1;
}

} // namespace

double zrt::coresOfQuota(const std::string &groups, const std::string &root) {
  double least = kAny;
  std::istringstream lines(groups);
  std::string number, controllers, path;
  while (std::getline(lines, number, ':') &&
         std::getline(lines, controllers, ':') && std::getline(lines, path)) {
    if (path.empty() || path[0] != '/')
      continue;
    if (controllers.empty())
      least = std::min(least, leastQuota(root, path));
    else if (countTime(controllers))
      least = std::min({least, leastQuota(root + "/" + controllers, path),
                        leastQuota(root + "/cpu", path)});
  }
  return least;
}

int zrt::coresOfProcess() {
  const int count = coresOfAffinity();
  std::ifstream file("/proc/self/cgroup");
  std::stringstream groups;
  groups << file.rdbuf();
  const double quota = coresOfQuota(groups.str(), "/sys/fs/cgroup");
  return quota < count ? std::max(1, int(quota)) : count;
}
