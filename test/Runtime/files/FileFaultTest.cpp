// Memory in files: folders that refuse, disks that fail, kernels without
// io_uring.
#include "FileTesting.h"

#include <cstddef>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>

using namespace zrt;
using namespace zrt::testing;

/// What `fallocate` does in this program: the errno, 0 for the real call.
static int fallocateFails = 0;
/// Whether that is true of files in memory, too.
static bool memoryFails = false;

/// Instead of the C library's, so that a disk can be full: half of what is
/// asked for is there then, and remains. Only files in memory have seals.
extern "C" int fallocate(int file, int mode, off_t offset, off_t bytes) {
  if (::fcntl(file, F_GET_SEALS) >= 0 && !memoryFails)
    return static_cast<int>(
        ::syscall(SYS_fallocate, file, mode, offset, bytes));
  const off_t found = fallocateFails ? bytes / 2 : bytes;
  const long done = ::syscall(SYS_fallocate, file, mode, offset, found);
  if (fallocateFails == 0)
    return static_cast<int>(done);
  errno = fallocateFails;
  return -1;
}

/// What `unlink` does, as above.
static int unlinkFails = 0;

extern "C" int unlink(const char *path) noexcept {
  if (unlinkFails == 0)
    return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
  errno = unlinkFails;
  return -1;
}

namespace {

std::unique_ptr<FileMemory> makeFaulty(const TestFolder &folder,
                                       FaultyEngine::Fault fault,
                                       uint32_t depth = 1) {
  auto inner = makeFileEngine(depth, FileEngineKind::Threads);
  return std::make_unique<FileMemory>(
      settingsFor(folder, 8192, depth), 0,
      std::make_unique<FaultyEngine>(std::move(inner), std::move(fault)));
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

TEST(FileFault, AFolderThatIsNotThere) {
  FileSettings settings;
  settings.folder = "/nowhere/at/all";
  expectIn(errorOf([&] { FileMemory memory(settings, 0); }),
           {"'/nowhere/at/all'", "No such file or directory", "make it"});
  settings.folder = "/dev/null";
  expectIn(errorOf([&] { FileMemory memory(settings, 0); }),
           {"'/dev/null'", "Not a directory"});
  settings.folder = "";
  expectIn(errorOf([&] { FileMemory memory(settings, 0); }), {"no folder"});
}

TEST(FileFault, AFolderOfSomebodyElse) {
  TestFolder folder;
  ::chmod(folder.path().c_str(), 0500);
  std::string error;
  // What a thread may do on file systems is its own, and root may do anything.
  std::thread([&] {
    if (::geteuid() == 0)
      ::setfsuid(65534);
    error = errorOf([&] { FileMemory memory(settingsFor(folder), 0); });
  }).join();
  expectIn(error, {folder.path().c_str(), "Permission denied", "allow"});
}

TEST(FileFault, AFolderThatRemovesNothing) {
  TestFolder folder;
  unlinkFails = EROFS;
  const std::string error =
      errorOf([&] { FileMemory memory(settingsFor(folder), 0); });
  unlinkFails = 0;
  expectIn(error,
           {(folder.path() + "/zero-states-").c_str(),
            ": cannot be removed from its folder: ", std::strerror(EROFS),
            ": remove it, and name another folder for states"});
}

TEST(FileFault, SettingsOutOfTheirRange) {
  TestFolder folder;
  for (uint64_t block :
       {uint64_t(0), uint64_t(4095), uint64_t(5000), uint64_t(2) << 30})
    expectIn(errorOf([&] { FileMemory memory(settingsFor(folder, block), 0); }),
             {"block_size", std::to_string(block).c_str(),
              "a multiple of 4096 bytes, of at most"});
  for (uint32_t depth : {0u, 4097u})
    expectIn(errorOf([&] {
               FileMemory memory(settingsFor(folder, 4096, depth), 0);
             }),
             {"queue_depth", std::to_string(depth).c_str()});
}

/// The open files of this process that have been removed from `folder`: names
/// and sizes.
std::vector<std::pair<std::string, uint64_t>>
removedFiles(const TestFolder &folder) {
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string name = std::filesystem::read_symlink(entry, gone);
    struct stat status = {};
    if (gone || name.rfind(folder.path() + "/", 0) != 0)
      continue;
    EXPECT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_nlink, 0u);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    found.emplace_back(name, uint64_t(status.st_size));
  }
  return found;
}

TEST(FileFault, NothingRemainsInTheFolder) {
  TestFolder folder;
  {
    FileMemory memory(settingsFor(folder), 7);
    FileMemory twin(settingsFor(folder), 7);
    void *place = memory.allocate(100000, "states");
    const Bytes source = randomBytes(100000, 1);
    memory.write(place, source.data(), source.size());
    EXPECT_TRUE(folder.isEmpty());
    const auto names = removedFiles(folder);
    ASSERT_EQ(names.size(), 2u);
    char host[256] = {};
    ::gethostname(host, sizeof(host) - 1);
    const std::string wanted =
        std::string(host) + "-" + std::to_string(::getpid()) + "-7";
    expectIn(names[0].first, {wanted.c_str(), "(deleted)"});
  }
  EXPECT_TRUE(folder.isEmpty());
  EXPECT_TRUE(removedFiles(folder).empty());
}

TEST(FileFault, ANameThatIsTaken) {
  TestFolder folder;
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  const std::string name = folder.path() + "/zero-states-" + host + "-" +
                           std::to_string(::getpid()) + "-0";
  ::close(::open(name.c_str(), O_CREAT | O_WRONLY, 0600));
  FileMemory memory(settingsFor(folder), 0);
  EXPECT_EQ(removedFiles(folder).size(), 1u);
  EXPECT_EQ(::access(name.c_str(), F_OK), 0); // Not ours.
}

//===----------------------------------------------------------------------===//
// Space
//===----------------------------------------------------------------------===//

TEST(FileFault, ADiskThatIsFull) {
  TestFolder folder;
  FileMemory memory(settingsFor(folder), 0);
  void *first = memory.allocate(8192, "first");
  const Bytes ones(8192, 1);
  memory.write(first, ones.data(), 8192);
  fallocateFails = ENOSPC;
  const std::string error =
      errorOf([&] { memory.allocate(12345, "arena 'optimizer on file'"); });
  fallocateFails = 0;
  expectIn(error,
           {"arena 'optimizer on file'", folder.path().c_str(), "16384 bytes",
            "No space left on device", "are free", "make room"});
  ASSERT_EQ(removedFiles(folder).size(), 1u);
  EXPECT_EQ(removedFiles(folder)[0].second, 8192u);
  // What there was is as it was, and there is more when there is room.
  void *second = memory.allocate(12345, "second");
  Bytes back(8192);
  memory.read(back.data(), first, 8192);
  EXPECT_EQ(back, ones);
  memory.read(back.data(), second, 8192);
  EXPECT_EQ(back, Bytes(8192));
}

/// What was set aside on the disk before moves as well, and all works on.
TEST(FileFault, AFullDiskLeavesItToHostMemory) {
  for (const int reason : {ENOSPC, EDQUOT}) {
    TestFolder folder;
    FileMemory memory(settingsFor(folder), 0);
    int asked = 0;
    memory.setHostRoom([&] {
      ++asked;
      return std::string();
    });
    void *first = memory.allocate(8192, "first");
    EXPECT_EQ(memory.describeHeld(), "");
    fallocateFails = reason;
    void *second = memory.allocate(12345, "second");
    void *third = memory.allocate(1, "third");
    fallocateFails = 0;
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(removedFiles(folder).empty());
    expectIn(memory.describeHeld(),
             {"first", "second", "third", "28.00 KiB", "host memory",
              folder.path().c_str(), std::strerror(reason)});
    expectIn(memory.describe(), {"host memory"});
    const Bytes source = randomBytes(12345, 3);
    memory.write(second, source.data(), source.size());
    Bytes back(12345), zeros(8192, 1);
    memory.read(back.data(), second, back.size());
    EXPECT_EQ(back, source);
    memory.read(zeros.data(), first, zeros.size());
    EXPECT_EQ(zeros, Bytes(8192));
    memory.read(zeros.data(), third, 1);
    EXPECT_EQ(zeros[0], 0);
  }
}

/// Neither where host memory has no room, nor where what was written would have
/// to move.
TEST(FileFault, AFullDiskThatHostMemoryDoesNotReplace) {
  TestFolder folder;
  FileMemory memory(settingsFor(folder), 0);
  memory.setHostRoom([] { return "it leaves 3 B"; });
  fallocateFails = ENOSPC;
  const std::string small = errorOf([&] { memory.allocate(12345, "states"); });
  expectIn(small, {"states", folder.path().c_str(), "No space left on device",
                   "it leaves 3 B"});
  memory.setHostRoom([] { return ""; });
  memoryFails = true;
  expectIn(errorOf([&] { memory.allocate(12345, "states"); }),
           {"states", "host memory", "No space left on device"});
  memoryFails = false;
  fallocateFails = 0;
}

TEST(FileFault, AFullDiskWithSomethingOnIt) {
  TestFolder folder;
  FileMemory memory(settingsFor(folder), 0);
  memory.setHostRoom([] { return ""; });
  void *first = memory.allocate(8192, "first");
  const Bytes ones(8192, 1);
  memory.write(first, ones.data(), ones.size());
  fallocateFails = ENOSPC;
  expectIn(errorOf([&] { memory.allocate(12345, "second"); }),
           {"second", folder.path().c_str(), "No space left on device"});
  fallocateFails = 0;
  Bytes back(8192);
  memory.read(back.data(), first, back.size());
  EXPECT_EQ(back, ones);
}

TEST(FileFault, AFileSystemThatSetsNoSpaceAside) {
  for (const char *parent : {"", "/dev/shm"}) {
    if (*parent && ::access(parent, W_OK) != 0)
      continue;
    TestFolder folder(parent);
    FileMemory memory(settingsFor(folder), 0);
    fallocateFails = EOPNOTSUPP;
    void *place = memory.allocate(3000001, "states");
    fallocateFails = 0;
    Bytes back(3000001, 1);
    memory.read(back.data(), place, back.size());
    EXPECT_EQ(back, Bytes(3000001));
  }
}

TEST(FileFault, ALimitOnTheSizeOfFiles) {
  TestFolder folder;
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit = {1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string error;
  {
    // No signal ends the process.
    FileMemory memory(settingsFor(folder), 0);
    memory.allocate(1 << 20, "first");
    error = errorOf([&] { memory.allocate(1, "second"); });
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  expectIn(error, {"second", "4096 bytes", "File too large", "ulimit -f"});
}

TEST(FileFault, MoreThanThereIs) {
  TestFolder folder;
  FileMemory memory(settingsFor(folder), 0);
  for (uint64_t bytes : {~uint64_t(0), uint64_t(1) << 62, uint64_t(1) << 46})
    EXPECT_NE(errorOf([&] { memory.allocate(bytes, "states"); }), "");
  EXPECT_NE(memory.allocate(1, "states"), nullptr);
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

TEST(FileFault, ShortTransfersResume) {
  std::mt19937 random(3);
  for (const char *parent : {"", "/dev/shm"}) {
    if (*parent && ::access(parent, W_OK) != 0)
      continue;
    TestFolder folder(parent);
    auto memory = makeFaulty(
        folder,
        [&](int, FileTransfer &transfer) {
          if (transfer.bytes > 4096 && random() % 2)
            transfer.bytes = 4096;
          const int64_t results[] = {-EINTR, -EAGAIN, FaultyEngine::kNoFault};
          return results[random() % 3];
        },
        3);
    char *place = static_cast<char *>(memory->allocate(200000, "states"));
    const Bytes source = randomBytes(200000, 4);
    memory->startWrite(0, place, source.data(), 100001);
    memory->startWrite(0, place + 100001, source.data() + 100001, 99999);
    memory->wait(0);
    Bytes back(200000);
    memory->read(back.data(), place, back.size());
    EXPECT_EQ(back, source);
  }
}

TEST(FileFault, WhatIsReadAtOnceComesAfterASlowWrite) {
  TestFolder folder;
  auto memory = makeFaulty(
      folder,
      [](int operation, FileTransfer &transfer) {
        const bool isSlow = transfer.isWrite && operation < 500;
        return isSlow ? -EAGAIN : FaultyEngine::kNoFault;
      },
      2);
  char *place = static_cast<char *>(memory->allocate(4096, "states"));
  const Bytes source = randomBytes(4096, 2);
  memory->startWrite(4, place, source.data(), source.size());
  Bytes back(4096);
  memory->read(back.data(), place, back.size());
  EXPECT_EQ(back, source);
  memory->wait(4);
}

TEST(FileFault, EachTransferMayFail) {
  TestFolder folder;
  const Bytes source = randomBytes(50000, 4);
  // Blocks that are read, changed and written back are among them.
  for (int bad = 1; bad <= 12; ++bad)
    for (int64_t fault : {-EIO, -ENOSPC, 0}) {
      auto memory = makeFaulty(folder, [&](int operation, FileTransfer &) {
        return operation == bad ? fault : FaultyEngine::kNoFault;
      });
      char *place = static_cast<char *>(memory->allocate(100000, "states"));
      memory->startWrite(0, place + 100, source.data(), 30000);
      memory->startWrite(1, place + 40960, source.data(), 50000);
      int failures = 0;
      for (uint32_t ticket : {1, 0}) {
        const std::string error = errorOf([&] { memory->wait(ticket); });
        failures += !error.empty();
        if (!error.empty())
          expectIn(error, {folder.path().c_str(), "bytes at ",
                           fault ? std::strerror(int(-fault)) : "", "folder"});
        EXPECT_EQ(errorOf([&] { memory->wait(ticket); }), "");
      }
      EXPECT_EQ(failures, 1) << bad;
      // All of it works again.
      memory->startWrite(0, place + 100, source.data(), 30000);
      memory->wait(0);
      Bytes back(30000);
      memory->read(back.data(), place + 100, back.size());
      EXPECT_TRUE(std::equal(back.begin(), back.end(), source.begin()));
    }
}

TEST(FileFault, ErrorsSayWhatFailed) {
  TestFolder folder;
  int64_t fault = -EIO;
  auto memory = makeFaulty(folder, [&](int, FileTransfer &) { return fault; });
  char *place = static_cast<char *>(memory->allocate(100000, "states"));
  Bytes buffer(8192);
  expectIn(errorOf([&] { memory->write(place + 16384, buffer.data(), 8192); }),
           {"writing 8192 bytes at 16384", "Input/output error", "dmesg"});
  fault = -ENOSPC;
  expectIn(errorOf([&] { memory->write(place, buffer.data(), 4096); }),
           {"writing 4096 bytes at 0", "No space left", "make room"});
  fault = 0;
  expectIn(errorOf([&] { memory->read(buffer.data(), place, 4096); }),
           {"reading 4096 bytes at 0", "the file ends there"});
  expectIn(errorOf([&] { memory->write(place, buffer.data(), 4096); }),
           {"nothing was written"});
  fault = -EAGAIN; // For ever.
  expectIn(errorOf([&] { memory->read(buffer.data(), place, 4096); }),
           {"Resource temporarily unavailable"});
}

//===----------------------------------------------------------------------===//
// Without io_uring, without threads
//===----------------------------------------------------------------------===//

/// From here on the calling thread, and those it starts, get `error` for the
/// system call `number`.
bool refuseCall(unsigned number, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | unsigned(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {4, filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// As in many containers.
TEST(FileFault, AKernelThatRefusesUring) {
  TestFolder folder;
  for (int error : {EPERM, ENOSYS}) {
    bool isFiltered = false;
    std::thread([&] {
      isFiltered = refuseCall(SYS_io_uring_setup, error);
      if (!isFiltered)
        return;
      FileMemory memory(settingsFor(folder), 0);
      expectIn(memory.describe(),
               {"4 threads with pread (io_uring: ", std::strerror(error)});
      void *place = memory.allocate(100000, "states");
      const Bytes source = randomBytes(100000, 4);
      memory.startWrite(2, place, source.data(), source.size());
      memory.wait(2);
      Bytes back(100000);
      memory.read(back.data(), place, back.size());
      EXPECT_EQ(back, source);
      expectIn(errorOf([] { makeFileEngine(1, FileEngineKind::Uring); }),
               {"io_uring: ", std::strerror(error),
                ": use threads for reads and writes of files"});
    }).join();
    if (!isFiltered)
      GTEST_SKIP() << "this machine has no seccomp filters";
  }
}

TEST(FileFault, NoMoreThreads) {
  bool isFiltered = false;
  std::thread([&] {
    isFiltered = refuseCall(SYS_clone3, EAGAIN);
    if (!isFiltered)
      return;
    const auto begin = [](FileEngineKind kind) {
      const auto engine = makeFileEngine(4, kind);
      return engine->describe() + ", " +
             errorOf([&] { engine->begin([](uint32_t, int64_t) {}); });
    };
    expectIn(begin(FileEngineKind::Threads),
             {"cannot start thread 0 of 4 for reads and writes of files: ",
              std::strerror(EAGAIN),
              ": allow more threads, or a smaller queue_depth"});
    const std::string best = begin(FileEngineKind::Best);
    if (best.rfind("io_uring, ", 0) == 0)
      expectIn(best, {"cannot start the thread for reads and writes of files: ",
                      std::strerror(EAGAIN), ": allow more threads"});
  }).join();
  if (!isFiltered)
    GTEST_SKIP() << "this machine has no seccomp filters";
}

} // namespace
