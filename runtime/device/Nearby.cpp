#include "device/Nearby.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <linux/mempolicy.h>
#include <memory>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace zrt;

static std::string firstLine(const std::string &path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

std::vector<int> zrt::coresOfList(const std::string &text) {
  /// More than any machine has: what is beyond is no list of cores.
  constexpr int kMost = 1 << 16;
  std::vector<int> cores;
  const char *at = text.data(), *const end = at + text.size();
  while (at != end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    int last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc() || first < 0 || last < first || last >= kMost ||
        (read.ptr != end && *read.ptr != ','))
      return {};
    for (int core = first; core <= last; ++core)
      cores.push_back(core);
    at = read.ptr == end ? end : read.ptr + 1;
  }
  return cores;
}

Nearby zrt::findNearby(const std::string &devices, const std::string &address) {
  std::string name = address; // the driver writes it in capitals
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  const std::string folder = devices + "/" + name;
  Nearby nearby;
  nearby.cpuText = firstLine(folder + "/local_cpulist");
  nearby.cpus = coresOfList(nearby.cpuText);
  const std::string node = firstLine(folder + "/numa_node");
  std::from_chars(node.data(), node.data() + node.size(), nearby.node);
  return nearby;
}

/// Runs this thread on `cores` alone, as far as it may; whether it may.
static bool runOn(const std::vector<int> &cores) {
  const int most = *std::max_element(cores.begin(), cores.end()) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t *)> set(
      CPU_ALLOC(most), [](cpu_set_t *made) { CPU_FREE(made); });
  const size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set.get());
  for (int core : cores)
    CPU_SET_S(core, bytes, set.get());
  return ::sched_setaffinity(0, bytes, set.get()) == 0;
}

/// Prefers the memory of a node; whether that may be.
static bool takeMemoryOf(int node) {
  constexpr int kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(node / kBits + 1);
  mask[node / kBits] = 1UL << node % kBits;
  // The kernel reads a bit less than it is told.
  return ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(),
                   mask.size() * kBits + 1) == 0;
}

std::string zrt::stayNear(const Nearby &nearby) {
  if (nearby.cpus.empty())
    return "the machine does not say which cores are near";
  if (!runOn(nearby.cpus))
    return "it may not run on the cores that are near, " + nearby.cpuText +
           ": " + std::strerror(errno);
  const std::string cores = "cores " + nearby.cpuText;
  if (nearby.node < 0)
    return cores;
  const std::string node = std::to_string(nearby.node);
  return cores + (takeMemoryOf(nearby.node)
                      ? ", memory of node " + node
                      : ", but not the memory of node " + node + ": " +
                            std::strerror(errno));
}
