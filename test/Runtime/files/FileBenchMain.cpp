// How fast memory in a file is written and read: ranges that are all started at
// once, each with a ticket of its own, as the states of sub-groups are.
//   zero-file-bench FOLDER RANGES BYTES BLOCK DEPTH PASSES uring|threads
// prints MiB/s of the writes and of the reads of each pass, and of one thread
// that makes the checksums of as much, as each write and read does. After a
// pass that nobody counts: the first write of a file's blocks takes longer.
// tools/scripts/bench_files.py runs it beside fio.
#include "files/FileMemory.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

using namespace zrt;

namespace {

struct Bench {
  FileSettings settings;
  uint32_t ranges;
  uint64_t bytes;
  int passes;
  FileEngineKind engine;
};

Bench parse(char **words) {
  Bench bench;
  bench.settings.folder = words[1];
  bench.ranges = uint32_t(std::strtoul(words[2], nullptr, 10));
  bench.bytes = std::strtoull(words[3], nullptr, 10);
  bench.settings.blockBytes = std::strtoull(words[4], nullptr, 10);
  bench.settings.queueDepth = uint32_t(std::strtoul(words[5], nullptr, 10));
  bench.passes = std::atoi(words[6]);
  bench.engine = std::strcmp(words[7], "uring") == 0 ? FileEngineKind::Uring
                                                     : FileEngineKind::Threads;
  if (bench.ranges == 0 || bench.bytes == 0 || bench.bytes % 4096)
    throw std::runtime_error("wanted a number of ranges, and their bytes, a "
                             "multiple of 4096");
  return bench;
}

using Clock = std::chrono::steady_clock;

double rateSince(Clock::time_point begin, uint64_t bytes) {
  const std::chrono::duration<double> took = Clock::now() - begin;
  return double(bytes) / took.count() / (1 << 20);
}

/// MiB/s of one pass over all ranges.
double measure(FileMemory &memory, const Bench &bench, char *place,
               char *buffer, bool isWrite) {
  const auto begin = Clock::now();
  for (uint32_t i = 0; i < bench.ranges; ++i) {
    const uint64_t at = i * bench.bytes;
    if (isWrite)
      memory.startWrite(i, place + at, buffer + at, bench.bytes);
    else
      memory.startRead(i, buffer + at, place + at, bench.bytes);
  }
  for (uint32_t i = 0; i < bench.ranges; ++i)
    memory.wait(i);
  return rateSince(begin, bench.ranges * bench.bytes);
}

/// MiB/s of checksums alone, in transfers of a block as the others.
double measureDigests(const Bench &bench, const char *buffer) {
  const uint64_t total = bench.ranges * bench.bytes;
  BlockDigests digests(4096);
  digests.resize(total);
  const auto begin = Clock::now();
  for (uint64_t at = 0; at < total; at += bench.settings.blockBytes)
    digests.record(at, buffer + at,
                   std::min(bench.settings.blockBytes, total - at));
  return rateSince(begin, total);
}

void run(const Bench &bench) {
  FileMemory memory(bench.settings, 0,
                    makeFileEngine(bench.settings.queueDepth, bench.engine));
  std::fprintf(stderr, "%s\n", memory.describe().c_str());
  const uint64_t total = bench.ranges * bench.bytes;
  char *place = static_cast<char *>(memory.allocate(total, "the bench"));
  const Mapping buffer(total, false, "the bench's buffer");
  std::memset(buffer.data(), 1, total);
  char *at = static_cast<char *>(buffer.data());
  for (int pass = 0; pass <= bench.passes; ++pass) {
    const double writes = measure(memory, bench, place, at, true);
    const double reads = measure(memory, bench, place, at, false);
    const double digests = measureDigests(bench, at);
    if (pass)
      std::printf("%.1f %.1f %.1f\n", writes, reads, digests);
  }
}

} // namespace

int main(int count, char **words) {
  if (count != 8) {
    std::fprintf(stderr, "wanted: zero-file-bench FOLDER RANGES BYTES BLOCK "
                         "DEPTH PASSES uring|threads\n");
    return 2;
  }
  try {
    run(parse(words));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "zero-file-bench: %s\n", error.what());
    return 1;
  }
}
