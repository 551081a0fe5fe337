#include "flight/FlightRecorder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <stdexcept>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace zrt;

namespace {

thread_local FlightOperation *inOperation = nullptr;

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void fail(const std::string &path, int reason) {
  throw std::runtime_error(path +
                           ": the record of a rank's operations cannot "
                           "be made: " +
                           std::strerror(reason));
}

/// Copies what fits, the end of the text included: that is where it says in
/// which line.
void copyText(char *to, size_t room, const std::string &text) {
  constexpr char kGap[] = " .. ";
  constexpr size_t kGapBytes = sizeof(kGap) - 1;
  if (text.size() < room) {
    std::memcpy(to, text.c_str(), text.size() + 1);
    return;
  }
  const size_t tail = room / 2, head = room - 1 - tail - kGapBytes;
  std::memcpy(to, text.data(), head);
  std::memcpy(to + head, kGap, kGapBytes);
  std::memcpy(to + head + kGapBytes, text.c_str() + text.size() - tail,
              tail + 1);
}

} // namespace

/// Takes the memory of a new file, and a lock that ends with this process and
/// tells peers of that, whatever ended it. Returns null and sets errno where
/// that cannot be.
static void *lockAndMap(int descriptor) {
  // Readers have the lock for a moment.
  if (::flock(descriptor, LOCK_EX) != 0)
    return nullptr;
  errno = ::posix_fallocate(descriptor, 0, sizeof(FlightFile));
  if (errno != 0)
    return nullptr;
  void *const memory =
      ::mmap(nullptr, sizeof(FlightFile), PROT_READ | PROT_WRITE, MAP_SHARED,
             descriptor, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

FlightRecorder::FlightRecorder(const std::string &path,
                               const FlightOwner &owner)
    : where(path) {
  descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0)
    fail(path, errno);
  void *const memory = lockAndMap(descriptor);
  if (!memory) {
    const int reason = errno;
    ::close(descriptor);
    ::unlink(path.c_str());
    fail(path, reason);
  }
  file = new (memory) FlightFile();
  FlightHeader &header = file->header;
  header.entryBytes = sizeof(FlightEntry);
  header.operations = kFlightOperations;
  header.rank = owner.rank;
  header.ranks = owner.ranks;
  header.stage = owner.stage;
  header.process = ::getpid();
  ::gethostname(header.machine, sizeof(header.machine) - 1);
  copyText(header.program, sizeof(header.program), owner.program);
  // Last: who finds it finds a whole header.
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(header.magic, kFlightMagic, sizeof(kFlightMagic));
}

FlightRecorder::~FlightRecorder() {
  ::munmap(file, sizeof(FlightFile));
  ::close(descriptor);
}

void FlightRecorder::remove() {
  if (!removed)
    ::unlink(where.c_str());
  removed = true;
}

uint32_t FlightRecorder::addGroup(uint64_t id, int ranks, int rank) {
  const uint32_t index = file->header.groups;
  if (index == kFlightGroups)
    return kNoFlightGroup;
  file->header.group[index] = {id, uint32_t(ranks), uint32_t(rank)};
  file->header.groups = index + 1;
  return index;
}

void FlightRecorder::beginRegion(const std::string &ofPass) {
  ++region;
  pass = ofPass;
}

void FlightRecorder::writeText(char *to, const std::string &text,
                               bool isCommand) const {
  size_t used = 0;
  if (isCommand && !pass.empty()) {
    used = std::min<size_t>(pass.size(), kFlightTextBytes / 3);
    std::memcpy(to, pass.data(), used);
  }
  copyText(to + used, kFlightTextBytes - used, text);
}

FlightEntry *FlightRecorder::begin(FlightKind kind, const std::string &text,
                                   uint32_t command) {
  const uint64_t number = file->header.count.fetch_add(1) + 1;
  FlightEntry &entry = file->entries[(number - 1) % kFlightOperations];
  entry.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  entry.began = now();
  entry.ended.store(0, std::memory_order_relaxed);
  entry.meeting.store(0, std::memory_order_relaxed);
  entry.signature = 0;
  entry.update = file->header.update.load(std::memory_order_relaxed);
  entry.kind = kind;
  entry.group.store(kNoFlightGroup, std::memory_order_relaxed);
  entry.region = region;
  entry.command = command;
  writeText(entry.text, text, command != kNoCommand);
  entry.number.store(number, std::memory_order_release);
  return &entry;
}

FlightOperation::FlightOperation(FlightRecorder *recorder, FlightKind kind,
                                 const std::string &text, uint32_t command)
    : entry(recorder ? recorder->begin(kind, text, command) : nullptr),
      outer(inOperation) {
  if (entry)
    inOperation = this;
}

FlightOperation::~FlightOperation() {
  if (entry)
    inOperation = outer;
}

void FlightOperation::finish() {
  if (entry)
    entry->ended.store(1, std::memory_order_release);
}

void FlightOperation::meet(const FlightMeeting &meeting) {
  if (!entry)
    return;
  entry->group.store(meeting.group, std::memory_order_relaxed);
  entry->signature = meeting.signature;
  // Last: it says that the others are there.
  entry->meeting.store(meeting.number, std::memory_order_release);
}

FlightOperation *FlightOperation::current() { return inOperation; }
