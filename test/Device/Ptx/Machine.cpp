// Runs blocks: each thread until it waits for others, whom it meets at barriers
// and in operations of a warp.
#include "Machine.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

using namespace zrt;
using namespace zrt::ptx;

// What the bench's checks of accesses ask of who runs a kernel.
namespace zrt::bench {
Running running;
std::mutex deviceMutex;
thread_local bool isLaunching = false;
std::string nameOfThread(unsigned number) {
  return "thread " + std::to_string(number);
}
/// Here tests leave instructions out, not places of the source.
bool isPlanted(Site::Kind, const char *, int) { return false; }
} // namespace zrt::bench

namespace zrt::ptx {
Machine machine;
} // namespace zrt::ptx

static std::string readableName(const std::string &mangled) {
  int status = 0;
  char *text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? text : mangled;
  std::free(text);
  return name;
}

static std::string placeOf(const Instruction *at) {
  return machine.entry->file + ":" + std::to_string(at ? at->line : 0) +
         (at ? std::string(" (") + at->text + ")" : "");
}

static std::string headOfFault() {
  const bench::Extent at = bench::running.index;
  return "kernel '" + readableName(machine.entry->name) + "', block (" +
         std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
         std::to_string(at.z) + ")";
}

void bench::fault(const std::string &what) {
  auto *lane = static_cast<Lane *>(running.thread);
  throw Fault(headOfFault() + ", " + nameOfThread(lane->number) + " at " +
              placeOf(lane->at) + ": " + what);
}

//===----------------------------------------------------------------------===//
// What threads wait for
//===----------------------------------------------------------------------===//

void zrt::ptx::meet(Lane &lane, uint32_t mask, bool orders, Join join) {
  const unsigned own = lane.number % kWarp;
  bench::Warp &warp = bench::running.warps[lane.number / kWarp];
  Lane *first = &lane - own;
  const unsigned lanes =
      std::min(kWarp, bench::running.threads - first->number);
  if (!(mask >> own & 1))
    fault("is not in the mask of its own operation of a warp");
  if (warp.arrived) {
    const Lane &other = first[__builtin_ctz(warp.arrived)];
    if (warp.mask != mask || other.at->run != lane.at->run)
      fault("meets " + bench::nameOfThread(other.number) + ", which is at " +
            placeOf(other.at));
  }
  warp.mask = mask;
  warp.arrived |= 1u << own;
  lane.waits = bench::Thread::Warp;
  const uint32_t present = lanes == kWarp ? ~0u : (1u << lanes) - 1;
  if (warp.arrived != (mask & present))
    return;
  for (unsigned i = 0; i < lanes; ++i)
    if (warp.arrived >> i & 1)
      first[i].waits = bench::Thread::Nothing;
  warp.arrived = 0;
  if (orders)
    ++warp.phase;
  join({first, lanes, mask & present});
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static void resume(Lane &lane) {
  const std::vector<Instruction> &code = machine.entry->code;
  while (lane.waits == bench::Thread::Nothing) {
    if (lane.next >= code.size()) {
      lane.waits = bench::Thread::Exited;
      return;
    }
    const Instruction &each = code[lane.next++];
    if (each.guard >= 0 &&
        (lane.registers[each.guard] & 1) == uint64_t(each.unless))
      continue;
    each.wasRun = true;
    if (each.isLeftOut && each.meeting != Meeting::Shuffle &&
        each.meeting != Meeting::Atomic)
      continue;
    lane.at = &each;
    bench::running.line = each.line;
    bench::running.thread = &lane;
    each.run(lane, each);
  }
}

/// Runs threads until each of them waits. Those of a warp go on together.
static void runUntilAllWait() {
  std::vector<Lane> &lanes = machine.lanes;
  for (size_t first = 0; first < lanes.size(); first += kWarp) {
    const size_t last = std::min(first + kWarp, lanes.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = first; i < last; ++i)
        if (lanes[i].waits == bench::Thread::Nothing) {
          moved = true;
          resume(lanes[i]);
        }
    }
  }
}

static std::string stateOf(const Lane &lane) {
  const std::string name = bench::nameOfThread(lane.number);
  return lane.waits == bench::Thread::Exited
             ? name + " has left the kernel"
             : name + " waits at " + placeOf(lane.at);
}

/// Lets a barrier's threads go, if all of them are there; false: all have left.
static bool passBarrier() {
  const Lane &first = machine.lanes.front();
  for (const Lane &other : machine.lanes)
    if (other.waits == bench::Thread::Warp || other.waits != first.waits ||
        (other.waits == bench::Thread::Block && other.at != first.at))
      throw bench::Fault(headOfFault() + ": " + stateOf(first) + ", and " +
                         stateOf(other) +
                         ": not all threads get to the same place");
  if (first.waits == bench::Thread::Exited)
    return false;
  ++bench::running.phase;
  for (Lane &each : machine.lanes)
    each.waits = bench::Thread::Nothing;
  return true;
}

static void prepare(Lane &lane, unsigned number) {
  const bench::Extent block = bench::running.block, grid = bench::running.grid,
                      at = bench::running.index;
  lane = Lane();
  lane.number = number;
  lane.index = {number % block.x, number / block.x % block.y,
                number / block.x / block.y};
  lane.registers =
      machine.registers.data() + size_t(number) * size_t(machine.entry->places);
  lane.local = machine.locals.data() + number * machine.entry->localBytes;
  const bench::Extent extents[] = {lane.index, block, at, grid};
  for (int i = 0; i < 4; ++i) {
    lane.registers[3 * i] = extents[i].x;
    lane.registers[3 * i + 1] = extents[i].y;
    lane.registers[3 * i + 2] = extents[i].z;
  }
  lane.registers[kLaneNumber] = number % kWarp;
  lane.registers[kWarpNumber] = number / kWarp;
  lane.registers[kLanesBelow] = (1u << number % kWarp) - 1;
}

static void runBlock() {
  bench::running.blockPhase = ++bench::running.phase;
  bench::running.warps.assign((bench::running.threads + kWarp - 1) / kWarp,
                              bench::Warp());
  for (unsigned i = 0; i < bench::running.threads; ++i)
    prepare(machine.lanes[i], i);
  do
    runUntilAllWait();
  while (passBarrier());
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// The bench lets threads read their arguments in memory; here they are none.
class NoCode final : public bench::Code {
public:
  void run() const override {}
  const void *address() const override { return this; }
  size_t bytes() const override { return 0; }
};
} // namespace

static size_t sharedAllowed = bench::kSharedUnasked;
bool bench::allowShared(size_t bytes) {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  if (bytes > kMostShared)
    return false;
  sharedAllowed = std::max(sharedAllowed, bytes);
  return true;
}

static void wantPossible(const Entry &entry, bench::Extent grid,
                         uint64_t threads, size_t sharedBytes) {
  const uint64_t most =
      entry.mostThreads ? entry.mostThreads : bench::kUnboundedThreads;
  const std::string launch = "a launch of '" + readableName(entry.name) + "' ";
  if (!threads || threads > most)
    throw bench::Fault(launch + "with blocks of " + std::to_string(threads) +
                       " threads; its bounds are " + std::to_string(most));
  if (!grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 ||
      grid.x > 0x7fffffffu)
    throw bench::Fault(launch + "with a grid that no device takes");
  if (entry.sharedBytes + sharedBytes > sharedAllowed)
    throw bench::Fault(launch + "with " +
                       std::to_string(entry.sharedBytes + sharedBytes) +
                       " bytes of shared memory, which no kernel was allowed");
}

/// Sets up what all blocks of a launch share.
static void begin(Entry &entry, bench::Extent grid, bench::Extent block,
                  size_t sharedBytes, const char *parameters) {
  static const NoCode noCode;
  bench::Running &running = bench::running;
  const uint32_t phase = running.phase;
  running = bench::Running();
  running.phase = phase;
  running.launchPhase = phase + 1;
  running.code = &noCode;
  running.grid = grid;
  running.block = block;
  running.threads = block.x * block.y * block.z;
  running.dynamic.resize(entry.sharedBytes + sharedBytes);
  running.dynamicCells.resize(running.dynamic.size());
  machine.entry = &entry;
  machine.parameters = parameters;
  machine.shared = running.dynamic.data();
  machine.sharedBytes = running.dynamic.size();
  machine.lanes.resize(running.threads);
  // What no instruction wrote is no number, and no address.
  machine.registers.assign(size_t(entry.places) * running.threads,
                           ~uint64_t(0));
  machine.locals.resize(entry.localBytes * running.threads);
  entry.wasRun = true;
}

void zrt::ptx::runGrid(Entry &entry, bench::Extent grid, bench::Extent block,
                       size_t sharedBytes,
                       const std::vector<char> &parameters) {
  const std::lock_guard<std::mutex> lock(bench::deviceMutex);
  wantPossible(entry, grid, uint64_t(block.x) * block.y * block.z, sharedBytes);
  begin(entry, grid, block, sharedBytes, parameters.data());
  struct Launching {
    Launching() { bench::isLaunching = true; }
    ~Launching() { bench::isLaunching = false; }
  } launching;
  bench::Extent &at = bench::running.index;
  for (at.z = 0; at.z < grid.z; ++at.z)
    for (at.y = 0; at.y < grid.y; ++at.y)
      for (at.x = 0; at.x < grid.x; ++at.x)
        runBlock();
}
