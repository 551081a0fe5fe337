#include "trainer/RunFlight.h"

#include "flight/FlightReader.h"
#include "flight/FlightReport.h"
#include "trainer/OldFlights.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;

namespace {

/// Between two looks at the peers: a lost rank ends the others within a second.
constexpr std::chrono::milliseconds kLook{100};

/// Folders of records that other runs have left, in memory.
constexpr size_t kKept = 8;

/// What is there once a rank speaks for all of this machine.
std::string reportIn(const std::string &folder) { return folder + "/told"; }

/// False where it is there already, or its folder is gone.
bool makeFile(const std::string &path) {
  const int file =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0)
    return false;
  ::close(file);
  return true;
}

void printRemarks(std::ostream &errors, const std::string &lines) {
  std::istringstream stream(lines);
  std::string text;
  for (std::string line; std::getline(stream, line);)
    text += "remark: " + line + "\n";
  errors << text << std::flush;
}

} // namespace

RunFlight::RunFlight(const std::string &place, uint64_t tag,
                     std::ostream &errors)
    : errors(errors) {
  std::string why;
  if (!place.empty()) {
    if (!makeFolder(place, tag, why))
      throw std::runtime_error("--flight: " + why);
    return;
  }
  const char *temporary = std::getenv("TMPDIR");
  for (const char *where : {"/dev/shm", temporary ? temporary : "/tmp"}) {
    removeOldFlights(where, kKept);
    if (makeFolder(where, tag, why))
      return;
  }
  errors << "remark: there is no record of what ranks do: " << why << std::endl;
}

bool RunFlight::makeFolder(const std::string &place, uint64_t tag,
                           std::string &why) {
  char name[40];
  std::snprintf(name, sizeof(name), "/%s%016llx", kFlightFolder,
                static_cast<unsigned long long>(tag));
  folder = place + name;
  // Another rank of the run may have made it.
  if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST)
    return true;
  why = folder + ": the folder cannot be made: " + std::strerror(errno);
  folder.clear();
  return false;
}

RunFlight::~RunFlight() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ending = true;
    changed.notify_all();
  }
  if (watcher.joinable())
    watcher.join();
}

FlightRecorder *RunFlight::add(const FlightOwner &owner) {
  if (folder.empty())
    return nullptr;
  try {
    recorders.push_back(std::make_unique<FlightRecorder>(
        flightPath(folder, owner.rank), owner));
    return recorders.back().get();
  } catch (const std::runtime_error &error) {
    if (::access(folder.c_str(), F_OK) != 0)
      return nullptr; // another rank has failed already
    errors << "remark: there is no record of what rank " << owner.rank
           << " does: " << error.what() << std::endl;
    return nullptr;
  }
}

void RunFlight::takeAway(FlightRecorder &recorder) {
  recorder.remove();
  ::rmdir(folder.c_str()); // by the last of them
}

void RunFlight::end(FlightRecorder *recorder) {
  if (!recorder)
    return;
  recorder->setState(FlightState::Ended);
  takeAway(*recorder);
}

void RunFlight::fail(FlightRecorder *recorder, bool hasReason) {
  if (!recorder)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    failed = true;
  }
  recorder->setState(FlightState::Stopped);
  if (!hasReason)
    return explain(/*isLost=*/false);
  if (::access(reportIn(folder).c_str(), F_OK) == 0)
    return;
  // All of them, since peers may be ended before they can.
  for (const std::string &path : listFlights(folder))
    ::unlink(path.c_str());
  ::rmdir(folder.c_str());
}

/// Until all ranks of this machine know of the failure: what they started
/// meanwhile says more. One that hangs will not know.
void RunFlight::awaitPeers() const {
  constexpr auto kWait = std::chrono::milliseconds(10);
  for (int turn = 0; turn < 50; ++turn) {
    const std::vector<FlightRecord> records = readFlights(folder);
    if (std::all_of(records.begin(), records.end(), [](const auto &record) {
          return record.state != FlightState::Running;
        }))
      return;
    std::this_thread::sleep_for(kWait);
  }
}

/// Once for all ranks of this machine: who makes the file speaks.
void RunFlight::explain(bool isLost) {
  if (!makeFile(reportIn(folder)))
    return;
  if (!isLost)
    awaitPeers();
  printRemarks(errors, describeFlights(readFlights(folder)) +
                           "the records of the ranks are in " + folder +
                           ": zero-flight " + folder +
                           "/rank-* lists what they did last\n");
}

void RunFlight::tell() {
  if (!folder.empty())
    printRemarks(errors, describeFlights(readFlights(folder)));
}

void RunFlight::watchPeers(Communicator &communicator) {
  if (folder.empty() || communicator.ranks() == 1)
    return;
  watcher = std::thread([this, &communicator] { watch(communicator); });
}

/// What to say of the first rank that is lost.
std::string RunFlight::describeLost() const {
  for (const FlightRecord &record : readFlights(folder))
    if (record.isLost())
      return "rank " + std::to_string(record.rank) + " is lost: its process (" +
             std::to_string(record.process) + " on " + record.machine +
             ") has ended without a word, " + describeLast(record);
  return "a rank is lost";
}

void RunFlight::watch(Communicator &communicator) {
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, kLook, [this] { return ending || failed; })) {
    lock.unlock();
    const std::vector<std::string> paths = listFlights(folder);
    if (std::any_of(paths.begin(), paths.end(), isLostFlight)) {
      communicator.noteLost();
      const std::string what = describeLost();
      explain(/*isLost=*/true);
      communicator.abort(what);
      return;
    }
    lock.lock();
  }
}
