// A model of a device that runs CUDA kernels on the host: the threads of a
// block are fibres, blocks run one after another, and every access of a kernel
// is checked.
//
// What is an error: bytes outside of every allocation, or of the shared memory
// that the launch asked for; shared memory that nobody wrote; two threads that
// touch the same bytes with nothing between them that orders the two, one of
// them writing; a barrier or a shuffle that some threads do not reach; more
// threads than the kernel's bounds. The error names the kernel, the block, the
// threads and the address, and ends the launch.
//
// Kernels are compiled by the host's compiler with the instrumentation of
// ThreadSanitizer, whose calls come here (Accesses.cpp) instead of to its own
// library, so that all accesses are seen and no run of a wrong kernel is lucky.
#ifndef ZERO_TEST_DEVICE_BENCH_BLOCK_H
#define ZERO_TEST_DEVICE_BENCH_BLOCK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace zrt::bench {

/// What a device would not survive, or might not.
class Fault : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
};

/// A kernel with its arguments, called once by every thread. Threads may read
/// `bytes` bytes from `address`: that is where the arguments are.
class Code {
public:
  virtual ~Code() = default;
  virtual void run() const = 0;
  virtual const void *address() const = 0;
  virtual size_t bytes() const = 0;
};

/// Whether a launch may have so much shared memory from now on.
bool allowShared(size_t bytes);

/// Runs all blocks of a launch. Throws Fault.
void runGrid(Extent grid, Extent block, size_t sharedBytes, const Code &code);

/// Threads of a block that a kernel without bounds may have: with more, the
/// registers that the compiler is free to use may not suffice.
inline constexpr unsigned kUnboundedThreads = 256;
inline constexpr unsigned kMostThreads = 1024, kWarp = 32;
/// As sm_80 and sm_90 have at least.
inline constexpr size_t kMostShared = 163 * 1024, kSharedUnasked = 48 * 1024;
inline constexpr int kMultiprocessors = 3;

//===----------------------------------------------------------------------===//
// Planted defects
//===----------------------------------------------------------------------===//

/// A place in a kernel where threads depend on each other.
struct Site {
  enum Kind { Barrier, WarpBarrier, Shuffle, Atomic, Arrival } kind;
  std::string place; ///< "Rows.cu:40"
  bool operator<(const Site &other) const {
    return std::pair(kind, place) < std::pair(other.kind, other.place);
  }
  bool operator==(const Site &other) const {
    return kind == other.kind && place == other.place;
  }
};
/// Those that were reached since the program began.
std::set<Site> sites();
/// While it lives, `site` does nothing: a barrier is passed, a shuffle returns
/// what it was given, an atomic change is none, copies are not waited for.
class Planted {
public:
  explicit Planted(Site site);
  ~Planted();
  Planted(const Planted &) = delete;
  Planted &operator=(const Planted &) = delete;
};

//===----------------------------------------------------------------------===//
// Memory of the device
//===----------------------------------------------------------------------===//

/// Bytes that kernels may touch, exactly as many; the neighbours are nobody's.
void *allocate(size_t bytes);
/// False where `address` was not allocated.
bool release(void *address);
/// Whether [address, address + bytes) is in one allocation.
bool isAllocated(const void *address, size_t bytes);
size_t allocatedBytes();

/// What launches have touched of an allocation.
struct Touched {
  size_t end = 0;           ///< of the last byte
  bool isWritten = false;   ///< any of them
  std::set<uint32_t> lines; ///< of the code that was last at each byte
};
Touched touchedOf(const void *allocation);

//===----------------------------------------------------------------------===//
// What a thread of the device calls
//===----------------------------------------------------------------------===//

// The result is the same as long as a thread lives.
__attribute__((const)) Extent threadIndex();
__attribute__((const)) Extent blockIndex();
__attribute__((const)) Extent blockSize();
__attribute__((const)) Extent gridSize();

/// First thing of every kernel. `bounds`: its threads, 0 where it says none.
void enter(const char *kernel, unsigned bounds);

/// `convergent`: the compiler may not make a copy for some threads.
__attribute__((convergent)) void
synchronizeBlock(const char *file = __builtin_FILE(),
                 int line = __builtin_LINE());
__attribute__((convergent)) void
synchronizeWarp(unsigned mask, const char *file = __builtin_FILE(),
                int line = __builtin_LINE());

/// Gives `bytes` bytes, at most 16, and gets those of the lane that `source`
/// is; that one's own where it is kWarp or more.
__attribute__((convergent)) void shuffle(unsigned mask, void *value,
                                         size_t bytes, unsigned source,
                                         const char *file, int line);

/// An operation of a whole warp, which orders no memory.
__attribute__((convergent)) void enterWarp(const char *file, int line);
/// One that reads or writes a matrix with `stride` bytes between its rows; a
/// device wants the first at a multiple of 32 bytes, the others of 16.
__attribute__((convergent)) void enterMatrix(const void *address, size_t stride,
                                             const char *file, int line);

/// A copy that arrives when this thread waits for it. Until then all bits of
/// `to` are ones, which are NaNs; both places are in use.
void startCopy(void *to, const void *from, size_t bytes);
/// What was started since the last call is a group.
void commitCopies();
/// Waits for all groups of this thread but the last `prior`.
void awaitCopies(size_t prior, const char *file, int line);

/// The shared memory whose size the launch says.
void *dynamicShared();

/// Notes an atomic access, before it is done.
void noteAtomic(const void *address, size_t bytes, const char *file, int line);

inline unsigned laneOf(Extent thread, Extent size) {
  return ((thread.z * size.y + thread.y) * size.x + thread.x) % kWarp;
}

} // namespace zrt::bench

#endif // ZERO_TEST_DEVICE_BENCH_BLOCK_H
