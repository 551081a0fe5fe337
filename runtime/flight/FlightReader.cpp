#include "flight/FlightReader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <stdexcept>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;

namespace {

constexpr const char *kPrefix = "rank-";

[[noreturn]] void refuse(const std::string &path, const std::string &found) {
  throw std::runtime_error(
      path + ": " + found +
      ", wanted the record of a rank, as this version's runs leave it");
}

/// A mapping for reading, and whether somebody holds the file.
class Mapping {
public:
  explicit Mapping(const std::string &path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0)
      throw std::runtime_error(path + ": " + std::strerror(errno));
    struct stat status;
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
        uint64_t(status.st_size) != sizeof(FlightFile))
      closeAndRefuse(path, "is no file of " +
                               std::to_string(sizeof(FlightFile)) + " bytes");
    void *memory = ::mmap(nullptr, sizeof(FlightFile), PROT_READ, MAP_SHARED,
                          descriptor, 0);
    if (memory == MAP_FAILED)
      closeAndRefuse(path,
                     std::string("cannot be read: ") + std::strerror(errno));
    file = static_cast<const FlightFile *>(memory);
  }
  ~Mapping() {
    ::munmap(const_cast<FlightFile *>(file), sizeof(FlightFile));
    ::close(descriptor);
  }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  /// The lock is that of an open file: it is free once no process has it.
  bool isHeld() const {
    if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0)
      return true;
    ::flock(descriptor, LOCK_UN);
    return false;
  }

  const FlightFile *file = nullptr;

private:
  [[noreturn]] void closeAndRefuse(const std::string &path,
                                   const std::string &found) const {
    ::close(descriptor);
    refuse(path, found);
  }
  int descriptor;
};

std::string textOf(const char *text, size_t room) {
  return std::string(text, ::strnlen(text, room));
}

/// Reads an entry; false where it is being written, or never was.
bool readStep(const FlightEntry &entry, FlightStep &step) {
  step.number = entry.number.load(std::memory_order_acquire);
  if (step.number == 0)
    return false;
  step.meeting = entry.meeting.load(std::memory_order_acquire);
  step.began = entry.began;
  step.hasEnded = entry.ended.load(std::memory_order_acquire) != 0;
  step.signature = entry.signature;
  step.update = entry.update;
  step.kind = entry.kind;
  step.group = entry.group.load(std::memory_order_relaxed);
  step.region = entry.region;
  step.command = entry.command;
  step.text = textOf(entry.text, kFlightTextBytes);
  std::atomic_thread_fence(std::memory_order_acquire);
  return entry.number.load(std::memory_order_relaxed) == step.number;
}

/// Whether a file, which anybody may have changed, is what it seems to be.
bool isRecord(const FlightHeader &header) {
  return std::memcmp(header.magic, kFlightMagic, sizeof(kFlightMagic)) == 0 &&
         header.entryBytes == sizeof(FlightEntry) &&
         header.operations == kFlightOperations && header.ranks > 0 &&
         header.rank >= 0 && header.rank < header.ranks &&
         header.groups <= kFlightGroups &&
         header.state.load() <= FlightState::Stopped;
}

} // namespace

FlightRecord zrt::readFlight(const std::string &path) {
  const Mapping mapping(path);
  const FlightHeader &header = mapping.file->header;
  if (!isRecord(header))
    refuse(path, "begins otherwise");
  FlightRecord record;
  record.path = path;
  // Before its state: who ends well says so first, and then lets go.
  record.isHeld = mapping.isHeld();
  record.rank = header.rank;
  record.ranks = header.ranks;
  record.stage = header.stage;
  record.process = header.process;
  record.machine = textOf(header.machine, sizeof(header.machine));
  record.program = textOf(header.program, sizeof(header.program));
  record.count = header.count;
  record.update = header.update;
  record.state = header.state;
  record.groups.assign(header.group, header.group + header.groups);
  for (const FlightEntry &entry : mapping.file->entries)
    if (FlightStep step; readStep(entry, step))
      record.steps.push_back(std::move(step));
  std::sort(record.steps.begin(), record.steps.end(),
            [](const FlightStep &a, const FlightStep &b) {
              return a.number < b.number;
            });
  return record;
}

std::vector<std::string> zrt::listFlights(const std::string &folder) {
  std::vector<std::string> paths;
  DIR *open = ::opendir(folder.c_str());
  if (!open)
    return paths;
  while (const dirent *entry = ::readdir(open))
    if (std::strncmp(entry->d_name, kPrefix, std::strlen(kPrefix)) == 0)
      paths.push_back(folder + "/" + entry->d_name);
  ::closedir(open);
  return paths;
}

std::vector<FlightRecord> zrt::readFlights(const std::string &folder) {
  std::vector<FlightRecord> records;
  for (const std::string &path : listFlights(folder)) {
    try {
      records.push_back(readFlight(path));
    } catch (const std::runtime_error &) {
      // A rank that ends meanwhile takes its record away.
    }
  }
  std::sort(records.begin(), records.end(),
            [](const FlightRecord &a, const FlightRecord &b) {
              return a.rank < b.rank;
            });
  return records;
}

std::string zrt::flightPath(const std::string &folder, int rank) {
  return folder + "/" + kPrefix + std::to_string(rank);
}

bool zrt::isHeldFlight(const std::string &path) {
  try {
    return Mapping(path).isHeld();
  } catch (const std::runtime_error &) {
    return false;
  }
}

bool zrt::isLostFlight(const std::string &path) {
  try {
    const Mapping mapping(path);
    return !mapping.isHeld() && isRecord(mapping.file->header) &&
           mapping.file->header.state == FlightState::Running;
  } catch (const std::runtime_error &) {
    return false;
  }
}
