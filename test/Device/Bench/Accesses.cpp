// Every access of a kernel: the functions that the compiler calls where code is
// instrumented as for ThreadSanitizer. Names and meanings are the compiler's.
#include "State.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace zrt::bench;

// Of the section of static shared memory; absent where no kernel has any.
extern "C" __attribute__((weak)) char __start_zero_shared[];
extern "C" __attribute__((weak)) char __stop_zero_shared[];

namespace {

struct Allocation {
  size_t bytes;
  std::unique_ptr<char[]> memory;
  /// Of all bytes; memory that nobody touched costs nothing.
  std::unique_ptr<Cell, decltype(&std::free)> cells{nullptr, &std::free};
};

std::map<uintptr_t, Allocation> allocations;
size_t inUse = 0;
/// Where the last accesses were found.
struct Found {
  uintptr_t begin = 1, end = 0;
  Cell *cells = nullptr;
};
constexpr size_t kRemembered = 8;
Found remembered[kRemembered];
size_t oldest = 0;

uintptr_t numberOf(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

/// Allocations begin where CUDA's may: at multiples of 256.
constexpr size_t kAlignment = 256;

const std::pair<const uintptr_t, Allocation> *find(uintptr_t begin,
                                                   size_t bytes) {
  auto after = allocations.upper_bound(begin);
  if (after == allocations.begin())
    return nullptr;
  const auto &found = *std::prev(after);
  const bool inside = begin - found.first <= found.second.bytes &&
                      bytes <= found.second.bytes - (begin - found.first);
  return inside ? &found : nullptr;
}

} // namespace

void *zrt::bench::allocate(size_t bytes) {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  Allocation made;
  made.bytes = bytes;
  made.memory.reset(new char[bytes + 2 * kAlignment]);
  const uintptr_t begin =
      (numberOf(made.memory.get()) + kAlignment) / kAlignment * kAlignment;
  made.cells.reset(static_cast<Cell *>(std::calloc(bytes + 1, sizeof(Cell))));
  if (!made.cells)
    throw std::bad_alloc();
  inUse += bytes;
  allocations.emplace(begin, std::move(made));
  return reinterpret_cast<void *>(begin);
}

bool zrt::bench::release(void *address) {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  const auto found = allocations.find(numberOf(address));
  if (found == allocations.end())
    return false;
  inUse -= found->second.bytes;
  allocations.erase(found);
  std::fill_n(remembered, kRemembered, Found());
  return true;
}

bool zrt::bench::isAllocated(const void *address, size_t bytes) {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  return find(numberOf(address), bytes) != nullptr;
}

size_t zrt::bench::allocatedBytes() {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  return inUse;
}

Touched zrt::bench::touchedOf(const void *allocation) {
  const std::lock_guard<std::mutex> lock(deviceMutex);
  const Allocation &found = allocations.at(numberOf(allocation));
  Touched touched;
  for (size_t i = 0; i < found.bytes; ++i)
    for (const Touch *each :
         {&found.cells.get()[i].read, &found.cells.get()[i].write})
      if (each->phase) {
        touched.end = i + 1;
        touched.isWritten |= each == &found.cells.get()[i].write;
        touched.lines.insert(each->line);
      }
  return touched;
}

/// The bytes' cells; null where they are no memory of the device.
static Cell *cellsOf(const void *address, size_t bytes) {
  const uintptr_t begin = numberOf(address);
  for (const Found &each : remembered)
    if (begin >= each.begin && begin + bytes <= each.end)
      return each.cells + (begin - each.begin);
  const auto *found = find(begin, bytes);
  if (!found)
    return nullptr;
  Found &to = remembered[oldest++ % kRemembered];
  to = {found->first, found->first + found->second.bytes,
        found->second.cells.get()};
  return to.cells + (begin - to.begin);
}

/// The cells of static shared memory.
static Cell *sharedCells(const void *address, size_t bytes) {
  const uintptr_t begin = numberOf(address),
                  first = numberOf(__start_zero_shared);
  if (!first || begin < first || begin + bytes > numberOf(__stop_zero_shared))
    return nullptr;
  static std::vector<Cell> cells(
      size_t(__stop_zero_shared - __start_zero_shared));
  return cells.data() + (begin - first);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

enum class Kind { Read, Write, Atomic };

const char *nameOf(Kind kind) {
  return kind == Kind::Read    ? "reads"
         : kind == Kind::Write ? "writes"
                               : "changes atomically";
}

/// Whether everything that `touch` stands for comes before the running thread.
bool isBefore(const Touch &touch) {
  const Thread &thread = *running.thread;
  if (touch.phase < running.launchPhase)
    return true;
  if (touch.phase < running.blockPhase || (touch.who & kByOthers))
    return false;
  if (touch.phase < running.phase)
    return true;
  if (touch.who & kByBlock)
    return false;
  const unsigned other = touch.who & kThreadBits;
  if (!(touch.who & kByWarp) && other == thread.number)
    return true;
  const unsigned warp = thread.number / kWarp;
  return other / kWarp == warp && touch.warpPhase < running.warps[warp].phase;
}

Touch touchOf(Kind kind) {
  const Thread &thread = *running.thread;
  return {running.phase,
          uint16_t(thread.number | (kind == Kind::Atomic ? kAtomic : 0)),
          running.warps[thread.number / kWarp].phase, running.line};
}

/// A read joins those that nothing orders with it.
void addRead(Touch &known, const Touch &mine) {
  const bool others =
      known.phase >= running.launchPhase &&
      (known.phase < running.blockPhase || (known.who & kByOthers));
  if (isBefore(known)) {
    known = mine;
    return;
  }
  const uint16_t flags = others ? kByOthers : 0;
  if (known.phase < running.phase) {
    known = mine;
    known.who |= flags;
    return;
  }
  const bool warp =
      (known.who & kThreadBits) / kWarp == running.thread->number / kWarp;
  const bool byBlock = (known.who & kByBlock) || !warp;
  known.who = uint16_t((mine.who & kThreadBits) | flags |
                       (byBlock ? kByBlock : kByWarp));
  known.warpPhase = mine.warpPhase;
  known.line = mine.line;
}

std::string nameOf(const Touch &touch) {
  const std::string line =
      touch.line ? " at line " + std::to_string(touch.line) : "";
  if (touch.who & kByOthers || touch.phase < running.blockPhase)
    return "a thread of another block" + line;
  if (touch.who & kByBlock)
    return "several threads, " + nameOfThread(touch.who & kThreadBits) + line +
           " among them,";
  return nameOfThread(touch.who & kThreadBits) + line;
}

std::string describe(Kind kind, const void *address, size_t bytes) {
  char text[64];
  std::snprintf(text, sizeof(text), "%p", address);
  return std::string(nameOf(kind)) + " " + std::to_string(bytes) +
         " bytes at " + text;
}

/// A read of what was written before the last barrier, and is read again or by
/// many: nothing to check, and nothing to note.
bool isNothingNew(const Cell &cell, const Touch &mine, bool shared) {
  const Touch &write = cell.write, &read = cell.read;
  if (shared ? write.phase < running.blockPhase || write.phase >= mine.phase
             : write.phase >= running.launchPhase)
    return false;
  return read.phase == mine.phase &&
         ((read.who & kByBlock) ||
          (read.who == mine.who && read.warpPhase == mine.warpPhase));
}

void checkOrder(Kind kind, Cell *cells, const void *address, size_t bytes,
                bool shared) {
  const Touch mine = touchOf(kind);
  const char *where = shared ? " of shared memory" : "";
  for (size_t i = 0; i < bytes; ++i) {
    Cell &cell = cells[i];
    if (kind == Kind::Read && isNothingNew(cell, mine, shared))
      continue;
    if (shared && cell.write.phase < running.blockPhase) {
      if (kind != Kind::Write)
        fault(describe(kind, address, bytes) + where +
              ", which nobody has written in this block");
      cell = Cell(); // another block's
    }
    const bool bothAtomic = kind == Kind::Atomic && (cell.write.who & kAtomic);
    if (!bothAtomic && !isBefore(cell.write))
      fault(describe(kind, address, bytes) + where + ", which " +
            nameOf(cell.write) + " writes with nothing to order them");
    if (kind == Kind::Read) {
      addRead(cell.read, mine);
      continue;
    }
    if (!isBefore(cell.read))
      fault(describe(kind, address, bytes) + where + ", which " +
            nameOf(cell.read) + " reads with nothing to order them");
    const Touch other = cell.write;
    cell.write = mine;
    if (bothAtomic && !isBefore(other))
      cell.write.who |= other.phase < running.blockPhase ? kByOthers : kByBlock;
  }
}

/// An access of `bytes` bytes at once, which a device does at multiples of
/// `alignment`.
void note(Kind kind, const void *address, size_t bytes, size_t alignment = 1) {
  if (!isLaunching || !running.thread || !bytes)
    return;
  const uintptr_t begin = numberOf(address);
  const uintptr_t stack = numberOf(running.thread->stack);
  if (begin >= stack && begin + bytes <= stack + kStackBytes)
    return;
  if (begin % alignment)
    fault(describe(kind, address, bytes) + ", which is no multiple of " +
          std::to_string(alignment));
  const uintptr_t dynamic = numberOf(running.dynamic.data());
  if (begin >= dynamic && begin + bytes <= dynamic + running.dynamic.size())
    return checkOrder(kind, running.dynamicCells.data() + (begin - dynamic),
                      address, bytes, true);
  if (Cell *cells = sharedCells(address, bytes))
    return checkOrder(kind, cells, address, bytes, true);
  if (Cell *cells = cellsOf(address, bytes))
    return checkOrder(kind, cells, address, bytes, false);
  const uintptr_t code = numberOf(running.code->address());
  if (kind == Kind::Read && begin >= code &&
      begin + bytes <= code + running.code->bytes())
    return;
  fault(describe(kind, address, bytes) + ", outside of every allocation");
}

} // namespace

void zrt::bench::noteRead(const void *address, size_t bytes, size_t alignment) {
  note(Kind::Read, address, bytes, alignment);
}

void zrt::bench::noteWrite(const void *address, size_t bytes,
                           size_t alignment) {
  note(Kind::Write, address, bytes, alignment);
}

void zrt::bench::noteAtomic(const void *address, size_t bytes, const char *file,
                            int line) {
  note(isPlanted(Site::Atomic, file, line) ? Kind::Write : Kind::Atomic,
       address, bytes);
}

//===----------------------------------------------------------------------===//
// What the compiler calls
//===----------------------------------------------------------------------===//

#define ACCESSES(bytes)                                                        \
  void __tsan_read##bytes(void *at) { note(Kind::Read, at, bytes, bytes); }    \
  void __tsan_write##bytes(void *at) { note(Kind::Write, at, bytes, bytes); }  \
  void __tsan_unaligned_read##bytes(void *at) { note(Kind::Read, at, bytes); } \
  void __tsan_unaligned_write##bytes(void *at) { note(Kind::Write, at, bytes); }

/// A copy of a pack or a vector is one load and one store of its size.
static size_t alignmentOf(size_t bytes) {
  return bytes == 8 || bytes == 16 ? bytes : 1;
}

extern "C" {
void __tsan_init() {}
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __tsan_vptr_read(void **) {}
void __tsan_vptr_update(void **, void *) {}
void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  note(Kind::Read, from, bytes, alignmentOf(bytes));
  note(Kind::Write, to, bytes, alignmentOf(bytes));
  return std::memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes) {
  note(Kind::Read, from, bytes, alignmentOf(bytes));
  note(Kind::Write, to, bytes, alignmentOf(bytes));
  return std::memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes) {
  note(Kind::Write, to, bytes);
  return std::memset(to, value, bytes);
}
}
