// The cores and the memory of a machine that a device on its bus is near to.
#ifndef ZERO_RUNTIME_DEVICE_NEARBY_H
#define ZERO_RUNTIME_DEVICE_NEARBY_H

#include <string>
#include <vector>

namespace zrt {

struct Nearby {
  std::string cpuText;   ///< as the kernel writes it: "0-15,64-79"
  std::vector<int> cpus; ///< empty: the machine does not say
  int node = -1;         ///< of memory; negative: the same for all cores
};

/// The cores of "0-15,64-79"; none where it is no such list.
std::vector<int> coresOfList(const std::string &text);

/// Finds the cores and memory near the device at `address`, such as
/// "0000:5d:00.0", by the files of `devices`, in which each device has a
/// folder: /sys/bus/pci/devices.
Nearby findNearby(const std::string &devices, const std::string &address);

/// Has this thread, and those that it starts, run on the cores that are near,
/// and takes memory there as long as there is some. Returns what came of it,
/// for people: "cores 0-15,64-79, memory of node 0", or why they stay where
/// they were.
std::string stayNear(const Nearby &nearby);

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_NEARBY_H
