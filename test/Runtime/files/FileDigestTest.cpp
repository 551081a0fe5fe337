// Memory in files: bytes that come back otherwise than they were written.
#include "FileTesting.h"

#include "../../Sanitized.h"

#include <fcntl.h>
#include <thread>

using namespace zrt;
using namespace zrt::testing;

namespace {

constexpr size_t kBlock = 4096;

/// The file of a rank, as a disk has it that does as it likes.
class Disk {
public:
  explicit Disk(const TestFolder &folder) {
    for (const auto &entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string name = std::filesystem::read_symlink(entry, gone);
      if (!gone && name.rfind(folder.path() + "/", 0) == 0)
        file = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    }
    if (file < 0)
      throw std::runtime_error("no file in " + folder.path());
  }
  ~Disk() { ::close(file); }
  Disk(const Disk &) = delete;
  Disk &operator=(const Disk &) = delete;

  Bytes read(uint64_t offset, size_t bytes) const {
    Bytes found(bytes);
    EXPECT_EQ(::pread(file, found.data(), bytes, off_t(offset)),
              ssize_t(bytes));
    return found;
  }
  void write(uint64_t offset, const Bytes &bytes) const {
    EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), off_t(offset)),
              ssize_t(bytes.size()));
  }
  void flip(uint64_t offset, int bit) const {
    Bytes byte = read(offset, 1);
    byte[0] = static_cast<char>(byte[0] ^ (1 << bit));
    write(offset, byte);
  }

private:
  int file = -1;
};

struct Parts {
  explicit Parts(size_t bytes, const std::string &parent = "")
      : folder(parent), memory(settingsFor(folder), 0),
        place(static_cast<char *>(memory.allocate(bytes, "states"))),
        disk(folder) {}

  std::string writeError(size_t at, const Bytes &bytes) {
    return errorOf(
        [&] { memory.write(place + at, bytes.data(), bytes.size()); });
  }
  std::string readError(size_t at, size_t bytes) {
    Bytes back(bytes);
    return errorOf([&] { memory.read(back.data(), place + at, bytes); });
  }
  Bytes content(size_t at, size_t bytes) {
    Bytes back(bytes);
    memory.read(back.data(), place + at, bytes);
    return back;
  }

  TestFolder folder;
  FileMemory memory;
  char *place;
  Disk disk;
};

std::string shm() { return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ""; }

void expectChanged(const std::string &error, uint64_t block) {
  const std::string where = "reading 4096 bytes at " + std::to_string(block);
  expectIn(error, {"zero-states", where.c_str(), "other bytes", "checksum",
                   "another disk", "--resume"});
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

TEST(FileDigest, FindsAFlippedBitAnywhere) {
  constexpr size_t kSize = 4 * kBlock + 1000;
  // A disk takes milliseconds for each of them.
  const std::string memory = shm();
  const size_t step = memory.empty() ? 997 : kIsSanitized ? 61 : 1;
  Parts parts(kSize, memory);
  const Bytes source = randomBytes(kSize, 1);
  ASSERT_EQ(parts.writeError(0, source), "");
  for (size_t at = 0; at < 5 * kBlock; at += step) {
    const int bit = int(at % 8);
    parts.disk.flip(at, bit);
    expectChanged(parts.readError(0, kSize), at / kBlock * kBlock);
    parts.disk.flip(at, bit);
  }
  EXPECT_EQ(parts.content(0, kSize), source);
}

TEST(FileDigest, FindsThemPastTheCacheAsWell) {
  constexpr size_t kSize = 40 * kBlock;
  Parts parts(kSize);
  const Bytes source = randomBytes(kSize, 1);
  ASSERT_EQ(parts.writeError(0, source), "");
  for (size_t at = 0; at < kSize; at += 9973) {
    parts.disk.flip(at, 3);
    expectChanged(parts.readError(0, kSize), at / kBlock * kBlock);
    parts.disk.flip(at, 3);
  }
  EXPECT_EQ(parts.content(0, kSize), source);
}

TEST(FileDigest, ZerosThatNobodyWroteAreKnownToo) {
  Parts parts(3 * kBlock);
  parts.disk.flip(kBlock + 7, 0);
  EXPECT_EQ(parts.content(0, kBlock), Bytes(kBlock));
  expectChanged(parts.readError(0, 3 * kBlock), kBlock);
  parts.disk.flip(kBlock + 7, 0);
  EXPECT_EQ(parts.content(0, 3 * kBlock), Bytes(3 * kBlock));
}

TEST(FileDigest, APartOfABlockIsComparedWithItsBlock) {
  Parts parts(3 * kBlock);
  const Bytes source = randomBytes(3 * kBlock, 2);
  ASSERT_EQ(parts.writeError(0, source), "");
  parts.disk.flip(kBlock + 4000, 5);
  expectChanged(parts.readError(kBlock + 4000, 1), kBlock);
  expectChanged(parts.readError(kBlock + 1, 10), kBlock);
  expectChanged(parts.readError(kBlock - 10, 20), kBlock);
  EXPECT_EQ(parts.readError(kBlock - 10, 10), "");
  EXPECT_EQ(parts.readError(2 * kBlock, 5), "");
}

TEST(FileDigest, ARewrittenBlockIsWhatWasWrittenLast) {
  Parts parts(3 * kBlock);
  const Bytes first = randomBytes(3 * kBlock, 2),
              second = randomBytes(kBlock, 3);
  ASSERT_EQ(parts.writeError(0, first), "");
  parts.disk.flip(kBlock, 5);
  // A part of it cannot be written without the rest, which is lost.
  expectChanged(parts.writeError(kBlock + 100, Bytes(50, 1)), kBlock);
  expectChanged(parts.readError(kBlock, kBlock), kBlock);
  ASSERT_EQ(parts.writeError(kBlock, second), "");
  EXPECT_EQ(parts.content(kBlock, kBlock), second);
  ASSERT_EQ(parts.writeError(kBlock + 100, Bytes(50, 1)), "");
  EXPECT_EQ(parts.content(kBlock + 100, 50), Bytes(50, 1));
  // As a disk that answers with what it had before.
  const Bytes now = parts.disk.read(kBlock, kBlock);
  parts.disk.write(kBlock, second);
  expectChanged(parts.readError(0, 3 * kBlock), kBlock);
  parts.disk.write(kBlock, now);
  EXPECT_EQ(parts.readError(0, 3 * kBlock), "");
}

TEST(FileDigest, SpaceThatComesBackBeginsAsZeros) {
  Parts parts(2 * kBlock);
  void *more = parts.memory.allocate(5 * kBlock, "more");
  const Bytes ones(5 * kBlock, 1);
  parts.memory.write(more, ones.data(), ones.size());
  parts.memory.release(more);
  more = parts.memory.allocate(3 * kBlock, "more");
  Bytes back(3 * kBlock, 1);
  parts.memory.read(back.data(), more, back.size());
  EXPECT_EQ(back, Bytes(3 * kBlock));
  parts.disk.flip(4 * kBlock, 0);
  expectChanged(
      errorOf([&] { parts.memory.read(back.data(), more, back.size()); }),
      4 * kBlock);
}

TEST(FileDigest, OtherTicketsAreNotConcerned) {
  Parts parts(40 * kBlock);
  const Bytes source = randomBytes(40 * kBlock, 2);
  ASSERT_EQ(parts.writeError(0, source), "");
  parts.disk.flip(25 * kBlock, 0);
  Bytes back(40 * kBlock);
  for (uint32_t ticket = 0; ticket < 4; ++ticket)
    parts.memory.startRead(ticket, back.data() + ticket * 10 * kBlock,
                           parts.place + ticket * 10 * kBlock, 10 * kBlock);
  for (uint32_t ticket : {3, 1, 0})
    EXPECT_EQ(errorOf([&] { parts.memory.wait(ticket); }), "");
  expectChanged(errorOf([&] { parts.memory.wait(2); }), 25 * kBlock);
  EXPECT_EQ(errorOf([&] { parts.memory.wait(2); }), "");
  EXPECT_TRUE(
      std::equal(source.begin(), source.begin() + 20 * kBlock, back.begin()));
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// Ranges of whole blocks and of parts, from memory at pages and elsewhere.
struct Range {
  size_t offset, bytes, shift;
};
const std::vector<Range> kRanges = {
    {0, 8192, 0}, {8192, 8192, 1}, {16384, 100, 0}, {20000, 9000, 0}};

/// What reading all of it says, after the ranges were written with `fault`.
std::string readAfter(const FaultyEngine::Fault &fault) {
  TestFolder folder;
  FileMemory memory(settingsFor(folder, 8192, 1), 0,
                    std::make_unique<FaultyEngine>(
                        makeFileEngine(1, FileEngineKind::Threads), fault));
  char *place = static_cast<char *>(memory.allocate(40000, "states"));
  const AlignedBuffer source = makeAlignedBuffer(40000, {4096, 4096});
  std::memset(source.get(), 'x', 40000);
  return errorOf([&] {
    for (const Range &range : kRanges)
      memory.write(place + range.offset, source.get() + range.shift,
                   range.bytes);
    Bytes back(40000);
    memory.read(back.data(), place, back.size());
  });
}

/// What becomes of each write where `fault` changes it.
void expectEachIsFound(FaultyEngine::Fault fault) {
  int writes = 0;
  EXPECT_EQ(readAfter([&](int, FileTransfer &transfer) {
              writes += transfer.isWrite;
              return FaultyEngine::kNoFault;
            }),
            "");
  EXPECT_EQ(writes, 6);
  for (int bad = 1; bad <= writes; ++bad) {
    int count = 0;
    const std::string error = readAfter([&](int operation, FileTransfer &now) {
      const bool isBad = now.isWrite && ++count == bad;
      return isBad ? fault(operation, now) : FaultyEngine::kNoFault;
    });
    expectIn(error, {"reading 4096 bytes at ", "checksum"});
  }
}

TEST(FileDigest, FindsAWriteThatIsTorn) {
  const AlignedBuffer torn = makeAlignedBuffer(8192, {4096, 4096});
  expectEachIsFound([&](int, FileTransfer &transfer) {
    std::memset(torn.get(), 0, transfer.bytes);
    // Of the last ones, parts of blocks, most is zeros anyway.
    std::memcpy(torn.get(), transfer.memory, 50);
    transfer.memory = torn.get();
    return FaultyEngine::kNoFault;
  });
}

TEST(FileDigest, FindsAWriteThatIsLost) {
  expectEachIsFound(
      [](int, FileTransfer &transfer) { return int64_t(transfer.bytes); });
}

TEST(FileDigest, FindsAWriteThatWentElsewhere) {
  expectEachIsFound([](int, FileTransfer &transfer) {
    transfer.offset ^= 32768;
    return FaultyEngine::kNoFault;
  });
}

TEST(FileDigest, FindsAReadFromElsewhere) {
  for (int bad = 1; bad <= 4; ++bad) {
    TestFolder folder;
    int reads = 0;
    FileMemory memory(settingsFor(folder, 8192, 1), 0,
                      std::make_unique<FaultyEngine>(
                          makeFileEngine(1, FileEngineKind::Threads),
                          [&](int, FileTransfer &transfer) {
                            if (!transfer.isWrite && ++reads == bad)
                              transfer.offset =
                                  (transfer.offset + 8192) % 32768;
                            return FaultyEngine::kNoFault;
                          }));
    void *place = memory.allocate(32768, "states");
    const Bytes source = randomBytes(32768, 5);
    memory.write(place, source.data(), source.size());
    Bytes back(32768);
    expectChanged(
        errorOf([&] { memory.read(back.data(), place, back.size()); }),
        uint64_t(bad - 1) * 8192);
  }
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Each thread has ranges of its own, which share blocks with the others'.
TEST(FileDigest, ManyThreadsWriteAndReadAtOnce) {
  constexpr size_t kThreads = 4, kPart = 10001, kRounds = 30;
  for (const FileEngineKind kind :
       {FileEngineKind::Best, FileEngineKind::Threads}) {
    TestFolder folder;
    FileMemory memory(settingsFor(folder, 8192, 8), 0, makeFileEngine(8, kind));
    char *place =
        static_cast<char *>(memory.allocate(kThreads * kPart, "states"));
    std::vector<std::string> errors(kThreads);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        errors[i] = errorOf([&] {
          for (size_t round = 0; round < kRounds; ++round) {
            const Bytes source = randomBytes(kPart, unsigned(i + 10 * round));
            Bytes back(kPart);
            memory.startWrite(uint32_t(i), place + i * kPart, source.data(),
                              kPart);
            memory.wait(uint32_t(i));
            memory.startRead(uint32_t(i), back.data(), place + i * kPart,
                             kPart);
            memory.wait(uint32_t(i));
            if (back != source)
              throw std::runtime_error("other bytes came back");
          }
        });
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const std::string &error : errors)
      EXPECT_EQ(error, "");
    Disk(folder).flip(2 * kPart, 1);
    Bytes back(kThreads * kPart);
    expectChanged(
        errorOf([&] { memory.read(back.data(), place, back.size()); }),
        2 * kPart / kBlock * kBlock);
  }
}

} // namespace
