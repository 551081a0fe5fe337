// The block that is running, as its threads and their accesses see it.
#ifndef ZERO_TEST_DEVICE_BENCH_STATE_H
#define ZERO_TEST_DEVICE_BENCH_STATE_H

#include "Block.h"

#include <mutex>
#include <vector>

namespace zrt::bench {

/// Who touched a byte last. `phase` numbers the intervals between barriers of
/// all blocks of all launches; 0: nobody.
struct Touch {
  uint32_t phase = 0;
  uint16_t who = 0; ///< the thread's number, and flags
  uint16_t warpPhase = 0;
  uint32_t line = 0; ///< of the code, where that is known
};
/// Of a touch: the thread's number, and what else is known of it.
inline constexpr uint16_t kThreadBits = 0x0fff, kAtomic = 0x8000,
                          kByWarp = 0x4000, kByBlock = 0x2000,
                          kByOthers = 0x1000;
struct Cell {
  Touch write, read;
};

/// A copy under way, of a group with a number.
struct Copy {
  void *to;
  const void *from;
  size_t bytes, group;
};

struct Thread {
  enum Waits { Nothing, Block, Warp, Exited };
  Extent index;
  unsigned number = 0;
  Waits waits = Nothing;
  const char *file = ""; ///< where it waits
  int line = 0;
  void *stackPointer = nullptr;
  char *stack = nullptr; ///< kStackBytes
  std::vector<Copy> copies;
  size_t groups = 0; ///< of copies, so far
};
inline constexpr size_t kStackBytes = 256 * 1024;

struct Warp {
  uint16_t phase = 1;   ///< intervals between __syncwarp
  unsigned arrived = 0; ///< lanes that wait
  unsigned mask = 0;    ///< and those that they wait for
  bool orders = false;  ///< what they wait for orders memory
  uint16_t round = 0;   ///< of shuffles
  struct Slot {
    alignas(16) char bytes[16];
  } slots[2][kWarp];
};

struct Running {
  const Code *code = nullptr;
  const char *kernel = "?";
  Extent grid, block, index;
  unsigned threads = 0;
  uint32_t phase = 0, launchPhase = 0, blockPhase = 0;
  uint32_t line = 0;        ///< that runs, where it is known
  Thread *thread = nullptr; ///< null: the host runs
  std::vector<Warp> warps;
  std::vector<char> dynamic; ///< shared memory of the launch's size
  std::vector<Cell> dynamicCells;
};
extern Running running;
/// Held by a launch from begin to end, and by whoever changes allocations.
extern std::mutex deviceMutex;
/// Whether this thread of the host runs a launch.
extern thread_local bool isLaunching;

/// Ends the launch with an error about the running thread. Does not return to
/// the kernel.
[[noreturn]] void fault(const std::string &what);

/// Notes an access of the running thread, or ends the launch.
void noteRead(const void *address, size_t bytes, size_t alignment);
void noteWrite(const void *address, size_t bytes, size_t alignment);

/// Whether the operation there does nothing. Notes the site.
bool isPlanted(Site::Kind kind, const char *file, int line);

/// "thread 5".
std::string nameOfThread(unsigned number);

} // namespace zrt::bench

#endif // ZERO_TEST_DEVICE_BENCH_STATE_H
