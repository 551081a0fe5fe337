// Runs updates of a compiled program and compares what it asks the system for
// with its plan: arenas are mapped once and exactly as planned, and a step
// allocates nothing. What oneDNN allocates in a call is counted by itself.
//
//   zero-step-memory program.so
//   zero-step-memory --arenas program.so   runs nothing: what each arena asks
//   for
#include "ProgramLibrary.h"

#include "communicator/InProcess.h"
#include "engine/Executor.h"
#include "report/TraceLog.h"
#include "state/Arenas.h"
#include "state/Initialize.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <new>
#include <optional>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace zrt;
using zrt::testing::ProgramLibrary;

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

namespace {

std::atomic<int64_t> mappedBytes, ownCalls, productCalls;
std::atomic<bool> counting;
/// Where each mapping begins and how large it is; only while this is noted.
std::map<void *, int64_t> mappings;
bool notesMappings = false;

/// oneDNN's products make small objects of their own in each call; everything
/// else, the standard library included, is the runtime's doing.
bool isOfProducts(const void *caller) {
  Dl_info info;
  return dladdr(caller, &info) && std::strstr(info.dli_fname, "dnnl");
}

void count(const void *caller) {
  if (counting)
    ++(isOfProducts(caller) ? productCalls : ownCalls);
}

} // namespace

// The runtime's calls come here; those of the C library itself do not.
extern "C" void *mmap(void *address, size_t bytes, int protection, int flags,
                      int file, off_t offset) noexcept {
  mappedBytes += int64_t(bytes);
  void *mapped = reinterpret_cast<void *>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
  if (notesMappings)
    mappings[mapped] = int64_t(bytes);
  return mapped;
}
extern "C" int munmap(void *address, size_t bytes) noexcept {
  mappedBytes -= int64_t(bytes);
  return int(syscall(SYS_munmap, address, bytes));
}

static void *take(size_t bytes, const void *caller) {
  count(caller);
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
static void *take(size_t bytes, std::align_val_t alignment,
                  const void *caller) {
  count(caller);
  const size_t unit = size_t(alignment);
  if (void *memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit))
    return memory;
  throw std::bad_alloc();
}
// The compiler may pair new and delete in any way, so all forms are replaced.
void *operator new(size_t bytes) {
  return take(bytes, __builtin_return_address(0));
}
void *operator new[](size_t bytes) {
  return take(bytes, __builtin_return_address(0));
}
void *operator new(size_t bytes, std::align_val_t alignment) {
  return take(bytes, alignment, __builtin_return_address(0));
}
void *operator new[](size_t bytes, std::align_val_t alignment) {
  return take(bytes, alignment, __builtin_return_address(0));
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void *memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {

/// What one rank needs to run.
struct Rank {
  Rank(const ProgramLibrary &library, Communicator &communicator)
      : program(library.programOf(0)), communicator(communicator), pool(1),
        arenas(library.programOf(0)) {
    context.rank = communicator.rank();
    context.sampleIndex = program.sampleIndex(communicator.rank());
    context.sampleRanks = program.sampleRanks();
    context.pool = &pool;
    context.control = &arenas.control();
    context.program = &program;
    context.generated = library.kernels;
    context.generatedCount = library.kernelCount;
    executor.emplace(program, arenas.addresses(), communicator, context);
  }

  void prepare() {
    executor->plan();
    initializeControl(program, arenas, /*seed=*/1);
    initializeConstants(program, arenas, communicator.rank());
    initializeParameters(program, arenas, communicator.rank(), /*seed=*/1,
                         &pool);
    executor->runInitialize();
    // A trace is recorded without allocating, too.
    executor->setCommandHook(trace.hook());
  }

  void update() {
    trace.beginUpdate(++updates);
    for (int64_t micro = 0; micro < program.training.accumulation; ++micro)
      executor->runMicro(micro);
    executor->runApply();
    trace.endUpdate();
  }

  const Program &program;
  Communicator &communicator;
  ThreadPool pool;
  Arenas arenas;
  KernelContext context;
  std::optional<Executor> executor;
  static constexpr int64_t kMostUpdates = 4;
  TraceLog trace{program, kMostUpdates, /*timesOperations=*/false};
  int64_t updates = 0;
};

/// What was found over all ranks.
struct Findings {
  int64_t mapped = 0, mappedInSteps = 0, own = 0, products = 0;
  size_t workspace = 0;
};

/// Two updates warm up; two more must not allocate.
Findings measure(const ProgramLibrary &library) {
  constexpr int kWarmUp = 2, kMeasured = 2;
  auto communicators = makeInProcess(library.programOf(0).training.ranks);
  std::vector<std::optional<Rank>> ranks(communicators.size());
  Findings findings;
  const int64_t mappedBefore = mappedBytes;
  for (size_t i = 0; i < ranks.size(); ++i)
    ranks[i].emplace(library, *communicators[i]);
  findings.mapped = mappedBytes - mappedBefore;

  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, unsigned(ranks.size()) + 1);
  std::vector<std::thread> threads;
  for (std::optional<Rank> &rank : ranks)
    threads.emplace_back([&] {
      rank->prepare();
      for (int i = 0; i < kWarmUp; ++i)
        rank->update();
      pthread_barrier_wait(&barrier); // all are warm
      pthread_barrier_wait(&barrier); // the counter runs
      for (int i = 0; i < kMeasured; ++i)
        rank->update();
      pthread_barrier_wait(&barrier);
      pthread_barrier_wait(&barrier);
      rank->executor->drain();
    });
  pthread_barrier_wait(&barrier);
  const int64_t mapsBefore = mappedBytes;
  counting = true;
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  counting = false;
  findings.mappedInSteps = mappedBytes - mapsBefore;
  findings.own = ownCalls;
  findings.products = productCalls;
  pthread_barrier_wait(&barrier);
  for (std::thread &thread : threads)
    thread.join();
  findings.workspace = ranks.front()->executor->workspaceBytes();
  return findings;
}

/// What the program wants of an arena, which always has a control block.
int64_t plannedBytes(const Program &program, int space) {
  const int64_t bytes = int64_t(program.arenaBytes[space]);
  return space == spaceOf(Arena::Control, Tier::Device)
             ? std::max<int64_t>(bytes, sizeof(Control))
             : bytes;
}

/// Makes the arenas of all ranks and prints what each asked the system for;
/// whether that is what the program wants. No page of them is touched but the
/// control block's.
bool reportArenas(const Program &program) {
  const int64_t before = mappedBytes;
  notesMappings = true;
  std::vector<std::optional<Arenas>> ranks(size_t(program.training.ranks));
  for (std::optional<Arenas> &arenas : ranks)
    arenas.emplace(program);
  notesMappings = false;
  int64_t sum = 0;
  bool isAsPlanned = true;
  for (const std::optional<Arenas> &arenas : ranks)
    for (int i = 0; i < kSpaceCount; ++i) {
      auto found = mappings.find(arenas->addresses()[i]);
      const int64_t asked = found == mappings.end() ? 0 : found->second;
      sum += asked;
      isAsPlanned &= asked == plannedBytes(program, i);
      if (&arenas == &ranks.front() && (tierOf(i) == Tier::Device || asked))
        std::printf("arena %s: %lld bytes\n", nameOfSpace(i).c_str(),
                    (long long)asked);
    }
  std::printf("asked of the system: %lld bytes\n",
              (long long)(mappedBytes - before));
  return isAsPlanned && sum == mappedBytes - before;
}

/// Prints what was planned and found; whether they are the same.
bool report(const Program &program, const Findings &findings) {
  int64_t planned = 0;
  for (int i = 0; i < kSpaceCount; ++i) {
    const int64_t bytes = plannedBytes(program, i);
    planned += bytes;
    if (tierOf(i) == Tier::Device || bytes)
      std::printf("arena %s: %lld bytes\n", nameOfSpace(i).c_str(),
                  (long long)bytes);
  }
  const int64_t ranks = program.training.ranks;
  std::printf("ranks: %lld\n", (long long)ranks);
  std::printf("planned: %lld bytes\n", (long long)(planned * ranks));
  std::printf("asked of the system: %lld bytes\n", (long long)findings.mapped);
  std::printf("workspace of a rank: %zu bytes\n", findings.workspace);
  std::printf("allocations in two updates: %lld\n", (long long)findings.own);
  std::printf("mapped in two updates: %lld bytes\n",
              (long long)findings.mappedInSteps);
  std::printf("allocations of oneDNN in them: %lld\n",
              (long long)findings.products);
  return planned * ranks == findings.mapped && findings.own == 0 &&
         findings.mappedInSteps == 0;
}

} // namespace

int main(int argc, char **argv) {
  const bool isArenas = argc == 3 && std::strcmp(argv[1], "--arenas") == 0;
  if (argc != 2 && !isArenas) {
    std::fprintf(stderr, "usage: zero-step-memory [--arenas] program.so\n");
    return 2;
  }
  try {
    const ProgramLibrary library(argv[argc - 1]);
    if (isArenas)
      return reportArenas(library.programOf(0)) ? 0 : 1;
    return report(library.programOf(0), measure(library)) ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "zero-step-memory: error: %s\n", error.what());
    return 2;
  }
}
