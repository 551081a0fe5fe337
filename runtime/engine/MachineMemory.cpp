#include "engine/MachineMemory.h"

#include "communicator/Processes.h"

#include "program/ByteCount.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

using namespace zrt;

namespace {

/// The number that a file holds; nothing where it holds another word.
std::optional<uint64_t> numberIn(const std::string &path) {
  std::ifstream file(path);
  uint64_t value;
  if (file >> value)
    return value;
  return std::nullopt;
}

/// The number after `key` at the begin of a line of `path`.
std::optional<uint64_t> fieldIn(const std::string &path,
                                const std::string &key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    uint64_t value;
    if (words >> name >> value && name == key)
      return value;
  }
  return std::nullopt;
}

uint64_t difference(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/// The files of a version of control groups.
struct GroupFiles {
  const char *limit, *usage, *inactive, *active;
};
constexpr GroupFiles kVersion1 = {"/memory.limit_in_bytes",
                                  "/memory.usage_in_bytes",
                                  "total_inactive_file", "total_active_file"};
constexpr GroupFiles kVersion2 = {"/memory.max", "/memory.current",
                                  "inactive_file", "active_file"};

/// Of the group `path` below `mount`, and of those that it is in. The system
/// takes back what it has only cached of files.
void addGroups(std::vector<MemoryLimit> &limits, const std::string &mount,
               std::string path, const GroupFiles &files) {
  for (;; path.resize(path.rfind('/'))) {
    if (!path.empty() && path.back() == '/')
      path.pop_back();
    const std::string group = mount + path, stat = group + "/memory.stat";
    const auto limit = numberIn(group + files.limit),
               usage = numberIn(group + files.usage);
    if (limit && usage) {
      const uint64_t cached = fieldIn(stat, files.inactive).value_or(0) +
                              fieldIn(stat, files.active).value_or(0);
      limits.push_back(
          {difference(*limit, difference(*usage, cached)), false,
           "the control group '" + (path.empty() ? "/" : path) + "'"});
    }
    if (path.empty())
      return;
  }
}

/// /proc/self/cgroup has lines "number:controllers:path".
void addGroups(std::vector<MemoryLimit> &limits, const std::string &root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    const std::string controllers = "," +
                                    line.substr(first + 1, second - first - 1) +
                                    ",",
                      path = line.substr(second + 1),
                      mount = root + "/sys/fs/cgroup";
    if (controllers == ",,")
      addGroups(limits, mount, path, kVersion2);
    else if (controllers.find(",memory,") != std::string::npos)
      addGroups(limits, mount + "/memory", path, kVersion1);
  }
}

void addOwn(std::vector<MemoryLimit> &limits, const std::string &root) {
  // Pages: all, resident, shared, text, libraries, data.
  std::ifstream file(root + "/proc/self/statm");
  uint64_t all = 0, data = 0, other;
  file >> all >> other >> other >> other >> other >> data;
  const auto page = uint64_t(::sysconf(_SC_PAGESIZE));
  const auto add = [&](decltype(RLIMIT_AS) what, uint64_t used,
                       const char *source) {
    rlimit limit;
    if (::getrlimit(what, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      limits.push_back({difference(limit.rlim_cur, used), true, source});
  };
  add(RLIMIT_AS, all * page, "the limit of address space (ulimit -v)");
  add(RLIMIT_DATA, data * page, "the limit of data (ulimit -d)");
}

} // namespace

std::vector<MemoryLimit> zrt::memoryLimits(const std::string &root) {
  std::vector<MemoryLimit> limits;
  if (const auto free = fieldIn(root + "/proc/meminfo", "MemAvailable:"))
    limits.push_back({*free * 1024, false, "this machine"});
  addGroups(limits, root);
  addOwn(limits, root);
  return limits;
}

uint64_t zrt::hostBytesOf(const Program &program, bool isForDevice) {
  uint64_t bytes = 0;
  for (int i = 0; i < kSpaceCount; ++i)
    if (tierOf(i) == Tier::Host || (tierOf(i) == Tier::Device && !isForDevice))
      if (__builtin_add_overflow(bytes, program.arenaBytes[i], &bytes))
        return UINT64_MAX;
  return bytes;
}

uint64_t zrt::hostBytesOf(const BackendSetup &setup, bool isForDevice,
                          const WorkspaceMeter &measure, int localRanks) {
  uint64_t bytes = hostBytesOf(setup.program, isForDevice);
  if (measure &&
      __builtin_add_overflow(bytes, measure(setup, localRanks), &bytes))
    return UINT64_MAX;
  return bytes;
}

std::string zrt::describeLack(uint64_t bytes, const LocalRanks &ranks,
                              const std::vector<MemoryLimit> &limits) {
  const MemoryLimit *worst = nullptr;
  const auto sharers = [&](const MemoryLimit &limit) {
    return limit.ofProcess ? ranks.ofProcess : ranks.ofMachine;
  };
  const auto share = [&](const MemoryLimit &limit) {
    return limit.left / uint64_t(sharers(limit));
  };
  for (const MemoryLimit &limit : limits)
    if (bytes > share(limit) && (!worst || share(limit) < share(*worst)))
      worst = &limit;
  if (!worst)
    return "";
  const int count = sharers(*worst);
  return plural(count, "rank") + " of this " +
         (worst->ofProcess ? "process" : "machine") + " would need " +
         formatBytes(bytes) + (count == 1 ? "" : " each") + ", and " +
         worst->source + " leaves " + formatBytes(worst->left);
}

std::string zrt::lackOfMemory(uint64_t bytes, const LocalRanks &ranks,
                              const std::vector<MemoryLimit> &limits) {
  const std::string lack = describeLack(bytes, ranks, limits);
  return lack.empty() ? ""
                      : lack + "; compile the model to need less, for more "
                               "ranks or at a higher stage, or start all the "
                               "same with --overcommit";
}

HostRoom zrt::roomBesideArenas(const BackendSetup &setup, bool isForDevice,
                               int localRanks) {
  if (setup.options.overcommit)
    return [] { return std::string(); };
  // All that may come: who asks has allocated some of it, and asks but once.
  uint64_t bytes = hostBytesOf(setup.program, isForDevice);
  if (__builtin_add_overflow(bytes, bytesOfTier(setup.program, Tier::File),
                             &bytes))
    bytes = UINT64_MAX;
  const LocalRanks ranks = {areRanksProcesses() ? 1 : localRanks, localRanks};
  // Before any rank has taken any of it.
  return [=, limits = memoryLimits()] {
    return lackOfMemory(bytes, ranks, limits);
  };
}
