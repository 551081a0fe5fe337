#include "files/FileMemory.h"

#include "files/FaultyEngine.h"
#include "program/Bounds.h"
#include "program/ByteCount.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <utility>

using namespace zrt;

static constexpr uint64_t kPage = 4096;

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

[[noreturn]] static void refuseSetting(const char *name, uint64_t found,
                                       const std::string &wanted) {
  throw std::runtime_error(std::string("states in files: ") + name + " is " +
                           std::to_string(found) + ", wanted " + wanted);
}

static FileSettings checked(FileSettings settings) {
  if (settings.folder.empty())
    throw std::runtime_error("states in files: no folder is named; name one on "
                             "a disk of this machine");
  if (settings.blockBytes > uint64_t(kMostFileBlock) ||
      !isFileBlock(int64_t(settings.blockBytes)))
    refuseSetting("block_size", settings.blockBytes,
                  "a multiple of " + std::to_string(kDiskBlock) +
                      " bytes, of at most " + std::to_string(kMostFileBlock));
  if (settings.queueDepth < 1 || settings.queueDepth > kMostInFlight)
    refuseSetting("queue_depth", settings.queueDepth,
                  "1 to " + std::to_string(kMostInFlight));
  return settings;
}

/// Of a read or write, in whole blocks of the file.
static uint64_t blockBytesOf(const FileSettings &settings,
                             const RankFile &file) {
  const uint64_t block = file.alignment().offset;
  return std::max(settings.blockBytes - settings.blockBytes % block, block);
}

FileMemory::FileMemory(const FileSettings &settings, int rank)
    : FileMemory(settings, rank, nullptr) {}

FileMemory::FileMemory(const FileSettings &settings, int rank,
                       std::unique_ptr<FileEngine> engine)
    : settings(checked(settings)), file(settings.folder, rank),
      digests(file.alignment().offset),
      queue(file, digests, blockBytesOf(settings, file), settings.queueDepth,
            engine ? std::move(engine) : makeFileEngine(settings.queueDepth)) {}

FileMemory::~FileMemory() {
  queue.abandon();
  for (const auto &[address, region] : regions)
    ::munmap(const_cast<char *>(address) - kPage, region.room + 2 * kPage);
}

std::string FileMemory::describe() const {
  return (whyHeld.empty() ? settings.folder : "host memory") + ": " +
         queue.describe() + ", " + std::to_string(settings.queueDepth) +
         " transfers of " + std::to_string(blockBytesOf(settings, file)) +
         " bytes at a time, " + file.describe();
}

//===----------------------------------------------------------------------===//
// Space
//===----------------------------------------------------------------------===//

/// Addresses that stand for `bytes` of the file. There is a page before and
/// after them, so that no other memory begins where they end: whose an address
/// is must be clear for the one after the last, too.
static char *reserve(uint64_t bytes, const char *what) {
  void *address = MAP_FAILED;
  errno = ENOMEM;
  // Beyond the address space the kernel's rounding would wrap around.
  if (bytes < uint64_t(1) << 62)
    address = ::mmap(nullptr, bytes + 2 * kPage, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw std::runtime_error(
        std::string(what) + ": cannot have addresses for " +
        std::to_string(bytes) + " bytes of a file: " + std::strerror(errno) +
        ": allow more (ulimit -v), or compile for more ranks");
  return static_cast<char *>(address) + kPage;
}

/// The file, and what is known of it, by `bytes`.
void FileMemory::grow(uint64_t bytes, const char *what) {
  try {
    file.grow(end, end + bytes, what);
  } catch (const NoSpaceError &error) {
    moveToMemory(bytes, what, error);
  }
  try {
    digests.resize(end + bytes);
  } catch (const std::bad_alloc &) {
    file.shrink(end);
    throw std::runtime_error(
        std::string(what) +
        ": there is not enough memory for the checksums of " +
        std::to_string(bytes) + " bytes of a file, which take " +
        std::to_string(bytes / digests.blockBytes() * sizeof(uint64_t)) +
        " bytes: compile for more ranks, or run on a machine with more memory");
  }
  end += bytes;
}

/// All that there is, and `bytes` more. Nothing was written yet, so there is
/// nothing to copy.
void FileMemory::moveToMemory(uint64_t bytes, const char *what,
                              const NoSpaceError &why) {
  const FileTraffic moved = queue.traffic();
  if (!hostRoom || !whyHeld.empty() || moved.reads + moved.writes > 0)
    throw why;
  const std::string lack = hostRoom();
  if (!lack.empty())
    throw std::runtime_error(
        std::string(why.what()) +
        ". Host memory does not have them instead: " + lack);
  file.moveToMemory();
  file.grow(0, end + bytes, what);
  whyHeld = why.what();
}

std::string FileMemory::describeHeld() const {
  if (whyHeld.empty())
    return "";
  std::map<uint64_t, std::string> inOrder;
  uint64_t bytes = 0;
  for (const auto &[address, region] : regions) {
    inOrder[region.offset] = region.name;
    bytes += region.room;
  }
  std::string names;
  for (const auto &[offset, name] : inOrder)
    names += (names.empty() ? "" : ", ") + name;
  return names + ": " + formatBytes(bytes) +
         " stay in host memory, since there is no space for files: " + whyHeld;
}

void *FileMemory::allocate(uint64_t bytes, const char *what) {
  const uint64_t block = file.alignment().offset;
  Region region;
  region.name = what;
  region.offset = end;
  region.bytes = bytes;
  region.room = bytes > ~uint64_t(0) - block
                    ? bytes // No address space has that much.
                    : (bytes + block - 1) / block * block;
  char *address = reserve(region.room, what);
  try {
    grow(region.room, what);
    regions[address] = region;
  } catch (...) {
    ::munmap(address - kPage, region.room + 2 * kPage);
    throw;
  }
  return address;
}

void FileMemory::release(void *address) {
  const auto found = regions.find(static_cast<const char *>(address));
  if (found == regions.end())
    throw std::logic_error("states in files: what is released was not "
                           "allocated");
  queue.drain();
  ::munmap(static_cast<char *>(address) - kPage,
           found->second.room + 2 * kPage);
  regions.erase(found);
  uint64_t used = 0;
  for (const auto &[begin, region] : regions)
    used = std::max(used, region.offset + region.room);
  if (used < end) {
    file.shrink(used);
    digests.resize(used);
  }
  end = used;
}

/// The region that `address` is in, or the one after whose last byte it is.
FileMemory::Regions::const_iterator
FileMemory::regionOf(const void *address) const {
  const char *at = static_cast<const char *>(address);
  auto region = regions.upper_bound(at);
  if (region == regions.begin())
    return regions.end();
  --region;
  return uint64_t(at - region->first) <= region->second.bytes ? region
                                                              : regions.end();
}

bool FileMemory::holds(const void *address) const {
  const auto region = regionOf(address);
  return region != regions.end() &&
         uint64_t(static_cast<const char *>(address) - region->first) <
             region->second.bytes;
}

/// Where `bytes` at `address` are in the file.
uint64_t FileMemory::placeOf(const void *address, size_t bytes) const {
  const auto found = regionOf(address);
  if (found == regions.end())
    throw std::out_of_range(file.path() + ": an address of " +
                            std::to_string(bytes) +
                            " bytes that are not in this file");
  const Region &region = found->second;
  const auto inside =
      uint64_t(static_cast<const char *>(address) - found->first);
  if (bytes > region.bytes - inside)
    throw std::out_of_range(file.path() + ": found " + std::to_string(bytes) +
                            " bytes at " + std::to_string(inside) +
                            ", which leave their " +
                            std::to_string(region.bytes) + " bytes");
  return region.offset + inside;
}

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

FileRange FileMemory::rangeOf(bool isWrite, const void *inFile,
                              const void *memory, size_t bytes) const {
  FileRange range;
  range.isWrite = isWrite;
  range.offset = placeOf(inFile, bytes);
  range.memory = static_cast<char *>(const_cast<void *>(memory));
  range.bytes = bytes;
  return range;
}

void FileMemory::moveNow(const FileRange &range) {
  queue.drain();
  FileBatch batch;
  queue.start(batch, range);
  queue.wait(batch);
}

void FileMemory::write(void *to, const void *from, size_t bytes) {
  moveNow(rangeOf(true, to, from, bytes));
}

void FileMemory::read(void *to, const void *from, size_t bytes) {
  moveNow(rangeOf(false, from, to, bytes));
}

/// Its address stays.
FileBatch &FileMemory::batchOf(uint32_t ticket) {
  std::lock_guard<std::mutex> lock(mutex);
  return batches[ticket];
}

void FileMemory::startRead(uint32_t ticket, void *to, const void *from,
                           size_t bytes) {
  queue.start(batchOf(ticket), rangeOf(false, from, to, bytes));
}

void FileMemory::startWrite(uint32_t ticket, void *to, const void *from,
                            size_t bytes) {
  queue.start(batchOf(ticket), rangeOf(true, to, from, bytes));
}

void FileMemory::wait(uint32_t ticket) { queue.wait(batchOf(ticket)); }

void FileMemory::abandon() { queue.abandon(); }

std::unique_ptr<FileMemory> zrt::makeFileMemory(const Program &program,
                                                const std::string &folder,
                                                int rank, Faults *faults,
                                                HostRoom room) {
  if (bytesOfTier(program, Tier::File) == 0)
    return nullptr;
  FileSettings settings = program.files;
  if (!folder.empty())
    settings.folder = folder;
  auto memory = std::make_unique<FileMemory>(
      settings, rank,
      faults ? makeFaultyEngine(makeFileEngine(settings.queueDepth), *faults)
             : nullptr);
  memory->setHostRoom(std::move(room));
  return memory;
}

void zrt::tellHeld(const FileMemory *files, int rank,
                   const std::function<void(const std::string &)> &tell) {
  const std::string held = files ? files->describeHeld() : "";
  if (tell && !held.empty())
    tell("rank " + std::to_string(rank) + ": " + held);
}
