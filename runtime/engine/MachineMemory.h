// Whether what was planned fits the machine, before it is allocated.
#ifndef ZERO_RUNTIME_ENGINE_MACHINEMEMORY_H
#define ZERO_RUNTIME_ENGINE_MACHINEMEMORY_H

#include "engine/Backend.h"
#include "files/FileMemory.h"
#include "program/Program.h"

#include <string>
#include <vector>

namespace zrt {

/// A limit on memory, by the bytes that it leaves.
struct MemoryLimit {
  uint64_t left = 0;      ///< bytes
  bool ofProcess = false; ///< else of all processes of the machine together
  std::string source;     ///< what says so, for messages
};

/// The limits of the machine (/proc/meminfo), of this process's control groups,
/// version 1 and 2, and of its own limits (ulimit). Limits that the system does
/// not tell are left out. `root` stands before the paths: for tests.
std::vector<MemoryLimit> memoryLimits(const std::string &root = "");

/// Bytes of host memory that a rank's arenas take; `isForDevice`: besides the
/// device's memory.
uint64_t hostBytesOf(const Program &program, bool isForDevice);

/// The same with what the kernels of a rank of `setup` compute in, where
/// `localRanks` share this machine; `measure` may be null.
uint64_t hostBytesOf(const BackendSetup &setup, bool isForDevice,
                     const WorkspaceMeter &measure, int localRanks);

/// Whether a rank of `setup`, one of `localRanks`, may have in host memory what
/// a full disk does not take: not where that would leave other arenas without.
HostRoom roomBesideArenas(const BackendSetup &setup, bool isForDevice,
                          int localRanks);

/// Ranks that are to share memory.
struct LocalRanks {
  int ofProcess = 1, ofMachine = 1;
};

/// How much ranks of `bytes` each exceed `limits`, as a clause; "" where they
/// fit.
std::string describeLack(uint64_t bytes, const LocalRanks &ranks,
                         const std::vector<MemoryLimit> &limits);

/// Why ranks of `bytes` each do not fit `limits`, in one sentence; "" where
/// they do.
std::string lackOfMemory(uint64_t bytes, const LocalRanks &ranks,
                         const std::vector<MemoryLimit> &limits);

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_MACHINEMEMORY_H
