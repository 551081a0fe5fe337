// Memory in files: what comes back, by both engines, with and without O_DIRECT.
#include "FileTesting.h"

#include "../../Sanitized.h"

#include <csignal>
#include <pthread.h>
#include <tuple>

using namespace zrt;
using namespace zrt::testing;

namespace {

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

TEST(FileCuts, CoverARangeInWholeBlocks) {
  std::mt19937 random(1);
  const FileAlignment alignment = {4096, 512};
  for (int round = 0; round < 2000; ++round) {
    uint64_t offset = random() % 20000, bytes = 1 + random() % 40000;
    uintptr_t address = 4096 + (random() % 2 ? offset : random() % 4096);
    const uint64_t end = offset + bytes;
    while (bytes) {
      const FileCut cut = firstCut(offset, address, bytes, alignment, 8192);
      ASSERT_GT(cut.bytes, 0u);
      ASSERT_LE(cut.bytes, bytes);
      ASSERT_LE(cut.length, 8192u);
      ASSERT_EQ(cut.begin % 4096 + cut.length % 4096, 0u);
      ASSERT_LE(cut.begin, offset);
      ASSERT_LE(offset + cut.bytes, cut.begin + cut.length);
      if (cut.isDirect) {
        ASSERT_EQ(address % 512, 0u);
        ASSERT_FALSE(cut.isRagged());
      }
      if (cut.isRagged()) {
        ASSERT_EQ(cut.length, 4096u);
      }
      offset += cut.bytes;
      address += cut.bytes;
      bytes -= cut.bytes;
    }
    ASSERT_EQ(offset, end);
  }
}

TEST(FileCuts, AreDirectWhereNothingIsWanted) {
  const FileCut cut = firstCut(5, 3, 10000, {1, 1}, 8192);
  EXPECT_TRUE(cut.isDirect);
  EXPECT_EQ(cut.begin, 5u);
  EXPECT_EQ(cut.bytes, 8192u);
  EXPECT_FALSE(cut.isRagged());
}

//===----------------------------------------------------------------------===//
// What comes back
//===----------------------------------------------------------------------===//

/// Engine, and the folder that has the test's own in it; "" is TMPDIR.
using Case = std::tuple<FileEngineKind, std::string>;

class FileMemoryOn : public ::testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const std::string parent = std::get<1>(GetParam());
    if (!parent.empty() && ::access(parent.c_str(), W_OK) != 0)
      GTEST_SKIP() << parent << " is not there";
    const std::string refused = errorOf([&] { makeFileEngine(1, kind()); });
    if (!refused.empty())
      GTEST_SKIP() << refused;
    folder = std::make_unique<TestFolder>(parent);
  }
  FileEngineKind kind() const { return std::get<0>(GetParam()); }
  std::unique_ptr<FileMemory> make(uint64_t block = 8192, uint32_t depth = 4) {
    return std::make_unique<FileMemory>(settingsFor(*folder, block, depth), 3,
                                        makeFileEngine(depth, kind()));
  }

  std::unique_ptr<TestFolder> folder;
};

INSTANTIATE_TEST_SUITE_P(
    Engines, FileMemoryOn,
    ::testing::Combine(::testing::Values(FileEngineKind::Uring,
                                         FileEngineKind::Threads),
                       ::testing::Values("", "/dev/shm")),
    [](const auto &info) {
      return std::string(std::get<0>(info.param) == FileEngineKind::Uring
                             ? "Uring"
                             : "Threads") +
             (std::get<1>(info.param).empty() ? "Disk" : "Shm");
    });

Bytes contentOf(FileMemory &memory, const void *address, size_t bytes) {
  Bytes content(bytes);
  memory.read(content.data(), address, bytes);
  return content;
}

TEST_P(FileMemoryOn, BeginsAsZerosAtPages) {
  auto memory = make();
  void *first = memory->allocate(10001, "first");
  void *second = memory->allocate(1, "second");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 4096, 0u);
  EXPECT_EQ(contentOf(*memory, first, 10001), Bytes(10001));
  EXPECT_EQ(contentOf(*memory, second, 1), Bytes(1));
}

TEST_P(FileMemoryOn, KeepsNeighboursAtAllBoundaries) {
  auto memory = make();
  constexpr size_t kSize = 40000;
  char *place = static_cast<char *>(memory->allocate(kSize, "states"));
  Bytes model(kSize);
  const Bytes source = randomBytes(kSize + 4096, 7);
  unsigned round = 0;
  for (size_t offset : {0, 1, 511, 512, 4095, 4096, 4097, 8191, 8192, 8193})
    for (size_t bytes :
         {0, 1, 2, 511, 512, 4095, 4096, 4097, 8191, 8192, 8193, 24581}) {
      const char *from = source.data() + (round++ * 61) % 4096;
      memory->write(place + offset, from, bytes);
      std::copy_n(from, bytes, model.begin() + std::ptrdiff_t(offset));
      ASSERT_EQ(contentOf(*memory, place, kSize), model)
          << offset << " " << bytes;
      Bytes part(bytes + 2, 'x');
      memory->read(part.data() + 1, place + offset, bytes);
      ASSERT_TRUE(std::equal(from, from + bytes, part.begin() + 1));
      ASSERT_EQ(part.front(), 'x');
      ASSERT_EQ(part.back(), 'x');
    }
}

/// Buffers at any address of ranges that do not overlap, all in flight at once.
struct Flight {
  size_t offset, bytes;
  bool isWrite;
  Bytes memory;
  size_t shift;
};

std::vector<Flight> randomFlights(std::mt19937 &random, size_t size) {
  std::vector<Flight> flights;
  for (size_t at = random() % 5000; at < size;) {
    // Often neighbours, and often whole blocks.
    size_t bytes = random() % 3 ? 1 + random() % 9000 : 4096 * (random() % 6);
    bytes = std::min(bytes, size - at);
    const size_t shift = random() % 2 ? 0 : random() % 4096;
    flights.push_back({at, bytes, random() % 3 != 0,
                       randomBytes(bytes + shift + 4096, unsigned(random())),
                       shift});
    at += bytes + (random() % 2 ? 0 : random() % 5000);
    if (random() % 2)
      at = (at + 4095) / 4096 * 4096;
  }
  std::shuffle(flights.begin(), flights.end(), random);
  return flights;
}

char *memoryOf(Flight &flight) {
  const auto begin = reinterpret_cast<uintptr_t>(flight.memory.data());
  const size_t toPage = (4096 - begin % 4096) % 4096;
  // A page's begin, or any address: there is room for either.
  return flight.memory.data() + (flight.shift ? flight.shift : toPage);
}

TEST_P(FileMemoryOn, AgreesWithMemoryWhateverIsInFlight) {
  const int rounds = kIsSanitized ? 12 : 60;
  for (uint32_t depth : {1u, 3u, 32u}) {
    auto memory = make(8192, depth);
    constexpr size_t kSize = 150001;
    char *place = static_cast<char *>(memory->allocate(kSize, "states"));
    Bytes model(kSize);
    std::mt19937 random(depth);
    for (int round = 0; round < rounds; ++round) {
      auto flights = randomFlights(random, kSize);
      for (size_t i = 0; i < flights.size(); ++i) {
        Flight &flight = flights[i];
        const auto ticket = uint32_t(i % 5);
        if (flight.isWrite)
          memory->startWrite(ticket, place + flight.offset, memoryOf(flight),
                             flight.bytes);
        else
          memory->startRead(ticket, memoryOf(flight), place + flight.offset,
                            flight.bytes);
      }
      for (uint32_t ticket = 0; ticket < 5; ++ticket)
        memory->wait(ticket);
      for (Flight &flight : flights) {
        const auto there = model.begin() + std::ptrdiff_t(flight.offset);
        if (flight.isWrite)
          std::copy_n(memoryOf(flight), flight.bytes, there);
        else
          ASSERT_TRUE(std::equal(there, there + std::ptrdiff_t(flight.bytes),
                                 memoryOf(flight)))
              << depth << " " << round << " " << flight.offset;
      }
      ASSERT_EQ(contentOf(*memory, place, kSize), model)
          << depth << " " << round;
    }
  }
}

TEST_P(FileMemoryOn, WritesThatShareABlockLoseNothing) {
  auto memory = make(4096, 16);
  constexpr size_t kSize = 1 << 16, kPart = 100;
  char *place = static_cast<char *>(memory->allocate(kSize, "states"));
  const Bytes source = randomBytes(kSize, 5);
  for (size_t at = 0; at < kSize; at += kPart)
    memory->startWrite(1, place + at, source.data() + at,
                       std::min(kPart, kSize - at));
  memory->wait(1);
  EXPECT_EQ(contentOf(*memory, place, kSize), source);
}

TEST_P(FileMemoryOn, ManyTicketsAreWaitedForInAnyOrder) {
  auto memory = make(4096, 2);
  constexpr uint32_t kTickets = 50;
  constexpr size_t kPart = 5 * 4096;
  char *place =
      static_cast<char *>(memory->allocate(kTickets * kPart, "states"));
  const Bytes source = randomBytes(kTickets * kPart, 9);
  for (uint32_t i = 0; i < kTickets; ++i)
    memory->startWrite(i, place + i * kPart, source.data() + i * kPart, kPart);
  for (uint32_t i = kTickets; i-- > 0;)
    memory->wait(i);
  Bytes back(source.size());
  for (uint32_t i = 0; i < kTickets; ++i)
    memory->startRead(i, back.data() + i * kPart, place + i * kPart, kPart);
  for (uint32_t i : {7u, 3u, 49u})
    memory->wait(i);
  EXPECT_TRUE(std::equal(back.begin() + 49 * kPart, back.end(),
                         source.begin() + 49 * kPart));
  for (uint32_t i = 0; i < kTickets; ++i)
    memory->wait(i);
  EXPECT_EQ(back, source);
  memory->wait(1000); // Never started.
}

TEST_P(FileMemoryOn, WhatIsReadAtOnceComesAfterWhatWasStarted) {
  auto memory = make(4096, 2);
  constexpr size_t kSize = 40 * 4096;
  char *place = static_cast<char *>(memory->allocate(kSize, "states"));
  const Bytes source = randomBytes(kSize, 2);
  memory->startWrite(4, place, source.data(), kSize);
  EXPECT_EQ(contentOf(*memory, place, kSize), source);
  memory->wait(4);
}

TEST_P(FileMemoryOn, WhatIsReleasedMakesRoom) {
  auto memory = make();
  void *first = memory->allocate(8192, "first");
  void *second = memory->allocate(8192, "second");
  const Bytes ones(8192, 1);
  memory->write(first, ones.data(), 8192);
  memory->write(second, ones.data(), 8192);
  memory->release(second);
  EXPECT_FALSE(memory->holds(second));
  EXPECT_EQ(contentOf(*memory, first, 8192), ones);
  void *third = memory->allocate(8192, "third");
  EXPECT_EQ(contentOf(*memory, third, 8192), Bytes(8192));
  EXPECT_EQ(contentOf(*memory, first, 8192), ones);
  memory->release(first);
  EXPECT_EQ(contentOf(*memory, third, 8192), Bytes(8192));
}

TEST_P(FileMemoryOn, CountsTransfers) {
  auto memory = make(8192, 2);
  char *place = static_cast<char *>(memory->allocate(5 * 8192, "states"));
  const Bytes source(5 * 8192 + 4096);
  const auto begin = reinterpret_cast<uintptr_t>(source.data());
  const char *aligned = source.data() + (4096 - begin % 4096) % 4096;
  memory->write(place, aligned, 5 * 8192);
  FileTraffic traffic = memory->traffic();
  EXPECT_EQ(traffic.writes, 5u);
  EXPECT_EQ(traffic.bytesWritten, 5u * 8192);
  EXPECT_EQ(traffic.reads, 0u);
  contentOf(*memory, place, 4096);
  traffic = memory->traffic();
  EXPECT_EQ(traffic.reads, 1u);
  EXPECT_EQ(traffic.bytesRead, 4096u);
}

TEST_P(FileMemoryOn, SaysHowItReads) {
  const std::string text = make()->describe();
  EXPECT_NE(text.find(folder->path()), std::string::npos) << text;
  EXPECT_NE(text.find(kind() == FileEngineKind::Uring ? "io_uring"
                                                      : "threads with pread"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("O_DIRECT"), std::string::npos) << text;
  if (!std::get<1>(GetParam()).empty()) {
    EXPECT_NE(text.find("no O_DIRECT: tmpfs"), std::string::npos) << text;
  }
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST_P(FileMemoryOn, DropsWhatIsInFlightAtItsEnd) {
  Bytes source(64 * 8192);
  for (int round = 0; round < 20; ++round) {
    auto memory = make(4096, 4);
    void *place = memory->allocate(source.size(), "states");
    memory->startWrite(0, place, source.data(), source.size());
    memory->startRead(1, source.data(), place, 1000);
  }
  EXPECT_TRUE(folder->isEmpty());
}

/// oneDNN's products move the stack, so that no handler may run on a thread.
TEST_P(FileMemoryOn, ThreadsOfEnginesBlockSignals) {
  auto engine = makeFileEngine(4, kind());
  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false, blocksStop = false, blocksFault = true;
  engine->begin([&](uint32_t, int64_t) {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    std::lock_guard<std::mutex> lock(mutex);
    blocksStop = sigismember(&blocked, SIGTERM) == 1;
    blocksFault = sigismember(&blocked, SIGSEGV) == 1;
    isOver = true;
    changed.notify_all();
  });
  char byte = 0;
  engine->start({false, -1, 0, &byte, 1, 0});
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return isOver; });
  EXPECT_TRUE(blocksStop);
  EXPECT_FALSE(blocksFault);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

TEST(FileMemory, KnowsItsAddresses) {
  TestFolder folder;
  FileMemory memory(settingsFor(folder), 0);
  char *first = static_cast<char *>(memory.allocate(4096, "first"));
  char *second = static_cast<char *>(memory.allocate(100, "second"));
  EXPECT_TRUE(memory.holds(first));
  EXPECT_TRUE(memory.holds(first + 4095));
  EXPECT_FALSE(memory.holds(first + 4096));
  EXPECT_FALSE(memory.holds(first - 1));
  EXPECT_FALSE(memory.holds(second + 100));
  EXPECT_FALSE(memory.holds(&memory));
  char byte = 0;
  EXPECT_THROW(memory.read(&byte, first + 4096, 1), std::out_of_range);
  EXPECT_THROW(memory.write(second + 99, &byte, 2), std::out_of_range);
  EXPECT_THROW(memory.startRead(0, &byte, &byte, 1), std::out_of_range);
  EXPECT_THROW(memory.release(first + 1), std::logic_error);
  memory.read(&byte, first + 4096, 0);
  memory.wait(0);
}

TEST(FileMemoryDeathTest, NothingCanBeLoadedFromThem) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TestFolder folder;
  FileMemory memory(settingsFor(folder), 0);
  auto *place = static_cast<volatile char *>(memory.allocate(4096, "states"));
  EXPECT_DEATH((void)*place, "");
}

} // namespace
