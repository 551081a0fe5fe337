#include "State.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

using namespace zrt::bench;

namespace zrt::bench {
Running running;
std::mutex deviceMutex;
thread_local bool isLaunching = false;
} // namespace zrt::bench

//===----------------------------------------------------------------------===//
// Fibres
//===----------------------------------------------------------------------===//

// Saves what a call must keep on the stack, and goes on where another fibre did
// the same. void zeroBenchSwitch(void **own, void *other)
asm(R"(
.text
.globl zeroBenchSwitch
.type zeroBenchSwitch, @function
zeroBenchSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size zeroBenchSwitch, .-zeroBenchSwitch
)");
extern "C" void zeroBenchSwitch(void **own, void *other);

namespace {

/// The stacks of a block's threads, taken once. The lowest page of each is
/// nobody's.
class Stacks {
public:
  Stacks() {
    memory = static_cast<char *>(
        mmap(nullptr, kMostThreads * kStackBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (memory == MAP_FAILED)
      throw std::bad_alloc();
    for (unsigned i = 0; i < kMostThreads; ++i)
      mprotect(memory + i * kStackBytes, kPage, PROT_NONE);
  }
  char *operator[](unsigned thread) const {
    return memory + thread * kStackBytes;
  }

private:
  static constexpr size_t kPage = 4096;
  char *memory;
};

std::vector<Thread> threads;
void *scheduler; ///< its stack pointer, while a fibre runs
std::string failure;

void goBack() { zeroBenchSwitch(&running.thread->stackPointer, scheduler); }

/// The first function of every fibre.
void begin() {
  running.code->run();
  running.thread->waits = Thread::Exited;
  goBack();
  __builtin_unreachable();
}

void prepare(Thread &thread, char *stack) {
  thread.stack = stack;
  thread.waits = Thread::Nothing;
  thread.copies.clear();
  thread.groups = 0;
  // As if it had called zeroBenchSwitch from a function that `begin` called:
  // six registers, and where to go. On entry of `begin` the stack is then 8
  // bytes off a multiple of 16, as after a call.
  auto **top = reinterpret_cast<void **>(stack + kStackBytes) - 1;
  *--top = reinterpret_cast<void *>(&begin);
  top -= 6;
  std::fill_n(top, 6, nullptr);
  thread.stackPointer = top;
}

void resume(Thread &thread) {
  running.thread = &thread;
  zeroBenchSwitch(&scheduler, thread.stackPointer);
  running.thread = nullptr;
}

} // namespace

void zrt::bench::fault(const std::string &what) {
  const Extent at = running.index;
  failure = std::string("kernel '") + running.kernel + "', block (" +
            std::to_string(at.x) + ", " + std::to_string(at.y) + ", " +
            std::to_string(at.z) + "), " +
            nameOfThread(running.thread->number) + ": " + what;
  running.thread->waits = Thread::Exited;
  goBack();
  __builtin_unreachable();
}

std::string zrt::bench::nameOfThread(unsigned number) {
  return "thread " + std::to_string(number);
}

//===----------------------------------------------------------------------===//
// What threads wait for
//===----------------------------------------------------------------------===//

static std::string placeOf(const char *file, int line) {
  const char *name = std::strrchr(file, '/');
  return std::string(name ? name + 1 : file) + ":" + std::to_string(line);
}

namespace {
/// By the file's and the line's own numbers: asked at every barrier.
std::map<std::tuple<Site::Kind, const char *, int>, bool> known;
std::set<Site> reached;
const Site *planted = nullptr;
} // namespace

bool zrt::bench::isPlanted(Site::Kind kind, const char *file, int line) {
  const auto [found, isNew] = known.try_emplace({kind, file, line}, false);
  if (isNew) {
    const Site site{kind, placeOf(file, line)};
    reached.insert(site);
    found->second = planted && *planted == site;
  }
  return found->second;
}

std::set<Site> zrt::bench::sites() {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  return reached;
}

Planted::Planted(Site site) {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  known.clear();
  planted = new Site(std::move(site));
}

Planted::~Planted() {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  known.clear();
  delete std::exchange(planted, nullptr);
}

static void waitFor(Thread::Waits what, const char *file, int line) {
  Thread &thread = *running.thread;
  thread.waits = what;
  thread.file = file;
  thread.line = line;
  goBack();
}

void zrt::bench::synchronizeBlock(const char *file, int line) {
  if (isPlanted(Site::Barrier, file, line))
    return;
  waitFor(Thread::Block, file, line);
}

/// The last lane lets all of them go.
static void joinWarp(unsigned mask, bool orders, const char *file, int line) {
  const unsigned lane = running.thread->number % kWarp;
  Warp &warp = running.warps[running.thread->number / kWarp];
  if (!(mask >> lane & 1))
    fault("is not in the mask of its own operation of a warp");
  if (warp.arrived && (warp.mask != mask || warp.orders != orders))
    fault("meets lanes of its warp that do another operation");
  warp.mask = mask;
  warp.orders = orders;
  warp.arrived |= 1u << lane;
  const unsigned first = running.thread->number - lane;
  const unsigned lanes = std::min(kWarp, running.threads - first);
  const unsigned present = lanes == kWarp ? ~0u : (1u << lanes) - 1;
  if (warp.arrived != (mask & present))
    return waitFor(Thread::Warp, file, line);
  for (unsigned i = 0; i < lanes; ++i)
    if (warp.arrived >> i & 1)
      threads[first + i].waits = Thread::Nothing;
  warp.arrived = 0;
  ++(orders ? warp.phase : warp.round);
}

void zrt::bench::synchronizeWarp(unsigned mask, const char *file, int line) {
  if (isPlanted(Site::WarpBarrier, file, line))
    return;
  joinWarp(mask, /*orders=*/true, file, line);
}

void zrt::bench::enterWarp(const char *file, int line) {
  joinWarp(~0u, /*orders=*/false, file, line);
}

void zrt::bench::enterMatrix(const void *address, size_t stride,
                             const char *file, int line) {
  if (reinterpret_cast<uintptr_t>(address) % 32 || stride % 16)
    fault("takes a matrix whose address is no multiple of 32 bytes, or whose "
          "rows are " +
          std::to_string(stride) + " bytes apart, no multiple of 16");
  enterWarp(file, line);
}

void zrt::bench::shuffle(unsigned mask, void *value, size_t bytes,
                         unsigned source, const char *file, int line) {
  if (isPlanted(Site::Shuffle, file, line))
    return;
  const unsigned number = running.thread->number, lane = number % kWarp;
  Warp &warp = running.warps[number / kWarp];
  // Two sets of slots: who is a round ahead does not overwrite what others
  // have yet to read.
  Warp::Slot *slots = warp.slots[warp.round & 1];
  std::memcpy(slots[lane].bytes, value, bytes);
  joinWarp(mask, /*orders=*/false, file, line);
  if (source >= kWarp)
    source = lane;
  if (!(mask >> source & 1) || number - lane + source >= running.threads)
    fault("takes the value of lane " + std::to_string(source) +
          ", which gives none");
  std::memcpy(value, slots[source].bytes, bytes);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Runs threads until each of them waits. Those of a warp go on together.
static void runUntilAllWait() {
  for (unsigned first = 0; first < running.threads; first += kWarp) {
    const unsigned last = std::min(first + kWarp, running.threads);
    for (bool moved = true; moved;) {
      moved = false;
      for (unsigned i = first; i < last; ++i)
        while (threads[i].waits == Thread::Nothing && failure.empty()) {
          moved = true;
          resume(threads[i]);
        }
    }
  }
}

static std::string stateOf(const Thread &thread) {
  std::string text = nameOfThread(thread.number);
  switch (thread.waits) {
  case Thread::Exited:
    return text + " has left the kernel";
  case Thread::Block:
    return text + " waits at the barrier of " +
           placeOf(thread.file, thread.line);
  default:
    return text + " waits for lanes of its warp at " +
           placeOf(thread.file, thread.line);
  }
}

/// Lets a barrier's threads go, if all of them are there; false: all have left.
static bool passBarrier() {
  const Thread &first = threads.front();
  for (unsigned i = 0; i < running.threads; ++i) {
    const Thread &other = threads[i];
    if (other.waits == Thread::Warp || other.waits != first.waits ||
        (other.waits == Thread::Block &&
         (other.line != first.line || std::strcmp(other.file, first.file)))) {
      failure = std::string("kernel '") + running.kernel + "', block (" +
                std::to_string(running.index.x) + ", " +
                std::to_string(running.index.y) + ", " +
                std::to_string(running.index.z) + "): " + stateOf(first) +
                (i ? ", and " + stateOf(other) : "") +
                ": not all threads get to the same place";
      return false;
    }
  }
  if (first.waits == Thread::Exited)
    return false;
  ++running.phase;
  for (unsigned i = 0; i < running.threads; ++i)
    threads[i].waits = Thread::Nothing;
  return true;
}

static void runBlock(const Stacks &stacks) {
  running.blockPhase = ++running.phase;
  running.warps.assign((running.threads + kWarp - 1) / kWarp, Warp());
  for (unsigned i = 0; i < running.threads; ++i)
    prepare(threads[i], stacks[i]);
  do
    runUntilAllWait();
  while (failure.empty() && passBarrier());
  if (!failure.empty())
    throw Fault(failure);
}

static size_t sharedAllowed = kSharedUnasked;

bool zrt::bench::allowShared(size_t bytes) {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  if (bytes > kMostShared)
    return false;
  sharedAllowed = std::max(sharedAllowed, bytes);
  return true;
}

void zrt::bench::runGrid(Extent grid, Extent block, size_t sharedBytes,
                         const Code &code) {
  static const Stacks stacks;
  const std::lock_guard<std::mutex> lock(deviceMutex);
  failure.clear();
  const uint64_t count = uint64_t(block.x) * block.y * block.z;
  if (!count || count > kMostThreads)
    throw Fault("a launch of blocks of " + std::to_string(count) +
                " threads, wanted 1 to 1024");
  if (!grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 ||
      grid.x > 0x7fffffffu)
    throw Fault("a launch of a grid of " + std::to_string(grid.x) + " x " +
                std::to_string(grid.y) + " x " + std::to_string(grid.z) +
                " blocks: no device takes it");
  if (sharedBytes > sharedAllowed)
    throw Fault("a launch with " + std::to_string(sharedBytes) +
                " bytes of shared memory, which no kernel was allowed");
  const uint32_t phase = running.phase;
  running = Running();
  running.phase = phase;
  running.launchPhase = phase + 1;
  running.code = &code;
  running.grid = grid;
  running.block = block;
  running.threads = unsigned(count);
  running.dynamic.resize(sharedBytes);
  running.dynamicCells.resize(sharedBytes);
  threads.assign(count, Thread());
  for (unsigned i = 0; i < count; ++i) {
    threads[i].number = i;
    threads[i].index = {i % block.x, i / block.x % block.y,
                        i / block.x / block.y};
  }
  struct Launching {
    Launching() { isLaunching = true; }
    ~Launching() { isLaunching = false; }
  } launching;
  Extent &at = running.index;
  for (at.z = 0; at.z < grid.z; ++at.z)
    for (at.y = 0; at.y < grid.y; ++at.y)
      for (at.x = 0; at.x < grid.x; ++at.x)
        runBlock(stacks);
}

//===----------------------------------------------------------------------===//
// What a thread asks
//===----------------------------------------------------------------------===//

Extent zrt::bench::threadIndex() { return running.thread->index; }
Extent zrt::bench::blockIndex() { return running.index; }
Extent zrt::bench::blockSize() { return running.block; }
Extent zrt::bench::gridSize() { return running.grid; }
void *zrt::bench::dynamicShared() { return running.dynamic.data(); }

void zrt::bench::enter(const char *kernel, unsigned bounds) {
  running.kernel = kernel;
  const unsigned most = bounds ? bounds : kUnboundedThreads;
  if (running.threads > most)
    fault("is one of " + std::to_string(running.threads) +
          (bounds ? "; the kernel's bounds are " + std::to_string(bounds)
                  : "; a kernel of more than " + std::to_string(most) +
                        " threads declares its bounds"));
}
